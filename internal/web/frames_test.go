package web

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/bench/synthetic"
	"github.com/mirador-trace/mirador/internal/format"
)

// BenchmarkFrames pans and zooms a trace of MIRADOR_EVENTS events (2.6 million
// unless told otherwise), or the file MIRADOR_TRACE, in Chromium without a GPU,
// and reports the time
// between two frames of the page and between two pictures, in ms: the median
// and the 95th percentile. The first picture counts from the server's start.
//
//	go test -run '^$' -bench Frames -benchtime 1x ./internal/web
func BenchmarkFrames(b *testing.B) {
	path := benchTrace(b)
	warm := browse(b, sample(b), look{}) // the browser's own start does not count
	warm.view()
	for b.Loop() {
		began := time.Now()
		p := browse(b, serve(b, path), look{width: 1600, height: 900})
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "first-picture-ms")
		measureFrames(b, p)
	}
}

// BenchmarkReport does the same with a report of the trace, and reports how
// long it took to write, its size, how much memory the page's process ever had
// beyond that of a page with a small trace, and how long the engine took to
// start there, in all and in steps.
//
//	go test -run '^$' -bench Report -benchtime 1x ./internal/web
func BenchmarkReport(b *testing.B) {
	path := benchTrace(b)
	small := filepath.Join(b.TempDir(), "small.ctf")
	writeSample(b, small, 0)
	_, url := reportOf(b, "", small)
	browseAt(b, url, look{}) // the browser's own start does not count
	for b.Loop() {
		began := time.Now()
		p := browseAt(b, url, look{width: 1600, height: 900})
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "small-first-picture-ms")
		start := 0.0
		for step, ms := range get[map[string]float64](p, `JSON.parse(document.querySelector('#picture canvas').dataset.engineStart)`) {
			b.ReportMetric(ms, "engine-"+step+"-ms")
			start += ms
		}
		b.ReportMetric(start, "engine-start-ms")
		before := peakMemory(b)

		file, err := format.Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		r := &Report{Traces: []Packed{{filepath.Base(path), file.Pack}}}
		to := filepath.Join(b.TempDir(), "report.html")
		f, err := os.Create(to)
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		if err := r.Write(f); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "write-ms")
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil || f.Close() != nil || file.Close() != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/1e6, "MB")

		began = time.Now()
		p = browseAt(b, "file://"+to, look{width: 1600, height: 900})
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "first-picture-ms")
		measureFrames(b, p)
		b.ReportMetric(float64(peakMemory(b)-before)/1e6, "peak-MB")
	}
}

// benchTrace is the trace to measure with.
func benchTrace(b *testing.B) string {
	if path := os.Getenv("MIRADOR_TRACE"); path != "" {
		return path
	}
	events := 2_600_000
	if s := os.Getenv("MIRADOR_EVENTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.Fatal(err)
		}
		events = n
	}
	path := filepath.Join(b.TempDir(), "big.ctf")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := synthetic.Write(f, synthetic.Shape{Events: events}); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// peakMemory returns how many bytes the largest of the browser's pages has had
// at most; 0 where the system does not tell.
func peakMemory(b *testing.B) (most int64) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(line, []byte("--type=renderer")) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
		if err != nil {
			continue
		}
		_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
		var kb int64
		if _, err := fmt.Sscan(string(after), &kb); err == nil {
			most = max(most, kb<<10)
		}
	}
	return most
}

func measureFrames(b *testing.B, p *page) {
	for _, what := range []struct{ name, script string }{
		{"pan", `e => ['pointermove', 800 + 300 * Math.sin(e / 400), 400 + 40 * Math.sin(e / 700)]`},
		{"zoom", `e => ['wheel', Math.sin(e / 600) > 0 ? -40 : 40]`},
	} {
		r := get[map[string]float64](p, `(async next => {
			const picture = document.getElementById('picture'), box = picture.getBoundingClientRect(), canvas = picture.querySelector('canvas')
			picture.setPointerCapture = () => {}
			const at = (x, y) => ({ bubbles: true, cancelable: true, clientX: box.x + x, clientY: box.y + y, pointerId: 7, pointerType: 'mouse', button: 0 })
			picture.dispatchEvent(new PointerEvent('pointerdown', at(800, 400)))
			if (next(0)[0] === 'wheel') picture.dispatchEvent(new PointerEvent('pointercancel', at(800, 400)))
			const frames = [], pictures = [], took = []
			let lastFrame = 0, lastPicture = 0, shown = canvas.dataset.frame, start = performance.now()
			await new Promise(done => requestAnimationFrame(function frame(now) {
				if (lastFrame) frames.push(now - lastFrame)
				lastFrame = now
				if (canvas.dataset.frame !== shown) {
					if (lastPicture) pictures.push(now - lastPicture)
					lastPicture = now
					shown = canvas.dataset.frame
					took.push(Number(canvas.dataset.took))
				}
				const [type, a, b] = next(now - start)
				picture.dispatchEvent(type === 'wheel' ? new WheelEvent('wheel', { ...at(800, 400), deltaY: a }) : new PointerEvent(type, at(a, b)))
				if (now - start < 6000) requestAnimationFrame(frame)
				else done()
			}))
			picture.dispatchEvent(new PointerEvent('pointercancel', at(800, 400)))
			const share = (list, p) => list.sort((a, b) => a - b)[Math.floor(p * (list.length - 1))] ?? 0
			return { frame50: share(frames, 0.5), frame95: share(frames, 0.95), picture50: share(pictures, 0.5), picture95: share(pictures, 0.95), took50: share(took, 0.5), took95: share(took, 0.95), frames: frames.length, pictures: pictures.length }
		})(`+what.script+`)`)
		b.ReportMetric(r["frame50"], what.name+"-frame-p50-ms")
		b.ReportMetric(r["frame95"], what.name+"-frame-p95-ms")
		b.ReportMetric(r["picture50"], what.name+"-picture-p50-ms")
		b.ReportMetric(r["picture95"], what.name+"-picture-p95-ms")
		b.ReportMetric(r["took95"], what.name+"-answer-p95-ms")
		b.Logf("%s: %.0f frames, %.0f pictures in 6 s; a picture took %.1f ms, p95 %.1f", what.name, r["frames"], r["pictures"], r["took50"], r["took95"])
	}
	b.ReportMetric(0, "ns/op")
}
