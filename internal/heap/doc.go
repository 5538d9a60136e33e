// Package heap answers questions about the memory of a program from a
// memtrace trace or from a pprof heap profile: where it was allocated, what
// is alive and when, what never dies, how two of them differ.
//
// There are few types: [Stacks] is a prefix tree of call stacks, into which a
// [Walk] brings the backtraces of a trace; a [Site] is where a stack
// allocates; a [Profile] has an amount for each site, and makes the reports
// that list functions; [Leaks] and [Histogram] look at lifetimes.
//
// All of it is computed while the trace streams by. What is kept is the tree,
// whose size is that of the program's distinct stacks with recursion folded,
// and for questions about what is alive one entry per live block; nothing is
// ever done in proportion to the depth of a backtrace.
//
// Amounts are in samples. A sample stands for Profile.Unit bytes: an estimate
// whose standard deviation is that of a Poisson count, the square root of the
// number of samples.
package heap
