#include "textflag.h"

// func rdtsc() uint64
TEXT ·rdtsc(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func fencedRdtsc() uint64
TEXT ·fencedRdtsc(SB), NOSPLIT, $0-8
	LFENCE
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func cpuid(leaf uint32) (eax, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-16
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL DX, edx+12(FP)
	RET

// func storeTimes(p unsafe.Pointer, begin, end uint64)
TEXT ·storeTimes(SB), NOSPLIT, $0-24
	MOVQ       p+0(FP), AX
	MOVQ       begin+8(FP), X0
	MOVQ       end+16(FP), X1
	PUNPCKLQDQ X1, X0
	MOVOU      X0, (AX)
	RET
