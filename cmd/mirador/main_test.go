package main

import (
	"bytes"
	"errors"
	"flag"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mirador-trace/mirador/internal/testtrace"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mirador": main})
}

// TestCommands runs the scripts in testdata, one per behaviour. A script names
// in its first line the issue that it answers. Besides testscript's own
// commands they may use those of scriptCommands.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of processes are slow")
	}
	recorded, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	memory, err := filepath.Abs("testdata/mem")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                scriptCommands,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TRACES", recorded)
			env.Setenv("MEM", memory)
			env.Setenv("GOTRACE", filepath.Join(recorded, "../internal/format/gotrace/testdata/small.trace"))
			return nil
		},
	})
}

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	// exits STATUS PROGRAM ARGUMENT… runs a program that must end with this status.
	"exits": func(ts *testscript.TestScript, neg bool, args []string) {
		want, err := strconv.Atoi(args[0])
		ts.Check(err)
		err = ts.Exec(args[1], args[2:]...)
		var exit *exec.ExitError
		got := 0
		if errors.As(err, &exit) {
			got = exit.ExitCode()
		} else {
			ts.Check(err)
		}
		if (got == want) == neg {
			ts.Fatalf("exit status %d", got)
		}
	},

	// trace TEXT OUT writes the trace that a text describes; see package testtrace.
	"trace": func(ts *testscript.TestScript, neg bool, args []string) {
		data, err := testtrace.Encode([]byte(ts.ReadFile(args[0])))
		ts.Check(err)
		write(ts, args[1], data)
	},

	// pack FILE OUT compresses a file, as the name of OUT says.
	"pack": func(ts *testscript.TestScript, neg bool, args []string) {
		var b bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&b)
		if filepath.Ext(args[1]) == ".zst" {
			var err error
			w, err = zstd.NewWriter(&b)
			ts.Check(err)
		}
		_, err := io.WriteString(w, ts.ReadFile(args[0]))
		ts.Check(err)
		ts.Check(w.Close())
		write(ts, args[1], b.Bytes())
	},

	// head N FILE OUT copies the first N bytes of a file; all but the last
	// -N when N is negative.
	"head": func(ts *testscript.TestScript, neg bool, args []string) {
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		data := ts.ReadFile(args[1])
		if n < 0 {
			n += len(data)
		}
		write(ts, args[2], []byte(data[:n]))
	},

	// png FILE WIDTH HEIGHT wants a picture of this size.
	"png": func(ts *testscript.TestScript, neg bool, args []string) {
		c, err := png.DecodeConfig(strings.NewReader(ts.ReadFile(args[0])))
		ts.Check(err)
		if size := []string{strconv.Itoa(c.Width), strconv.Itoa(c.Height)}; !slices.Equal(size, args[1:]) {
			ts.Fatalf("its size is %v", size)
		}
	},

	// zeros N OUT writes N bytes that are zero.
	"zeros": func(ts *testscript.TestScript, neg bool, args []string) {
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		write(ts, args[1], make([]byte, n))
	},

	// longlabel N OUT writes a trace with a label of N letters.
	"longlabel": func(ts *testscript.TestScript, neg bool, args []string) {
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		data, err := testtrace.Encode([]byte("1 label thread=1 label=\"" + strings.Repeat("x", n) + "\""))
		ts.Check(err)
		write(ts, args[1], data)
	},

	// noise N OUT writes N bytes without a meaning.
	"noise": func(ts *testscript.TestScript, neg bool, args []string) {
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		data := make([]byte, n)
		rand.NewChaCha8([32]byte{}).Read(data)
		write(ts, args[1], data)
	},
}

func write(ts *testscript.TestScript, name string, data []byte) {
	ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o600))
}
