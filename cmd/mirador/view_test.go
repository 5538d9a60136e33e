//go:build unix

package main

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Issue 2: view and demo print where they serve, show the page to whoever has
// the URL and to nobody else, and end at Ctrl-C.
func TestServe(t *testing.T) {
	for _, args := range []string{"view --no-open ../../testdata/odd.ctf ../../testdata/ring.ctf", "demo --no-open",
		"demo mem --no-open", "view --no-open testdata/mem/leak.ctf.gz ../../testdata/odd.ctf testdata/mem/interp.ctf",
		"view --no-open --http localhost:0 ../../testdata/odd.ctf"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			p := start(t, ".", strings.Fields(args), w)
			w.Close()
			line, err := bufio.NewReader(r).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			m := regexp.MustCompile(`^mirador: serving (http://127\.0\.0\.1:[1-9][0-9]*/\S*)\n$`).FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("it prints %q", line)
			}
			address, err := url.Parse(m[1])
			if err != nil {
				t.Fatal(err)
			}
			if status, body := get(t, address.String(), ""); status != http.StatusOK || !strings.Contains(body, "<!doctype html>") {
				t.Errorf("the page: status %d, %.100s", status, body)
			} else if told := strings.Contains(body, "data-story>"); told != strings.HasPrefix(args, "demo --") {
				t.Errorf("the page tells a story: %v", told)
			}
			if status, _ := get(t, address.String(), "evil.example:"+address.Port()); status == http.StatusOK {
				t.Error("the page is served under the name of another host")
			}
			withoutToken := *address
			withoutToken.RawQuery = ""
			if status, _ := get(t, withoutToken.String(), ""); status == http.StatusOK {
				t.Error("the page is served without the token")
			}
			if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := p.wait(t); err != nil {
				t.Errorf("ended with %v", err)
			}
			if p.errs.Len() > 0 {
				t.Errorf("it says %s", &p.errs)
			}
		})
	}
}

// get asks for a URL, under the name of another host if one is given.
func get(t *testing.T, address, host string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}
