package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/event"
	"github.com/mirador-trace/mirador/internal/format/mirage"
	"github.com/mirador-trace/mirador/internal/guest"
	"github.com/mirador-trace/mirador/internal/region"
	"github.com/mirador-trace/mirador/internal/ring/harvest"
	"github.com/mirador-trace/mirador/internal/xen"
)

// saver saves a trace that lies in one piece of memory, or comes as a stream.
type saver func(cmd *cobra.Command, out string, follow bool) error

// saverOf returns what saves from a source that is no directory and no
// process, or nil.
func saverOf(source string) saver {
	kind, rest, _ := strings.Cut(source, ":")
	switch kind {
	case "xen":
		return func(cmd *cobra.Command, out string, follow bool) error { return saveXen(cmd, out, rest, follow) }
	case "vsock":
		return func(cmd *cobra.Command, out string, _ bool) error { return saveStream(cmd, out, rest) }
	}
	info, err := os.Stat(source)
	if err != nil || info.IsDir() {
		return nil
	}
	return func(cmd *cobra.Command, out string, follow bool) error { return saveFile(cmd, out, source, follow) }
}

// saveFile saves a region that lies in a file, at its start or anywhere.
func saveFile(cmd *cobra.Command, out, path string, follow bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd) // which also devices answer
	if err != nil {
		return err
	}
	found, err := region.Find(f, size)
	if err != nil {
		return explainRegion(fmt.Errorf("%s: %w", path, err))
	}
	warnOthers(cmd, path, offsets(found))
	offset := found[0].Offset
	return saveRegion(cmd, out, path, found[0], follow, func() (*region.Region, error) {
		if found[0].Scattered() {
			return found[0], nil
		}
		return region.Open(f, offset, size)
	})
}

// saveXen saves the ring of another domain. It may be mirador's or
// mirage-profile's.
func saveXen(cmd *cobra.Command, out, domain string, follow bool) error {
	ring, err := guest.MapXen(domain)
	if err != nil {
		return explainXen(err)
	}
	defer ring.Close()
	if mirage.Is(bytes.Clone(ring.Memory[:32])) {
		return saveMirage(cmd, out, ring, follow)
	}
	in, size := bytes.NewReader(ring.Memory), int64(len(ring.Memory))
	r, err := region.Open(in, 0, size)
	if err != nil {
		return explainRegion(fmt.Errorf("xen:%s: %w", domain, err))
	}
	return saveRegion(cmd, out, "xen:"+domain, r, follow, func() (*region.Region, error) {
		if ring.Gone() {
			return nil, errGone
		}
		return region.Open(in, 0, size)
	})
}

var errGone = errors.New("the domain is gone")

// saveMirage writes the ring of a unikernel as the file that it would be.
func saveMirage(cmd *cobra.Command, out string, ring *guest.XenRing, follow bool) error {
	if follow {
		return withHint(errors.New("a ring of mirage-profile cannot be followed"), "leave --follow out")
	}
	data := bytes.Clone(ring.Memory)
	r, err := mirage.NewReader(data)
	if err != nil {
		return err
	}
	if err := create(cmd.Context(), out, func(w io.Writer) error { _, err := w.Write(data); return err }); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "mirador: %s packets of mirage-profile, %s bytes\n", grouped(int64(len(r.Packets()))), grouped(int64(len(data))))
	return nil
}

// saveRegion saves a region as it is now, or follows it for as long as open
// returns it.
func saveRegion(cmd *cobra.Command, out, name string, r *region.Region, follow bool, open func() (*region.Region, error)) error {
	var report harvest.Report
	var damage []event.Damage
	var err error
	if follow {
		report, err = harvest.FollowRegion(cmd.Context(), out, open)
	} else {
		report, damage, err = harvest.SaveRegion(out, r)
	}
	if err != nil {
		return explainHarvest(err)
	}
	warn(cmd, name, damage, 0)
	sayReport(cmd, report)
	return nil
}

// saveStream waits for a stream and saves it to its end.
func saveStream(cmd *cobra.Command, out, port string) error {
	n, err := strconv.ParseUint(port, 10, 32)
	if err != nil {
		return withHint(fmt.Errorf("vsock:%s: not a port", port), "write it as vsock:5005")
	}
	conn, err := guest.ListenVsock(cmd.Context(), uint32(n), func() {
		fmt.Fprintf(cmd.ErrOrStderr(), "mirador: waiting for a program with MIRADOR=vsock:CID:%d\n", n)
	})
	if err != nil {
		return fmt.Errorf("vsock:%d: %w", n, err)
	}
	defer conn.Close()
	defer context.AfterFunc(cmd.Context(), func() { conn.Close() })()
	s, err := region.NewReceiver(conn)
	if err != nil {
		return fmt.Errorf("vsock:%d: %w", n, err)
	}
	report, err := harvest.SaveStream(out, s)
	if err != nil && cmd.Context().Err() == nil {
		return explainHarvest(fmt.Errorf("vsock:%d: %w", n, err))
	}
	sayReport(cmd, report)
	return nil
}

func explainRegion(err error) error {
	switch {
	case errors.Is(err, region.ErrNoRegion):
		return withHint(err, "the program there may not have started to record yet; it does with MIRADOR=xen:, ivshmem:, file:PATH or memory:")
	case errors.Is(err, region.ErrDamaged):
		return withHint(err, "an older image of the memory may have it whole")
	}
	return err
}

func explainXen(err error) error {
	switch {
	case errors.Is(err, guest.ErrNoTrace), errors.Is(err, fs.ErrNotExist):
		return withHint(err, "run 'mirador xen list' for the domains that share a trace")
	case errors.Is(err, xen.ErrRevoked):
		return withHint(err, "the program there has ended; 'mirador hold -- PROGRAM' there, or 'mirador save --follow' here, keeps its trace")
	case errors.Is(err, xen.ErrNotXen):
		return withHint(err, "run mirador in domain 0 of a Xen host, with the modules xen-gntdev and xenfs loaded")
	case errors.Is(err, fs.ErrPermission):
		return withHint(err, "run mirador as root")
	}
	return err
}
