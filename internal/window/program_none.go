//go:build linux && !amd64 && !arm64

package window

var packed []byte // there is none for this kind of machine
