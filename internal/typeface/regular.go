//go:build !js

package typeface

import "golang.org/x/image/font/gofont/goregular"

// Regular is the font's file, for pages that draw text themselves.
var Regular = goregular.TTF
