//go:build !js

package typeface

import "golang.org/x/image/font/gofont/gomedium"

// Medium is the heavier font's file, for pages. It is not measured here, and so
// the engine in a page does without.
var Medium = gomedium.TTF
