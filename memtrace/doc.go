// Package memtrace reads and writes memtrace traces: for a sample of what a
// program allocated, its allocation with its backtrace, and its end. OCaml's
// memtrace and memtrace-mirage write them, and so does mirador's memprof; any
// reader of theirs reads what this package writes.
//
// There are few types: a [Reader] decodes a trace into [Event] values; a
// [Writer] has a [Domain] for each thread of the runtime, which encodes them;
// an [Info] is what a trace says about itself; a [Frame] is a place in the
// program, which has [Location] values; a [Damage] is a part of a trace that
// is not as it should be.
//
//	r, err := memtrace.NewReader(file)
//	if err != nil {
//		return err
//	}
//	var ev memtrace.Event
//	for {
//		err := r.Next(&ev)
//		if err == io.EOF {
//			break
//		}
//		if err != nil {
//			return err
//		}
//		…
//	}
//	for _, d := range r.Damage() {
//		log.Print(d)
//	}
//
// # Backtraces
//
// A backtrace can be 20,000 frames deep, and most of it is that of the
// allocation before. An event therefore has its whole backtrace, which costs
// nothing, and says how much of it is old: look at Stack[Prefix:], and keep
// what you know about Stack[:Prefix] in a stack of your own.
//
// # Samples
//
// Each allocated word is drawn with the probability Info.SampleRate, and an
// allocation is in the trace when any of its words was: Event.Samples says how
// many. [Info.Bytes] turns a number of samples into an estimate of bytes.
//
// # The format
//
// A trace is a run of packets, little-endian, as in CTF but without its
// metadata. Times are in µs since the Unix epoch.
//
//	 0  4  magic C1FC1FC1         38  2  domain (from version 3 on only)
//	 4  4  size in bits           then 2  verifier: bucket, FFFF is none
//	 8  8  time of its begin           2  verifier: the bucket that follows
//	16  8  time of its end             8  verifier: the code in the bucket
//	24  4  0                           8  id of its first allocation
//	28  2  version, 1 to 3             8  id behind its last allocation
//	30  8  process id                  …  events
//
// The first packet has the trace's description as its one event. Packets of
// locations come before the packet of events that needs them; the latter's
// header has one bucket of the backtrace cache as it was at its begin, each
// time another: 4242, then 5413 on, modulo 16384.
//
// An event begins with 25 bits of its time and, in the upper 7 bits, its code:
//
//	0  f64 rate, u8 word size, strings executable, host, parameters,
//	   u64 process id, from version 2 on string context
//	1  u64 code, u8 n, n × (line:20 start:8 end:10 file:5 function:5 bits,
//	   file name if file is 31, function name if function is 31)
//	2  vint length, vint samples, u8 source, backtrace with u16 n
//	3  promote: vint (next id - 1 - id)
//	4  collect: the same
//	101 to 116  an allocation of 1 to 16 words, one sample, in the minor
//	   heap: backtrace with u8 n
//
// A vint is one byte up to 252; 253 and u16; 254 and i32; 255 and i64. File
// and function are positions in move-to-front tables of 31 strings.
//
// A backtrace is a vint, how many frames stay from the previous one of the
// domain, and n code words of u16: 14 bits of bucket and a tag. Tag 3 puts
// the u64 code behind it into the bucket; the others take what is there, and
// follow the buckets that came next the last time for 1 more frame (1) or as
// many as the byte behind it says (2). A writer cuts a backtrace that takes
// more than 4096 bytes; [Event.Lost] is how a reader hears of it.
//
// # Damage
//
// The original reader stops at anything unexpected. This one looks for the
// next packet and goes on. The verifiers tell how many packets were lost;
// after that, and until everything it is told relative to has been told anew,
// an event is marked Uncertain. When a packet of locations may be among what
// was lost, names that are told by their position are given as "?".
//
// # Limits
//
// A Reader follows 1024 domains and backtraces of 33 million frames in all.
// A Reader of a stream takes packets up to 1 MiB; a Writer makes them of
// 32 KiB at most, as the original's buffer demands.
package memtrace
