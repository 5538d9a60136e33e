package web

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/engine"
)

// A trace of memory travels in a report, too, and its engine gives the server's
// very answers.
func TestReportOfMemory(t *testing.T) {
	path := leak(t, "leak.ctf")
	threads := filepath.Join(t.TempDir(), "threads.ctf")
	writeSample(t, threads, 0)
	e := new(engine.Engine)
	r := &Report{}
	for _, path := range []string{path, threads} {
		loaded, err := fileSource(path).Load()
		if err != nil {
			t.Fatal(err)
		}
		e.Add(loaded)
		r.Traces = append(r.Traces, packedFile(path))
	}
	url := writeReport(t, r)
	p := openAt(t, url, look{width: 1280})
	p.until(`document.querySelector('.chart canvas')?.dataset.frame >= 1 && document.querySelector('.flame canvas')?.dataset.frame >= 1`)
	if total := p.agree(); !strings.Contains(total, "GiB") {
		t.Errorf("%s were allocated", total)
	}
	p.paints(".chart", "chart-area", 3, 20000)
	v := map[string]any{"from": 0, "to": 5, "width": 800.0, "height": 300.0}
	questions := []map[string]any{
		{"ask": "memory"}, {"ask": "chart", "view": v}, {"ask": "flame", "view": v}, {"ask": "functions", "limit": 100},
		{"ask": "spots", "limit": 100}, {"ask": "ways"}, {"ask": "histograms"}, {"ask": "groups"},
	}
	for _, q := range questions {
		q["v"], q["trace"], q["memory"] = engine.Version, 0, map[string]any{"filter": []any{}}
	}
	same(p, e, questions)
	p.press(`[role=tab]:last-of-type`)
	p.until(`document.querySelector('#picture canvas')?.dataset.frame >= 1`)
	p.press(`[role=tab]`)
	p.brush(0.2, 0.4)
	p.until(`document.querySelectorAll('.chip').length === 1`)
}

// packedFile is a file that goes into a report as it is.
func packedFile(path string) Packed {
	return Packed{filepath.Base(path), func(w io.Writer) error {
		data, err := os.ReadFile(path)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}}
}

// tarred packs a recording's directory as somebody would send it.
func tarred(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// drop drops a file on the page.
func (p *page) drop(name string, data []byte) {
	p.Helper()
	get[bool](p, fmt.Sprintf(`(async () => {
		const data = Uint8Array.from(atob(%q), c => c.charCodeAt(0))
		const what = new DataTransfer()
		what.items.add(new File([data], %q))
		for (const type of ['dragenter', 'dragover', 'drop']) {
			document.body.dispatchEvent(new DragEvent(type, { dataTransfer: what, bubbles: true, cancelable: true }))
			if (type === 'dragover') await new Promise(requestAnimationFrame)
		}
		return true
	})()`, base64.StdEncoding.EncodeToString(data), name))
}

// Another trace is opened by dropping it on a report; what is none is refused
// with its name, and everything stays.
func TestDrop(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.ctf"), filepath.Join(dir, "second.ctf")
	writeSample(t, first, 0)
	writeSample(t, second, 40)
	_, url := reportOf(t, "", first)
	p := browseAt(t, url, look{width: 1280})
	tab := func(n int, name string) {
		t.Helper()
		p.until(fmt.Sprintf(`(t => t.length === %d && t[%d].textContent === %q && t[%d].ariaSelected === 'true')(document.querySelectorAll('[role=tab]'))`, n, n-1, name, n-1))
	}
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	p.drop("second.ctf", read(second))
	tab(2, "second.ctf")
	p.until(`document.querySelector('[role=tab]:last-of-type').title.includes('108 threads')`)
	p.view()
	if n := pixels(p.shot("#picture"), p.styled("thread-line"), 4); n < 1000 {
		t.Errorf("%d pixels of thread lines", n)
	}

	p.drop("leak.ctf", read(leak(t, "leak.ctf")))
	tab(3, "leak.ctf")
	p.until(`document.querySelector('.chart canvas')?.dataset.frame >= 1`)

	recording := filepath.Join(dir, "own.trace")
	r, err := mirador.Start(mirador.Config{Path: recording, Size: 1 << 20, GoTrace: -1})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	mirador.Go("somebody", func() { time.Sleep(time.Millisecond); close(done) })
	<-done
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	p.drop("own.trace.tar.gz", tarred(t, recording))
	tab(4, "own.trace.tar.gz")
	p.until(`document.querySelector('#picture').offsetWidth > 0`)

	for name, data := range map[string][]byte{
		"notes.txt": []byte("no trace at all"), "empty": {}, "packed.zst": {0x28, 0xb5, 0x2f, 0xfd, 0}, "cut.gz": {0x1f, 0x8b, 8},
		"<img src=x onerror=window.attacked=1>.ctf": bytes.Repeat([]byte("\xc1\x1f\xfc\xc1"), 1000),
	} {
		p.drop(name, data)
		p.until(fmt.Sprintf(`document.querySelector('.toast')?.textContent.startsWith(%q)`, name))
		tab(4, "own.trace.tar.gz")
	}
	if get[bool](p, `'attacked' in window || document.querySelector('.banner') !== null`) {
		t.Error("a file that is no trace did something")
	}
	p.press("[role=tab]")
	p.fragment("from=")
	if n := pixels(p.shot("#picture"), p.styled("thread-line"), 4); n < 1000 {
		t.Errorf("the report's own trace is gone: %d pixels of thread lines", n)
	}
}

// A page that is served opens no files, and does not leave for one either.
func TestDropOnServedPage(t *testing.T) {
	p := browse(t, sample(t), look{})
	p.drop("other.ctf", []byte("whatever"))
	p.wait(100)
	if get[bool](p, `document.querySelector('#open-file') !== null || document.querySelectorAll('[role=tab]').length !== 1`) {
		t.Error("a served page opens files")
	}
}
