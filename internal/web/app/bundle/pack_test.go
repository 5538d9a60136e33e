package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

// The page makes of the packed engine the very program that was packed.
func TestRebuild(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no node, and CI is set")
		}
		t.Skip("there is no node to run program.ts: apt-get install nodejs")
	}
	program, err := compile("../..")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := pack(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "engine.gz"), packed, 0o600); err != nil {
		t.Fatal(err)
	}
	built := api.Build(api.BuildOptions{
		Stdin: &api.StdinOptions{
			Contents: `import { readFileSync, writeFileSync } from 'node:fs'
				import { gunzipSync } from 'node:zlib'
				import { rebuild } from './program'
				writeFileSync('engine.wasm', rebuild(gunzipSync(readFileSync('engine.gz'))))`,
			ResolveDir: "../src", Loader: api.LoaderTS,
		},
		Bundle: true, Platform: api.PlatformNode, Outfile: filepath.Join(dir, "rebuild.js"), Write: true,
	})
	if len(built.Errors) > 0 {
		t.Fatal(built.Errors)
	}
	node := exec.CommandContext(t.Context(), "node", "rebuild.js")
	node.Dir = dir
	if out, err := node.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "engine.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, program) {
		t.Errorf("%d bytes are %d others", len(program), len(got))
	}
}
