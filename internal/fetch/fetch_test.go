package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
)

func TestGet(t *testing.T) {
	text := strings.Repeat("what came ", 100_000)
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/trace", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	mux.Handle("/near", http.RedirectHandler("/trace", http.StatusFound))
	mux.Handle("/far", http.RedirectHandler(elsewhere.URL, http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "tracing is already enabled\nsecond line", http.StatusInternalServerError)
	})
	mux.HandleFunc("/breaks", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "half of it")
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	for _, path := range []string{"/trace", "/near"} {
		most := int64(0)
		data, err := Get(t.Context(), server.URL+path, func(n int64) { most = n })
		if err != nil || string(data) != text || most != int64(len(text)) {
			t.Errorf("%s: %d bytes, progress up to %d, %v", path, len(data), most, err)
		}
	}
	if data, err := Get(t.Context(), server.URL+"/breaks", nil); err == nil || string(data) != "half of it" {
		t.Errorf("a broken connection: %q, %v", data, err)
	}
	if data, err := get(t.Context(), server.URL+"/trace", 100, nil); !errors.Is(err, ErrTooLarge) || !bytes.Equal(data, []byte(text[:100])) {
		t.Errorf("too much: %d bytes, %v", len(data), err)
	}
	if _, err := Get(t.Context(), server.URL+"/far", nil); !errors.Is(err, ErrRedirect) {
		t.Errorf("sent to another host: %v", err)
	}
	if _, err := Get(t.Context(), server.URL+"/round", nil); err == nil {
		t.Error("sent in circles, and no error")
	}
	var status *StatusError
	if _, err := Get(t.Context(), server.URL+"/busy", nil); !errors.As(err, &status) || status.Text != "tracing is already enabled" {
		t.Errorf("an error of the server: %v", err)
	}
	for _, bad := range []string{"http://", "http://127.0.0.1:port/", "http://[::1/", "https:// /"} {
		if _, err := Get(t.Context(), bad, nil); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	closed := httptest.NewServer(mux)
	closed.Close()
	if _, err := Get(t.Context(), closed.URL, nil); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
}

// What came before the caller had enough is not lost.
func TestGetEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "first part")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	data, err := Get(ctx, server.URL, func(int64) { cancel() })
	if string(data) != "first part" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v", data, err)
	}
}
