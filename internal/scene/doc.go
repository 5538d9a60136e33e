// Package scene draws what a viewer sees of a trace, as a list of primitives
// that any painter can replay: a canvas in a page, SVG, PNG.
//
// There are few types: an [Index] is what has to be known of a model to draw
// any part of it at once; a [Viewport] says which part, and how; [Index.Frame]
// draws it into a [List], whose primitives have a [Style] each and no colours.
// A [Projection] tells where times and rows lie; [Index.Pick] which thread lies
// somewhere, and [Index.PickArrow] which [Arrow]; [Index.Only] draws only some
// threads of them all; a [Chart] and an [Icicle] are
// pictures of memory; an [Overview] is the whole trace in a few numbers. Packages svg
// and png below this one paint lists with the colours of package palette.
//
//	x := scene.NewIndex(model)
//	var l scene.List
//	x.Frame(scene.Viewport{Width: 1600, Height: 900}, &l)
//	err := svg.Write(w, &l, palette.Light)
//
// # What is drawn
//
// From bottom to top: bands in which the process slept or collected memory;
// the grid; threads that were searched for, picked out or selected; verticals
// from a thread to those that it created, and from a promise to what it
// became; threads, with a tip at those that were never resolved, and the parts
// in which they ran; arrows for who looked at whom, was woken by whose result
// or failure, resolved whom and woke whom, each with a colour, dashes and a
// head of its own; counters; labels above their threads and types below;
// failed threads with a bar at their end; the time axis.
//
// Arrows fade out the wider they are, so that details appear and what is gross
// goes as one zooms in. Texts never lie on each other: those nearer to the
// focus choose their places first, and what finds none is left out. The place
// of things is that of mirage-trace-viewer, to a fraction of a px.
//
// # What is left out
//
// A frame has at most some 8,000 primitives, whatever the trace: it costs
// about 1 ms of 1 million threads. Threads that would lie within 1 px of each
// other are drawn as one, as are rows, in the fisheye; when that is not enough
// the px grows. Of arrows and verticals some are left out, evenly over the
// time, and [Meta] says how many.
package scene
