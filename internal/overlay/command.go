package overlay

import (
	"path/filepath"
	"runtime"
	"strings"
)

// verbs are the commands of go that take -overlay.
var verbs = map[string]bool{
	"build": true, "run": true, "test": true, "install": true, "vet": true, "list": true, "fix": true,
}

// Builds reports whether go's command of that name takes an overlay.
func Builds(verb string) bool { return verbs[verb] }

// Folder returns the folder that the arguments of a go command, behind its
// verb, name with -C, which must come first.
func Folder(args []string) string {
	if len(args) == 0 {
		return ""
	}
	if dir, ok := cut(args[0], "C"); ok {
		return dir
	}
	if (args[0] == "-C" || args[0] == "--C") && len(args) > 1 {
		return args[1]
	}
	return ""
}

// valued are the flags of go build and go run whose value may be an argument
// of its own.
var valued = map[string]bool{
	"C": true, "o": true, "p": true, "asmflags": true, "buildmode": true, "compiler": true,
	"covermode": true, "coverpkg": true, "exec": true, "f": true, "gccgoflags": true, "gcflags": true,
	"installsuffix": true, "ldflags": true, "mod": true, "modfile": true, "overlay": true, "pgo": true,
	"pkgdir": true, "tags": true, "toolexec": true, "vettool": true,
}

// flags returns how many of the arguments of a go command may be its flags:
// those before the packages, and with go test those between them as well. The
// arguments of a program or a test binary are none.
func flags(verb string, args []string) int {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch name := strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-"); {
		case a == "--" || verb == "test" && (a == "-args" || a == "--args"):
			return i
		case !strings.HasPrefix(a, "-") && verb != "test":
			return i
		case strings.HasPrefix(a, "-") && valued[name]:
			i++
		}
	}
	return len(args)
}

// Given returns the file of the last -overlay among the arguments of a go
// command, or in GOFLAGS.
func (t *Toolchain) Given(verb string, args []string) string {
	file := ""
	for _, f := range strings.Fields(t.Flags) {
		if v, ok := cut(f, "overlay"); ok {
			file = v
		}
	}
	args = args[:flags(verb, args)]
	for i, a := range args {
		if v, ok := cut(a, "overlay"); ok {
			file = v
		} else if (a == "-overlay" || a == "--overlay") && i+1 < len(args) {
			file = args[i+1]
		}
	}
	return file
}

// cut returns V of an argument -name=V.
func cut(arg, name string) (string, bool) {
	v, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", false
	}
	return strings.CutPrefix(strings.TrimPrefix(v, "-"), name+"=")
}

// Command returns the command line that runs a go command with the overlay,
// and what its environment must have besides. args are those behind the verb.
func (o *Overlay) Command(verb string, args []string) (line, env []string) {
	name := "go"
	if runtime.GOOS == "windows" {
		name = "go.exe"
	}
	line = []string{filepath.Join(o.Root, "bin", name), verb}
	// -C must stay the first.
	switch {
	case len(args) > 1 && (args[0] == "-C" || args[0] == "--C"):
		line, args = append(line, args[:2]...), args[2:]
	case len(args) > 0:
		if _, ok := cut(args[0], "C"); ok {
			line, args = append(line, args[0]), args[1:]
		}
	}
	args = without(verb, args)
	line = append(line, "-overlay="+o.File)
	// The toolchain has been chosen; choosing again would leave its GOROOT.
	return append(line, args...), []string{"GOROOT=" + o.Root, "GOTOOLCHAIN=local"}
}

// without returns the arguments but for -overlay, which has been taken into
// ours.
func without(verb string, args []string) []string {
	n := flags(verb, args)
	list := make([]string, 0, len(args))
	for i := 0; i < n; i++ {
		if _, ok := cut(args[i], "overlay"); ok {
			continue
		}
		if args[i] == "-overlay" || args[i] == "--overlay" {
			i++
			continue
		}
		list = append(list, args[i])
	}
	return append(list, args[min(n, len(args)):]...)
}
