//go:build !((linux || darwin) && (amd64 || arm64 || riscv64 || loong64))

package ring

import (
	"errors"
	"os"
	"runtime"
	"unsafe"
)

const runDir = ".run"

var errUnsupported = errors.New("cannot record on " + runtime.GOOS + "/" + runtime.GOARCH)

func supported() error { return errUnsupported }

func claim(dir string) (*os.File, error) { return nil, errUnsupported }

func empty(dir string) error { return errUnsupported }

func replace(path string, text []byte) error { return errUnsupported }

type mapping struct{}

func (mapping) memory() unsafe.Pointer { return nil }

func (mapping) unmap() {}

func makeRing(dir, name string, uuid [16]byte, id uint64, room slots, begin uint64) (mapping, error) {
	return mapping{}, errUnsupported
}
