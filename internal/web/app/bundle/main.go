// Bundle makes the page of its TypeScript, and the engine that a report brings
// along of its Go: it writes ../dist, which is committed and embedded into
// mirador. It is a module of its own, so that nobody needs the bundler to build
// mirador.
//
// Run "npm ci" in internal/web/app once, then "go generate ./internal/web".
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	types := flag.Bool("check-types", false, "check the types too")
	out := flag.String("o", "../dist", "`folder` to write to")
	flag.Parse()
	if err := run(*out, *types); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(out string, types bool) error {
	if types {
		tsc := exec.Command("node", "node_modules/typescript/bin/tsc", "-p", ".")
		tsc.Dir, tsc.Stdout, tsc.Stderr = "..", os.Stderr, os.Stderr
		if err := tsc.Run(); err != nil {
			return fmt.Errorf("types: %w", err)
		}
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	app, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	glue, err := engine(filepath.Dir(app), filepath.Join(out, "engine.gz"))
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: app,
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: "src/main.tsx", OutputPath: "app"},
			{InputPath: "src/worker.ts", OutputPath: "worker"},
			{InputPath: glue, OutputPath: "glue"},
			{InputPath: "src/style/page.css", OutputPath: "app"},
		},
		Outdir:            out,
		Bundle:            true,
		Write:             true,
		Format:            api.FormatESModule,
		Target:            api.ES2022,
		JSX:               api.JSXAutomatic,
		JSXImportSource:   "preact",
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsNone,
		External:          []string{"/go-regular.ttf", "/go-medium.ttf"},
		LogLevel:          api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors", len(result.Errors))
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		data, err := os.ReadFile(filepath.Join(app, "src", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// engine writes the packed engine, and returns where the compiler's own glue
// for it lies. The same sources and compiler give the same bytes.
func engine(web, to string) (glue string, err error) {
	program, err := compile(web)
	if err != nil {
		return "", err
	}
	packed, err := pack(program)
	if err != nil {
		return "", err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	glue = filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js")
	return glue, os.WriteFile(to, packed, 0o644)
}

// compile compiles the engine to WebAssembly, without what it does not need.
func compile(web string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "mirador-engine-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	code := filepath.Join(dir, "engine.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-buildvcs=false", "-o", code, "./wasm")
	build.Dir, build.Stderr = web, os.Stderr
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWASM=", "GOFLAGS=", "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(code)
	if err != nil {
		return nil, err
	}
	return strip(data)
}
