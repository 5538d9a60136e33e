// Package fetch gets a trace from a program that serves it over HTTP, as those
// that import net/http/pprof do.
//
// It has one function, [Get], and few types: a [StatusError] is an answer that
// is no trace. It is apart from package input so that what needs no network is
// built without.
package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limit is how many bytes are read of an answer: it has to fit into memory.
const Limit int64 = 1 << 30

// Errors of [Get] that a caller may want to tell apart.
var (
	ErrTooLarge = fmt.Errorf("more than %d GiB", Limit>>30)
	ErrRedirect = errors.New("the answer sends us to another host")
)

// StatusError is an answer whose status is not 200.
type StatusError struct {
	Status string // as in "404 Not Found"
	Text   string // the first line of the answer's body, if it is plain text
}

func (e *StatusError) Error() string {
	if e.Text != "" {
		return fmt.Sprintf("the server answers %s: %s", e.Status, e.Text)
	}
	return "the server answers " + e.Status
}

// Is reports whether a path is the URL of something to get.
func Is(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// Get returns the body of the answer to a GET request. Nothing limits how long
// it may take, as recording does, but ctx. What came before an error is
// returned with it. Redirects within the host are followed. Progress is called
// with the number of bytes that came; nil means that nobody wants to know.
func Get(ctx context.Context, from string, progress func(int64)) ([]byte, error) {
	return get(ctx, from, Limit, progress)
}

func get(ctx context.Context, from string, limit int64, progress func(int64)) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, plain(err)
	}
	transport := &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: sameHost}
	answer, err := client.Do(request)
	if err != nil {
		return nil, plain(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, &StatusError{answer.Status, firstLine(answer)}
	}
	w := &counted{progress: progress}
	_, err = io.Copy(w, io.LimitReader(answer.Body, limit+1))
	if int64(w.data.Len()) > limit {
		return w.data.Bytes()[:limit], ErrTooLarge
	}
	return w.data.Bytes(), plain(err)
}

// plain takes the URL out of an error: who asks for it names it.
func plain(err error) error {
	if named := new(url.Error); errors.As(err, &named) {
		return named.Err
	}
	return err
}

func sameHost(next *http.Request, before []*http.Request) error {
	if next.URL.Host != before[0].URL.Host {
		return fmt.Errorf("%w: %s", ErrRedirect, next.URL.Host)
	}
	if next.URL.Scheme != before[0].URL.Scheme && next.URL.Scheme != "https" {
		return fmt.Errorf("%w, without encryption", ErrRedirect)
	}
	if len(before) >= 10 {
		return errors.New("the answer sends us in circles")
	}
	return nil
}

// firstLine returns the first line of a plain text answer, which tells what
// went wrong.
func firstLine(answer *http.Response) string {
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
		return ""
	}
	start, _ := io.ReadAll(io.LimitReader(answer.Body, 300)) // what there is of it will do
	line, _, _ := strings.Cut(strings.TrimSpace(string(start)), "\n")
	return strings.ToValidUTF8(line, "\uFFFD")
}

// counted is a buffer that tells how much came.
type counted struct {
	data     bytes.Buffer
	progress func(int64)
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.data.Write(b)
	if c.progress != nil {
		c.progress(int64(c.data.Len()))
	}
	return n, err
}
