package guest

import (
	"testing"
)

func TestIs(t *testing.T) {
	for destination, want := range map[string]bool{
		"xen:": true, "xen:3": true, "ivshmem:": true, "ivshmem:0000:00:04.0": true, "file:/mnt/ring": true,
		"vsock:2:5005": true, "memory:": true,
		"": false, "xen": false, "/tmp/xen:": false, "app.trace": false, "xenon:": false, "Xen:": false, "./file:x": false,
	} {
		if Is(destination) != want {
			t.Errorf("%q: %v", destination, !want)
		}
	}
}
