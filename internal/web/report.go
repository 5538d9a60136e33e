package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"path"
	"strings"

	"github.com/mirador-trace/mirador/internal/story"
)

// Report is the page as one file that needs no server: it brings along the
// engine, as WebAssembly, and the traces. Its policy lets nothing in or out,
// and what the traces contain stands in it as base64 only.
type Report struct {
	Title  string // of the page; "" means the story's, or the name of the trace that is shown
	Traces []Packed
	Story  *story.Story // what is told of them; nil for nothing
}

// Packed is a trace that is to go into a report.
type Packed struct {
	Name string
	// Pack writes the trace as [format.OpenBytes] takes it.
	Pack func(io.Writer) error
}

// glue is what Go's distribution has for running what its compiler made.
const glue = "glue.js"

// glueNotice stands before it in each report.
const glueNotice = "/* Copyright 2018 The Go Authors. All rights reserved. Use of this source code is governed by a\n" +
	"   BSD-style license that can be found at https://go.dev/LICENSE */\n"

// Write writes the report. Errors are those of w and of the traces' Pack.
func (r *Report) Write(w io.Writer) error {
	script, err := inline("app.js", "script")
	if err != nil {
		return err
	}
	style, err := inline("app.css", "style")
	if err != nil {
		return err
	}
	if _, after, ok := strings.Cut(style, ":root"); ok { // past the fonts, which the script adds
		style = ":root" + after
	}
	icon := assets()["/icon.svg"].plain
	names := make([]string, len(r.Traces))
	for i, t := range r.Traces {
		names[i] = strings.ToValidUTF8(t.Name, "\uFFFD")
	}
	list, err := json.Marshal(names) // has no < and no > in it
	if err != nil {
		return err
	}
	title := strings.ToValidUTF8(r.Title, "\uFFFD")
	if title == "" && r.Story != nil {
		title = r.Story.Title
	}
	told, err := storyElement(r.Story)
	if err != nil {
		return err
	}
	given, err := json.Marshal(title)
	if err != nil {
		return err
	}
	if title == "" {
		title = "mirador"
	}
	e := &errWriter{w: w}
	fmt.Fprintf(e, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<link rel="icon" href="data:image/svg+xml;base64,%s">
<style>%s</style>
</head>
<body>
<div id="app"></div>
<noscript>Mirador's page needs JavaScript.</noscript>
<script type="application/json" data-report="names">%s</script>
<script type="application/json" data-report="title">%s</script>
%s`, reportPolicy(script, style), html.EscapeString(title),
		base64.StdEncoding.EncodeToString(icon), style, list, given, told)
	worker, err := inline("worker.js", "script")
	if err != nil {
		return err
	}
	run, err := inline(glue, "script")
	if err != nil {
		return err
	}
	engine, err := dist.ReadFile("app/dist/engine.gz")
	if err != nil {
		return err
	}
	fmt.Fprintf(e, "<script type=\"text/plain\" data-report=\"worker\">%s%s\n(()=>{\"use strict\";%s})()</script>\n", glueNotice, run, worker)
	data(e, "engine", func(w io.Writer) error { _, err := w.Write(engine); return err })
	data(e, "regular", func(w io.Writer) error { _, err := w.Write(assets()["/go-regular.ttf"].small); return err })
	data(e, "medium", func(w io.Writer) error { _, err := w.Write(assets()["/go-medium.ttf"].small); return err })
	for i, t := range r.Traces {
		data(e, fmt.Sprintf("trace-%d", i), func(w io.Writer) error {
			z := gzip.NewWriter(w)
			if err := t.Pack(z); err != nil {
				return err
			}
			return z.Close()
		})
	}
	fmt.Fprintf(e, "<script type=\"module\">%s</script>\n</body>\n</html>\n", script)
	return e.err
}

// storyElement returns the element from which the page takes a story; "" for none.
func storyElement(s *story.Story) (string, error) {
	if s == nil {
		return "", nil
	}
	text, err := json.Marshal(s) // has no < and no > in it
	if err != nil {
		return "", err
	}
	return "<script type=\"application/json\" data-story>" + string(text) + "</script>\n", nil
}

// data writes an element that holds bytes.
func data(e *errWriter, name string, write func(io.Writer) error) {
	fmt.Fprintf(e, "<script type=\"text/plain\" data-report=\"%s\">", name)
	b := base64.NewEncoder(base64.StdEncoding, e)
	err := write(b)
	if err == nil {
		err = b.Close()
	}
	if e.err == nil {
		e.err = err
	}
	fmt.Fprint(e, "</script>\n")
}

// reportPolicy lets run only this very script, and what it makes itself.
func reportPolicy(script, style string) string {
	return "default-src 'none'; script-src " + hashOf(script) + " 'wasm-unsafe-eval'; worker-src blob:; " +
		"style-src " + hashOf(style) + "; img-src data: blob:; base-uri 'none'; form-action 'none'; " +
		"require-trusted-types-for 'script'; trusted-types mirador"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// inline returns a file of the page that can stand within an element: nothing
// in it looks like the element's end, or like a comment of HTML.
func inline(name, element string) (string, error) {
	text, err := dist.ReadFile(path.Join("app/dist", name))
	if err != nil {
		return "", err
	}
	for _, bad := range []string{"</" + element, "<!--", "<script"} {
		if bytes.Contains(bytes.ToLower(text), []byte(bad)) {
			return "", errors.New(name + " cannot stand in a page: it contains " + bad)
		}
	}
	return string(text), nil
}

// errWriter writes until something fails, and remembers what.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	n, err := e.w.Write(p)
	e.err = err
	return n, err
}
