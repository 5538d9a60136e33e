// Package memprof records where a program's memory goes, as a trace that the
// tools for OCaml's memtrace read, and mirador.
//
// Some allocations are drawn at random, so that each allocated byte has the
// same chance: one in [Config].Rate. Of each object that is hit the trace has
// its size, the stack and the goroutine that allocated it, the time, and when
// it died. What a tool adds up from the samples is an estimate of what the
// whole program allocated, or kept. That costs a few percent at most at the
// rates for production (512 KiB and 64 KiB), so it may always be on:
//
//	func main() {
//		if _, err := memprof.StartIfRequested(memprof.Config{}); err != nil {
//			log.Print(err) // the program works without
//		}
//		defer memprof.Stop()
//		…
//	}
//
//	$ mirador go build -o server . && MEMTRACE=server.mem ./server
//
// There are few types: [Config] says what is traced and where to, [External]
// is a block of memory outside the Go heap, [Status] counts. One trace is made
// at a time, with [Start] and [Stop], or for whoever connects, with [Serve].
//
// # Exact and aggregate traces
//
// The runtime does not tell which sampled object died. A program that was
// built by "mirador go build" has a runtime that does (see [Exact]): each
// object in its trace has its own birth and death, at the collection that
// found it dead. A trace's promotions are the objects that survived the first
// collection that they could have died in.
//
// Any other build gives an aggregate trace, from the heap profile, which is
// read after each collection, at most ten times a second. Births and deaths
// are counted per stack and size; all that were born between two collections
// are told at the second, with the innermost 32 functions; and of several
// objects from the same place the oldest is said to have died. There are no
// promotions, and no goroutines.
//
// The context of a trace ends in the words of [note.ExactContext] or
// [note.AggregateContext], so that a report can tell them apart. What the
// format has no place for, goroutines, collections, and losses, is told in
// packets of notes, which other readers skip: see package memprof/note.
//
// # What the numbers mean
//
// Sizes are those that the allocator gave, in words: a string of 20 bytes is
// 3 words, since it takes 24. Objects of less than 16 bytes without pointers
// share a block of 16, which is seen as one object. Objects above 32 KiB have
// the source major, smaller ones minor. A stack has its 128 innermost
// functions, the allocator's own left out. Columns are 0: Go has none.
//
// Objects that were allocated before the trace began are not in it, and
// neither is what the goroutine that writes the trace allocates. The trace
// sets runtime.MemProfileRate, and [Stop] sets it back; a program that writes
// heap profiles as well finds them scaled by the new rate.
//
// # What it takes
//
// One goroutine writes the trace. What it remembers is outside the Go heap: a
// log of 16 MiB at most, of which little is touched when all goes well, and
// 100 bytes per object that lives and was sampled, up to Config.Objects. The
// program never waits for it. When it falls behind, because the disk or a peer
// is slow, events are dropped and counted; the trace says how many in a note,
// and [Read] at any time. After a peer was slow, the objects that live are
// told as soon as there is room, and those that lived and died in between are
// what is lost.
//
// A program that exits without [Stop], or is killed, loses the last second
// ([Config].Flush); with Config.Dir it loses a tenth of that, and what it has
// written is in a file of bounded size.
//
// Signals of trouble do not reach the program: a trace that cannot be written
// any more ends, and Stop returns why.
package memprof
