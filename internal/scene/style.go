package scene

// Style says what a primitive means. A painter's palette gives it a colour;
// [Styles] says the rest. (Sizes: 8 bits)
type Style uint8

// The styles, from what lies at the bottom to what lies on top, more or less.
const (
	Background      Style = iota // the whole picture
	Idle                         // a band in which the process sleeps
	GC                           // a band in which memory is collected
	BandCaption                  // what such a band is
	Grid                         // a line at a multiple of the grid's step
	GridCaption                  // how long a division of the grid is
	Axis                         // a tick of the time axis
	AxisCaption                  // its time
	Highlight                    // a thread that was picked out
	Selection                    // the thread that is selected
	SearchHit                    // a thread that was searched for
	ThreadLine                   // a thread, from its start to its end
	Merged                       // several threads, too close to be told apart
	Creation                     // from a thread to one that it created
	BecomesLine                  // from a promise to the one that it became
	NeverResolved                // the tip of a thread that was never resolved
	Running                      // a part of a thread in which it ran
	TryReadArrow                 // a thread looked at another one, and waits
	ReadArrow                    // a thread was woken by another one's result
	ReadFailedArrow              // a thread was woken by another one's failure
	ResolveArrow                 // a thread resolved another one
	SignalArrow                  // a thread woke another one
	FailedLine                   // a thread that failed, and the bar at its end
	LabelPlate                   // what keeps a label apart from the lines under it
	LabelTick                    // the time at which a label was said
	ThreadLabel                  // a label
	TypeLabel                    // a thread's type
	FailureLabel                 // why a thread failed
	CounterShadow                // what keeps a counter apart from the lines under it
	Counter0                     // the counters' lines and names, by turns
	Counter1
	Counter2
	Counter3
	Counter4
	Counter5
	Counter6
	Counter7
	Mark     // a time that was marked
	FoldLine // an edge of a stretch that is drawn as a short break

	ChartArea     // below how much memory was alive
	ChartLine     // its upper edge
	ChartPart     // below how much of a selection was alive
	ChartPartLine // its upper edge
	ChartPeak     // when the most was alive
	ChartScale    // how much a line of the grid stands for
	Frame0        // the boxes of flame graphs, by turns, a colour for a module
	Frame1
	Frame2
	Frame3
	Frame4
	Frame5
	FrameRest   // what is too narrow for boxes of its own
	FrameAll    // the box that is everything
	FrameHit    // a box that was searched for
	FrameGrew   // a box that has more than in what it is compared with
	FrameShrank // a box that has less
	FrameText   // the name in a box
	NumStyles
)

// Counters is how many styles there are for counters.
const Counters = int(Counter7-Counter0) + 1

// Frames is how many styles there are for the boxes of flame graphs.
const Frames = int(Frame5-Frame0) + 1

// DashLimit is the number of lines from which on an operation's dashes are
// left out: nobody sees them any more, and they are slow to paint.
const DashLimit = 400

// StyleSpec is what all painters have to know of a style, whatever the
// colours. A field that does not concern the style is zero.
type StyleSpec struct {
	Name  string    // in kebab case
	Width float64   // of lines, in px
	Dash  []float64 // lengths of dashes and gaps by turns, in px; nil for a whole line
	Font  float64   // size of text, in px
}

// Styles describes every style.
var Styles = [NumStyles]StyleSpec{
	Background:      {Name: "background"},
	Idle:            {Name: "idle"},
	GC:              {Name: "gc"},
	BandCaption:     {Name: "band-caption", Font: 10.5},
	Grid:            {Name: "grid", Width: 1},
	GridCaption:     {Name: "grid-caption", Font: 10.5},
	Axis:            {Name: "axis", Width: 1},
	AxisCaption:     {Name: "axis-caption", Font: 10.5},
	Highlight:       {Name: "highlight", Width: 10},
	Selection:       {Name: "selection", Width: 12},
	SearchHit:       {Name: "search-hit", Width: 8},
	ThreadLine:      {Name: "thread-line", Width: 2},
	Merged:          {Name: "merged", Width: 2},
	Creation:        {Name: "creation", Width: 1},
	BecomesLine:     {Name: "becomes-line", Width: 1, Dash: []float64{3, 2}},
	NeverResolved:   {Name: "never-resolved", Width: 1.5},
	Running:         {Name: "running", Width: 4},
	TryReadArrow:    {Name: "try-read-arrow", Width: 1, Dash: []float64{1.5, 3}},
	ReadArrow:       {Name: "read-arrow", Width: 1},
	ReadFailedArrow: {Name: "read-failed-arrow", Width: 1.5, Dash: []float64{9, 3}},
	ResolveArrow:    {Name: "resolve-arrow", Width: 1, Dash: []float64{12, 2}},
	SignalArrow:     {Name: "signal-arrow", Width: 1, Dash: []float64{8, 3, 2, 3}},
	FailedLine:      {Name: "failed-line", Width: 2},
	LabelPlate:      {Name: "label-plate"},
	LabelTick:       {Name: "label-tick", Width: 1},
	ThreadLabel:     {Name: "thread-label", Font: 12},
	TypeLabel:       {Name: "type-label", Font: 9.5},
	FailureLabel:    {Name: "failure-label", Font: 12},
	CounterShadow:   {Name: "counter-shadow", Width: 4},
	Counter0:        {Name: "counter-0", Width: 2, Font: 12},
	Counter1:        {Name: "counter-1", Width: 2, Font: 12},
	Counter2:        {Name: "counter-2", Width: 2, Font: 12},
	Counter3:        {Name: "counter-3", Width: 2, Font: 12},
	Counter4:        {Name: "counter-4", Width: 2, Font: 12},
	Counter5:        {Name: "counter-5", Width: 2, Font: 12},
	Counter6:        {Name: "counter-6", Width: 2, Font: 12},
	Counter7:        {Name: "counter-7", Width: 2, Font: 12},
	Mark:            {Name: "mark", Width: 1},
	FoldLine:        {Name: "fold-line", Width: 1, Dash: []float64{2, 3}},
	ChartArea:       {Name: "chart-area"},
	ChartLine:       {Name: "chart-line", Width: 1},
	ChartPart:       {Name: "chart-part"},
	ChartPartLine:   {Name: "chart-part-line", Width: 1.5},
	ChartPeak:       {Name: "chart-peak", Width: 1, Font: 11},
	ChartScale:      {Name: "chart-scale", Font: 10.5},
	Frame0:          {Name: "frame-0"},
	Frame1:          {Name: "frame-1"},
	Frame2:          {Name: "frame-2"},
	Frame3:          {Name: "frame-3"},
	Frame4:          {Name: "frame-4"},
	Frame5:          {Name: "frame-5"},
	FrameRest:       {Name: "frame-rest"},
	FrameAll:        {Name: "frame-all"},
	FrameHit:        {Name: "frame-hit"},
	FrameGrew:       {Name: "frame-grew"},
	FrameShrank:     {Name: "frame-shrank"},
	FrameText:       {Name: "frame-text", Font: 12},
}

// String returns the style's name, as in "thread-line".
func (s Style) String() string {
	if s < NumStyles {
		return Styles[s].Name
	}
	return "unknown"
}
