// Package overlay builds Go programs with a few lines added to the runtime.
//
// [Find] asks the user's go command which [Toolchain] it would build with.
// [Toolchain.Prepare] copies the files of its runtime that an [Edit] changes
// to a folder of the user's cache, makes the edits there, and returns an
// [Overlay]: the arguments and the environment with which the toolchain's own
// go command compiles those instead of its own. There are no other types but
// the errors. Nothing is written below GOROOT, and nothing of Go's source is
// kept anywhere but in the user's cache.
//
// An edit has an anchor, a line that the file must have exactly once; else
// nothing is built, and an [AnchorError] says what is not as expected. The
// edits are a table, in edit.go, and so are the files that are added, one for
// each thing that mirador watches the runtime for.
//
// The go command hashes the contents of what it compiles, so patched and
// unpatched packages, and those of different patches, never meet in its build
// cache. The folder's name is a hash too, of everything in it. A toolchain in
// the module cache, one that GOTOOLCHAIN or a go.mod asked for, may not be
// overlaid where it is: there a symbolic link in the same folder serves as
// its GOROOT.
package overlay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Toolchain is the one that the user's go command would build with.
type Toolchain struct {
	Root    string // GOROOT
	Version string // go1.26.8
	Modules string // GOMODCACHE
	Flags   string // GOFLAGS
}

// Find runs the go command on PATH in dir, the current folder when that is
// empty. The command chooses the toolchain by the go.mod there and by
// GOTOOLCHAIN.
func Find(ctx context.Context, dir string) (*Toolchain, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOROOT", "GOVERSION", "GOMODCACHE", "GOFLAGS")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
			return nil, fmt.Errorf("ask go for its environment: %s", bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("ask go for its environment: %w", err)
	}
	var env struct{ GOROOT, GOVERSION, GOMODCACHE, GOFLAGS string }
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, fmt.Errorf("ask go for its environment: %w", err)
	}
	return &Toolchain{env.GOROOT, env.GOVERSION, env.GOMODCACHE, env.GOFLAGS}, nil
}

// A VersionError says that the patches have not been tried with a version.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is not one of the versions that the runtime's edits are for, go1.%d to go1.%d",
		e.Version, oldest, newest)
}

// minor returns the N of a version go1.N.
func (t *Toolchain) minor() (n int, ok bool) {
	rest, ok := strings.CutPrefix(t.Version, "go1.")
	if !ok {
		return 0, false
	}
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		rest = rest[:i]
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil
}

// Overlay is a patched runtime that is ready to be built.
type Overlay struct {
	File string // of the flag -overlay
	Root string // GOROOT
	Hash string // of the patched files
}

// Prepare patches the toolchain's runtime into a folder of cache. An empty
// cache is the mirador folder of the user's cache. Files of also, an overlay
// of the user's own, are passed on.
func (t *Toolchain) Prepare(cache, also string) (*Overlay, error) {
	if n, ok := t.minor(); !ok || n < oldest || n > newest {
		return nil, &VersionError{t.Version}
	}
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a place for the patched runtime: %w", err)
		}
		cache = filepath.Join(dir, "mirador")
	}
	replace, err := userOverlay(also)
	if err != nil {
		return nil, err
	}
	files, err := t.patched(replace)
	if err != nil {
		return nil, err
	}
	inModules := within(t.Root, t.Modules)
	hash := t.hash(files, replace, inModules)
	dir := filepath.Join(cache, "overlay", t.Version+"-"+hash[:16])
	root := t.Root
	if inModules {
		root = filepath.Join(dir, "goroot")
	}
	for name := range files {
		replace[filepath.Join(root, "src", filepath.FromSlash(name))] = filepath.Join(dir, flat(name))
	}
	list, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return nil, fmt.Errorf("describe the overlay: %w", err)
	}
	contents := map[string][]byte{"overlay.json": list}
	for name, text := range files {
		contents[flat(name)] = text
	}
	link := ""
	if inModules {
		link = t.Root
	}
	if err := install(dir, contents, link); err != nil {
		return nil, fmt.Errorf("put the patched runtime into the cache: %w", err)
	}
	return &Overlay{File: filepath.Join(dir, "overlay.json"), Root: root, Hash: hash}, nil
}

// flat makes one name of a path.
func flat(name string) string { return strings.ReplaceAll(name, "/", "_") }

// within reports whether a path is below a folder.
func within(path, folder string) bool {
	if folder == "" {
		return false
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// patched returns the edited and the added files by their names below src.
func (t *Toolchain) patched(replace map[string]string) (map[string][]byte, error) {
	files := map[string][]byte{}
	minor, _ := t.minor()
	for _, p := range patches {
		for _, e := range p.edits {
			if !e.applies(minor) {
				continue
			}
			text, ok := files[e.File]
			if !ok {
				name := filepath.Join(t.Root, "src", filepath.FromSlash(e.File))
				if other, ok := replace[name]; ok {
					return nil, fmt.Errorf("the overlay that was given replaces %s by %s, which has to be edited", name, other)
				}
				var err error
				if text, err = os.ReadFile(name); err != nil {
					return nil, fmt.Errorf("read the runtime's source: %w", err)
				}
			}
			text, err := e.apply(t.Version, text)
			if err != nil {
				return nil, err
			}
			files[e.File] = text
		}
		files[p.file] = []byte(p.text)
	}
	return files, nil
}

func (t *Toolchain) hash(files map[string][]byte, replace map[string]string, linked bool) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %v\n", t.Version, t.Root, linked)
	for _, name := range sorted(files) {
		fmt.Fprintf(h, "%q %d\n%s", name, len(files[name]), files[name])
	}
	for _, name := range sorted(replace) {
		fmt.Fprintf(h, "%q %q\n", name, replace[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sorted[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// userOverlay reads an overlay file. Its relative paths are those of the
// current folder.
func userOverlay(name string) (map[string]string, error) {
	replace := map[string]string{}
	if name == "" {
		return replace, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the overlay that was given: %w", err)
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("read the overlay %s: %w", name, err)
	}
	for from, to := range list.Replace {
		if from, err = filepath.Abs(from); err == nil && to != "" {
			to, err = filepath.Abs(to)
		}
		if err != nil {
			return nil, fmt.Errorf("read the overlay %s: %w", name, err)
		}
		replace[from] = to
	}
	return replace, nil
}

// install makes a folder with these contents, and a symbolic link goroot when
// link is not empty. The folder appears whole or not at all; several may try
// at once.
func install(dir string, contents map[string][]byte, link string) error {
	if holds(dir, contents, link) {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(parent, "new-") // 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	for name, text := range contents {
		if err := os.WriteFile(filepath.Join(fresh, name), text, 0o600); err != nil {
			return err
		}
	}
	if link != "" {
		if err := os.Symlink(link, filepath.Join(fresh, "goroot")); err != nil {
			return err
		}
	}
	for range 3 {
		if err = os.Rename(fresh, dir); err == nil || holds(dir, contents, link) {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) && !isNotEmpty(dir) {
			return err
		}
		// There is a folder of that name that is not as it should be.
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return err
}

func isNotEmpty(dir string) bool {
	list, err := os.ReadDir(dir)
	return err == nil && len(list) > 0
}

// holds reports whether a folder is what install makes.
func holds(dir string, contents map[string][]byte, link string) bool {
	for name, text := range contents {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(b, text) {
			return false
		}
	}
	if link == "" {
		return true
	}
	to, err := os.Readlink(filepath.Join(dir, "goroot"))
	return err == nil && to == link
}
