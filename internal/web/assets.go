package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/mirador-trace/mirador/internal/typeface"
)

//go:generate go -C app/bundle run . -check-types

//go:embed app/dist
var dist embed.FS

// assets are the files that the page is made of, by their path.
var assets = sync.OnceValue(func() map[string]*asset {
	all := map[string]*asset{
		"/go-regular.ttf": newAsset("font/ttf", typeface.Regular),
		"/go-medium.ttf":  newAsset("font/ttf", typeface.Medium),
	}
	entries, err := dist.ReadDir("app/dist")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, e := range entries {
		if path.Ext(e.Name()) == ".gz" || e.Name() == glue {
			continue // only a report needs it
		}
		data, err := dist.ReadFile(path.Join("app/dist", e.Name()))
		if err != nil {
			panic(err)
		}
		all["/"+e.Name()] = newAsset(mimeTypes[path.Ext(e.Name())], data)
	}
	return all
})

var mimeTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// asset is a file with what HTTP says about it.
type asset struct {
	kind         string
	plain, small []byte // as it is, and compressed
	etag         string
}

func newAsset(kind string, data []byte) *asset {
	sum := sha256.Sum256(data)
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that exists
	z.Write(data)                                         // memory does not fail
	z.Close()
	return &asset{kind, data, b.Bytes(), `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

// ServeHTTP serves the file. Browsers may keep it but must ask whether it is
// still the same: another mirador may have had the port before.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", a.etag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.kind)
	data := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data = a.small
	}
	if r.Method == http.MethodGet {
		w.Write(data)
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for name, a := range assets() {
		if name != "/index.html" {
			mux.Handle(name, a)
		}
	}
	kind := assets()["/index.html"].kind
	mux.HandleFunc("/{$}", s.withToken(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Write(s.index)
	}))
	mux.HandleFunc("/socket", s.withToken(s.socket))
	return mux
}
