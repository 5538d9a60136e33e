package heap

import (
	"bufio"
	_ "embed"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"strconv"
)

//go:embed flame.js
var flameScript string

//go:embed flame.css
var flameStyle string

// The geometry of a flame graph, in pixels. flame.js knows the first two too.
const (
	flameWidth  = 1200
	flameMargin = 10
	flameTop    = 46
	flameRow    = 17
	flameLeast  = 1.0 / 5000 // of the whole: what is narrower is left out
)

// WriteSVG writes the profile as a flame graph, the outermost functions at the
// top: a picture of its own, with a script to search and to zoom. It draws
// what has at least 1/5000 of the whole and returns how many nodes it left
// out.
func (p *Profile) WriteSVG(w io.Writer, title string) (left int, err error) {
	b := bufio.NewWriterSize(w, 1<<16)
	left = p.draw(b, title, true)
	return left, b.Flush()
}

// WriteHTML writes the flame graph of [Profile.WriteSVG] as a page.
func (p *Profile) WriteHTML(w io.Writer, title string) (left int, err error) {
	b := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>%s</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<style>body { margin: 1em; font: 14px system-ui, sans-serif; background: #fbfaf7; color: #1b1b1f; } svg { max-width: 100%%; height: auto; }</style>
</head><body>
<p><label>Search <input id="search" type="search" placeholder="a regular expression" autocomplete="off"></label>
<button id="reset" type="button">Whole graph</button> <span id="status" role="status"></span></p>
`, html.EscapeString(title))
	left = p.draw(b, title, false)
	fmt.Fprintf(b, "\n<script>\n%s</script>\n</body></html>\n", flameScript)
	return left, b.Flush()
}

// draw writes the graph; alone says that nothing is around it.
func (p *Profile) draw(b *bufio.Writer, title string, alone bool) (left int) {
	s := p.Stacks
	sum := s.totals(s.own(p.Samples))
	list, first := s.ordered()
	least := max(1, int64(float64(sum[0])*flameLeast))
	depth := p.depth(sum, least)
	height := flameTop + (depth+1)*flameRow + flameMargin
	fmt.Fprintf(b, `<svg id="flame" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">`+"\n", flameWidth, height, flameWidth, height)
	fmt.Fprintf(b, "<title>%s</title>\n<style>\n%s</style>\n", html.EscapeString(title), flameStyle)
	fmt.Fprintf(b, `<rect class="ground" width="%d" height="%d"/>`+"\n", flameWidth, height)
	fmt.Fprintf(b, `<text class="title" x="%d" y="18">%s</text>`+"\n", flameMargin, html.EscapeString(title))
	if alone {
		fmt.Fprintf(b, `<text class="button" id="ask" x="%d" y="38">Search</text>`+"\n", flameMargin)
		fmt.Fprintf(b, `<text class="button" id="reset" x="%d" y="38">Whole graph</text>`+"\n", flameMargin+60)
		fmt.Fprintf(b, `<text id="status" x="%d" y="38"></text>`+"\n", flameMargin+160)
	}
	type box struct {
		node  Node
		x     int64
		depth int
	}
	boxes := []box{{0, 0, 0}}
	for len(boxes) > 0 {
		at := boxes[len(boxes)-1]
		boxes = boxes[:len(boxes)-1]
		p.box(b, at.node, at.x, sum, at.depth)
		x := at.x
		for _, c := range list[first[at.node]:first[at.node+1]] {
			if sum[c] >= least {
				boxes = append(boxes, box{c, x, at.depth + 1})
			} else if sum[c] > 0 {
				left++
			}
			x += sum[c]
		}
	}
	if alone {
		fmt.Fprintf(b, "<script><![CDATA[\n%s]]></script>\n", flameScript)
	}
	b.WriteString("</svg>\n")
	return left
}

// depth returns how deep the nodes are that are drawn.
func (p *Profile) depth(sum []int64, least int64) (deepest int) {
	depth := make([]int32, len(sum))
	for n := 1; n < len(sum); n++ {
		depth[n] = depth[p.Stacks.nodes[n].parent] + 1
		if sum[n] >= least {
			deepest = max(deepest, int(depth[n]))
		}
	}
	return deepest
}

// box draws a node, whose left end is x samples from the graph's.
func (p *Profile) box(b *bufio.Writer, n Node, x int64, sum []int64, depth int) {
	name, whole := "all", float64(max(1, sum[0]))
	if n != 0 {
		name = p.Stacks.Func(n)
	}
	from, share := float64(x)/whole, float64(sum[n])/whole
	if n == 0 {
		share = 1
	}
	inner := float64(flameWidth - 2*flameMargin)
	y := flameTop + depth*flameRow
	label := html.EscapeString(xmlText(name))
	amount := FormatBytes(p.Bytes(sum[n]))
	if p.Unit == 0 {
		amount = strconv.FormatInt(sum[n], 10) + " samples"
	}
	fmt.Fprintf(b, `<g class="f" tabindex="0" data-x="%.9g" data-w="%.9g" data-d="%d" data-n="%s"><title>%s: %s, %.2f %%</title>`,
		from, share, depth, label, label, amount, 100*share)
	fmt.Fprintf(b, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>`,
		flameMargin+from*inner, y, max(0.3, share*inner-0.5), flameRow-1, hue(name))
	short := []rune(name)
	if room := int((share*inner - 6) / 6.6); room < 3 {
		short = nil
	} else if len(short) > room {
		short = append(short[:room-1:room-1], '…')
	}
	fmt.Fprintf(b, `<text x="%.2f" y="%d">%s</text></g>`+"\n", flameMargin+from*inner+3, y+12, html.EscapeString(xmlText(string(short))))
}

// xmlText replaces what no XML text may have.
func xmlText(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r < 0x20 || r == 0xfffe || r == 0xffff {
			r = 0xfffd
		}
		out = append(out, r)
	}
	return string(out)
}

// hue returns a warm colour for a function, always the same.
func hue(name string) string {
	h := fnv.New32a()
	io.WriteString(h, name)
	v := h.Sum32()
	return fmt.Sprintf("hsl(%d,%d%%,%d%%)", 20+v%40, 70+v>>8%20, 66+v>>16%12)
}

// FormatBytes writes a number of bytes with the unit that suits it: 1.9 GiB.
func FormatBytes(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	unit := 0
	for ; v >= 1023.95 && unit < 6; unit++ {
		v /= 1024
	}
	if unit == 0 {
		return fmt.Sprintf("%s%.0f B", sign, v)
	}
	return fmt.Sprintf("%s%.1f %ciB", sign, v, "KMGTPE"[unit-1])
}
