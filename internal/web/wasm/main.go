//go:build js && wasm

// Wasm is mirador's engine for a page that has no server: a report's worker
// runs it as WebAssembly. The worker calls functions, which are there when the one
// that it left as miradorReady is called:
//
//	font(bytes)         is called first, with the font that texts are measured by
//	expect(size)        announces so many bytes of a trace, which then come with
//	more(bytes)         in pieces, so that nobody has all of them twice
//	open(name)          opens what came, a trace of threads or of memory; a text is
//	                    why it cannot be
//	handle(request)     answers one request with the server's very bytes
package main

import (
	"errors"
	"runtime/debug"
	"slices"
	"syscall/js"

	"github.com/mirador-trace/mirador/internal/engine"
	"github.com/mirador-trace/mirador/internal/format"
	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/trace"
	"github.com/mirador-trace/mirador/internal/typeface"
	"github.com/mirador-trace/mirador/memtrace"
)

func main() {
	var e engine.Engine
	var request, answer []byte // kept, and used again
	var coming []byte
	font := js.FuncOf(func(_ js.Value, args []js.Value) any {
		typeface.Regular = bytesOf(nil, args[0])
		return nil
	})
	expect := js.FuncOf(func(_ js.Value, args []js.Value) any {
		coming = make([]byte, 0, args[0].Int())
		return nil
	})
	more := js.FuncOf(func(_ js.Value, args []js.Value) any {
		n, from := args[0].Length(), len(coming)
		coming = slices.Grow(coming, n)[:from+n] // room is there, unless more comes than was announced
		js.CopyBytesToGo(coming[from:], args[0])
		return nil
	})
	open := js.FuncOf(func(_ js.Value, args []js.Value) any {
		data := coming
		coming = nil
		if err := open(&e, args[0].String(), data); err != nil {
			return err.Error()
		}
		return nil
	})
	handle := js.FuncOf(func(_ js.Value, args []js.Value) any {
		request = bytesOf(request, args[0])
		answer = e.Handle(answer[:0], request)
		out := js.Global().Get("Uint8Array").New(len(answer))
		js.CopyBytesToJS(out, answer)
		return out
	})
	js.Global().Call("miradorReady", font, expect, more, open, handle)
	select {} // what was handed out is called from now on
}

func open(e *engine.Engine, name string, data []byte) error {
	// WebAssembly never gives memory back: better collect more often here.
	defer debug.SetGCPercent(debug.SetGCPercent(15))
	t, err := read(name, data)
	if err == nil {
		e.Add(t)
	}
	return err
}

func read(name string, data []byte) (*engine.Trace, error) {
	file, err := format.OpenBytes(name, data)
	if unknown := new(format.Unknown); errors.As(err, &unknown) && unknown.Like != "" {
		r, err := memtrace.NewReaderBytes(data)
		if err != nil {
			return nil, err
		}
		return engine.ReadMemory(name, r, heap.ReadNotes(data), nil)
	}
	if err != nil {
		return nil, err
	}
	t, err := trace.Read(file, trace.Options{Once: true})
	if err != nil {
		return nil, err
	}
	return engine.NewTrace(engine.About{
		Name: name, Format: t.Format, Packets: t.Packets, LostPackets: t.Lost, Damage: t.Damage,
		Start: float64(t.Start) / 1e9,
	}, t.Model), nil
}

// bytesOf copies a Uint8Array to buf, which may be nil.
func bytesOf(buf []byte, from js.Value) []byte {
	n := from.Length()
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	js.CopyBytesToGo(buf[:n], from)
	return buf[:n]
}
