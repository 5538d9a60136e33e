//go:build linux && amd64

package window

import _ "embed"

//go:embed gtk-amd64.gz
var packed []byte
