package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mirador-trace/mirador/internal/format/native"
)

// A trace that is a directory travels as a tar file, in POSIX's ustar format:
// blocks of 512 bytes, a header and the file's bytes, padded. Of the header,
// the name is at 0 (100 bytes), the size at 124 (11 octal digits), the type at
// 156, "ustar" at 257, and what goes before the name at 345 (155 bytes).
const tarBlock = 512

// isTar reports whether data looks like a tar file.
func isTar(data []byte) bool {
	return len(data) >= tarBlock && bytes.HasPrefix(data[257:], []byte("ustar"))
}

// PackFiles writes the files of a directory as one file that [OpenBytes] takes.
func PackFiles(w io.Writer, files map[string][]byte) error { return packTar(w, tarDir(files)) }

// packTar writes the files of a directory, and of the directories in it.
func packTar(w io.Writer, dir fs.FS) error {
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the recorder has removed it meanwhile
		} else if err != nil {
			return err
		}
		if len(name) > 100 {
			return fmt.Errorf("%s: too long a name for a file of a trace", name)
		}
		var h [tarBlock]byte
		copy(h[0:], name)
		copy(h[100:], "0000600\x000000000\x000000000\x00") // mode, owner and group
		copy(h[124:], fmt.Sprintf("%011o\x0000000000000\x00", len(data)))
		copy(h[148:], "        ")
		h[156] = '0'
		copy(h[257:], "ustar\x0000")
		sum := 0
		for _, b := range h {
			sum += int(b)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		if _, err := w.Write(h[:]); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
		_, err = w.Write(make([]byte, -len(data)&(tarBlock-1)))
		return err
	})
	if err != nil {
		return err
	}
	_, err = w.Write(make([]byte, 2*tarBlock))
	return err
}

// tarFiles returns the regular files of a tar file, as far as it goes. Their
// bytes are data's.
func tarFiles(data []byte) tarDir {
	files := make(tarDir)
	for isTar(data) {
		h := data[:tarBlock]
		size, err := strconv.ParseInt(strings.Trim(string(h[124:136]), "\x00 "), 8, 64)
		if err != nil || size < 0 {
			break
		}
		data = data[tarBlock:]
		name := textOf(h[:100])
		if h[262] == 0 { // POSIX's; others have other things there
			name = path.Join(textOf(h[345:500]), name)
		}
		name = path.Clean(name)
		body := data[:min(size, int64(len(data)))]
		if (h[156] == '0' || h[156] == 0) && name != "." && fs.ValidPath(name) {
			files[name] = body
		}
		padded := size + -size&(tarBlock-1)
		if padded > int64(len(data)) {
			break
		}
		data = data[padded:]
	}
	return files
}

func textOf(field []byte) string {
	text, _, _ := bytes.Cut(field, []byte{0})
	return string(text)
}

// tarTrace finds the trace directory in a tar file: all of it, or a directory
// in it. Nil means that there is none.
func tarTrace(data []byte) fs.FS {
	files := tarFiles(data)
	var places []string
	for name := range files {
		if path.Base(name) == "metadata" {
			places = append(places, path.Dir(name))
		}
	}
	slices.Sort(places)
	const most = 16 // places to look at
	for _, place := range places[:min(most, len(places))] {
		if dir := files.sub(place); native.Is(dir) {
			return dir
		}
	}
	return nil
}

// tarDir is a directory in memory: the files' bytes by their paths.
type tarDir map[string][]byte

func (d tarDir) sub(place string) tarDir {
	if place == "." {
		return d
	}
	in := make(tarDir)
	for name, data := range d {
		if rest, ok := strings.CutPrefix(name, place+"/"); ok {
			in[rest] = data
		}
	}
	return in
}

// Open opens a file, or a directory to list.
func (d tarDir) Open(name string) (fs.File, error) {
	if data, ok := d[name]; ok {
		return &tarFile{bytes.NewReader(data), tarInfo{path.Base(name), int64(len(data)), 0}}, nil
	}
	entries, err := d.ReadDir(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &tarList{info: tarInfo{path.Base(name), 0, fs.ModeDir}, entries: entries}, nil
}

// ReadDir lists a directory, in the order of names.
func (d tarDir) ReadDir(name string) ([]fs.DirEntry, error) {
	in := d.sub(name)
	seen := make(map[string]tarInfo)
	for name, data := range in {
		first, _, deeper := strings.Cut(name, "/")
		if deeper {
			seen[first] = tarInfo{first, 0, fs.ModeDir}
		} else {
			seen[first] = tarInfo{first, int64(len(data)), 0}
		}
	}
	if len(seen) == 0 {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	entries := make([]fs.DirEntry, 0, len(seen))
	for _, info := range seen {
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// tarFile is an opened file; it can be read anywhere.
type tarFile struct {
	*bytes.Reader
	info tarInfo
}

func (f *tarFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *tarFile) Close() error               { return nil }

// tarList is an opened directory.
type tarList struct {
	info    tarInfo
	entries []fs.DirEntry
}

func (l *tarList) Stat() (fs.FileInfo, error) { return l.info, nil }
func (l *tarList) Close() error               { return nil }
func (l *tarList) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }

func (l *tarList) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(l.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(l.entries) {
		n = len(l.entries)
	}
	next := l.entries[:n]
	l.entries = l.entries[n:]
	return next, nil
}

// tarInfo tells of a file what a tar file tells.
type tarInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i tarInfo) Name() string       { return i.name }
func (i tarInfo) Size() int64        { return i.size }
func (i tarInfo) Mode() fs.FileMode  { return i.mode | 0o400 }
func (i tarInfo) ModTime() time.Time { return time.Time{} }
func (i tarInfo) IsDir() bool        { return i.mode.IsDir() }
func (i tarInfo) Sys() any           { return nil }
