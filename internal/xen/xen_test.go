package xen

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"testing"
)

// serve is a xenstore in memory, for one connection.
func serve(conn net.Conn) {
	keys := map[string]string{"domid": "3"}
	perms := map[string]string{}
	for {
		var h [16]byte
		if _, err := io.ReadFull(conn, h[:]); err != nil {
			return
		}
		le := binary.LittleEndian
		body := make([]byte, le.Uint32(h[12:]))
		if _, err := io.ReadFull(conn, body); err != nil {
			return
		}
		path, rest, _ := strings.Cut(string(body), "\x00")
		answer, kind := "OK\x00", le.Uint32(h[:])
		value, known := keys[path]
		switch {
		case kind == opWrite && len(rest) > MaxValue:
			answer, kind = "E2BIG\x00", opError
		case kind == opWrite:
			keys[path] = rest
		case kind == opDirectory:
			answer = ""
			for k := range keys {
				if name, ok := strings.CutPrefix(k, path+"/"); ok && !strings.Contains(name, "/") {
					answer += name + "\x00"
				}
			}
		case !known:
			answer, kind = "ENOENT\x00", opError
		case kind == opRead:
			answer = value
		case kind == opRemove:
			delete(keys, path)
		case kind == opSetPerms:
			perms[path] = rest
			keys["perms"] = rest
		}
		// An answer to nobody comes first, as after a request that was given up.
		stray := append([]byte(nil), h[:]...)
		le.PutUint32(stray[4:], 0)
		le.PutUint32(stray[12:], 3)
		conn.Write(append(stray, "old"...))
		le.PutUint32(h[:], kind)
		le.PutUint32(h[12:], uint32(len(answer)))
		conn.Write(append(h[:], answer...))
	}
}

func TestStore(t *testing.T) {
	ours, theirs := net.Pipe()
	go serve(theirs)
	s := NewStore(ours)
	defer s.Close()
	if n, err := s.Domain(); n != 3 || err != nil {
		t.Errorf("domain %d, %v", n, err)
	}
	if err := s.Write("data/a", "1,2"); err != nil {
		t.Error(err)
	}
	if err := s.Write("data/b", ""); err != nil {
		t.Error(err)
	}
	if v, err := s.Read("data/a"); v != "1,2" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if names, err := s.List("data"); err != nil || len(names) != 2 || !slices.Contains(names, "b") {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := s.List("nothing"); err != nil || len(names) != 0 {
		t.Errorf("%q, %v", names, err)
	}
	if err := s.Share("data/a", 3, 5); err != nil {
		t.Error(err)
	}
	if v, _ := s.Read("perms"); v != "n3\x00r5\x00" {
		t.Errorf("permissions %q", v)
	}
	if err := errors.Join(s.Remove("data/a"), s.Remove("data/a")); err != nil {
		t.Error(err)
	}
	_, err := s.Read("data/a")
	var refused *StoreError
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &refused) || err.Error() != "xenstore: read data/a: no such key" {
		t.Errorf("%v", err)
	}
	if err := s.Write("data/c", strings.Repeat("x", MaxValue+1)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
	if err := s.Write("data/c", strings.Repeat("x", 5000)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
	theirs.Close()
	if _, err := s.Read("domid"); err == nil {
		t.Error("a closed connection is no error")
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00x"))
	f.Add([]byte("\x10\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		go func() {
			io.ReadFull(theirs, make([]byte, 16+6))
			theirs.Write(answer)
			theirs.Close()
		}()
		NewStore(ours).Read("domid")
	})
}

func TestRefs(t *testing.T) {
	refs := []uint32{8, 9, 4_000_000_000, 10}
	text := JoinRefs(refs)
	if text != "8,9,4000000000,10" {
		t.Errorf("%q", text)
	}
	if back, err := ParseRefs(text); !slices.Equal(back, refs) || err != nil {
		t.Errorf("%v, %v", back, err)
	}
	for _, bad := range []string{"", ",", "1,,2", "-1", "4294967296", "1;2", strings.Repeat("9", 4000)} {
		if _, err := ParseRefs(bad); err == nil || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	page := make([]byte, Page)
	PutRefs(page, refs)
	if back := ReadRefs(page); !slices.Equal(back, refs) {
		t.Errorf("%v", back)
	}
	full := make([]uint32, RefsPerPage)
	for i := range full {
		full[i] = uint32(i + 8)
	}
	PutRefs(page, full)
	if back := ReadRefs(page); !slices.Equal(back, full) {
		t.Errorf("%d of %d references", len(back), len(full))
	}
}

// Where this test runs there is no Xen: that is an error with a clear text.
func TestNotXen(t *testing.T) {
	if _, err := OpenStore(); !errors.Is(err, ErrNotXen) {
		t.Skipf("xenstore answers: %v", err)
	}
	if _, err := Allocate(0, 1); !errors.Is(err, ErrNotXen) {
		t.Error(err)
	}
	if _, err := Map(1, []uint32{8}); !errors.Is(err, ErrNotXen) {
		t.Error(err)
	}
}
