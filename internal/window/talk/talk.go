// Package talk is what mirador and the program that shows its window say to
// each other: a line of JSON for each message, over the pipes between them.
//
// There are few types: a [Show] is the first and only thing that mirador says;
// the program answers with [News] until it ends. When mirador closes its pipe
// the program closes the window.
package talk

// Show is what to show, and where.
type Show struct {
	URL       string `json:"url"`       // the page; has a token in it, which is why it is not an argument
	Place     *Place `json:"place"`     // nil for where the system puts windows
	Unguarded bool   `json:"unguarded"` // WebKit's sandbox cannot run here
}

// Place is where a window lies on the screen, in px of GTK.
type Place struct {
	X         int32 `json:"x"`
	Y         int32 `json:"y"`
	Width     int32 `json:"width"`
	Height    int32 `json:"height"`
	Maximized bool  `json:"maximized,omitempty"`
}

// News is one thing that has happened; of its fields one is set.
type News struct {
	Shown   bool     `json:"shown,omitempty"`   // the window is there
	Open    []string `json:"open,omitempty"`    // files were chosen or dropped: their absolute paths
	Closed  *Place   `json:"closed,omitempty"`  // the window is gone; it lay here
	Missing string   `json:"missing,omitempty"` // there is no window, for want of this library
	Failed  string   `json:"failed,omitempty"`  // there is no window, for another reason
}
