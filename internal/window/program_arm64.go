//go:build linux && arm64

package window

import _ "embed"

//go:embed gtk-arm64.gz
var packed []byte
