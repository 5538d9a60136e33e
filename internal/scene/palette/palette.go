// Package palette gives colours to the styles of package scene, for all that
// paints: the page, SVG and PNG.
//
// There is one type: a [Palette] is a colour for each style. [Light] and
// [Dark] are made of the colours of Okabe and Ito ("Color Universal Design",
// 2008), which people tell apart whatever colours they see; the dark ones are
// lighter by as much as it takes.
package palette

import (
	"encoding/json"
	"fmt"
	"image/color"
	"strings"

	"github.com/mirador-trace/mirador/internal/scene"
)

// Palette is a colour for each style. A colour may let shine through what is
// below it, beyond what an operation asks for.
type Palette [scene.NumStyles]color.NRGBA

// ByName returns the palette "light" or "dark".
func ByName(name string) (Palette, bool) {
	switch name {
	case "light":
		return Light, true
	case "dark":
		return Dark, true
	}
	return Palette{}, false
}

// Light is for light surroundings and for paper.
var Light = Palette{
	scene.Background:      rgb(0xFCFCFD),
	scene.Idle:            rgb(0xEDEFF3),
	scene.GC:              rgb(0xF6E0EC),
	scene.BandCaption:     rgb(0x5F6774),
	scene.Grid:            rgba(0x9AA5B1, 0x48),
	scene.GridCaption:     rgb(0x5B6472),
	scene.Axis:            rgb(0x9AA1AB),
	scene.AxisCaption:     rgb(0x4B5563),
	scene.Highlight:       rgba(0xF0E442, 0xA0),
	scene.Selection:       rgba(0x56B4E9, 0x80),
	scene.SearchHit:       rgba(0xE69F00, 0x80),
	scene.ThreadLine:      rgb(0x8A929E),
	scene.Merged:          rgb(0xAFB6C0),
	scene.Creation:        rgb(0xBFC5CE),
	scene.BecomesLine:     rgb(0x8A929E),
	scene.NeverResolved:   rgb(0x4B5563),
	scene.Running:         rgb(0x1B2430),
	scene.TryReadArrow:    rgb(0x2F93CF),
	scene.ReadArrow:       rgb(0x0072B2),
	scene.ReadFailedArrow: rgb(0xD55E00),
	scene.ResolveArrow:    rgb(0x009E73),
	scene.SignalArrow:     rgb(0xD98E00),
	scene.FailedLine:      rgb(0xD5440A),
	scene.LabelPlate:      rgba(0xFCFCFD, 0x98),
	scene.LabelTick:       rgb(0x6B7280),
	scene.ThreadLabel:     rgb(0x111827),
	scene.TypeLabel:       rgb(0x737C8A),
	scene.FailureLabel:    rgb(0xB23600),
	scene.CounterShadow:   rgba(0xFFFFFF, 0xD8),
	scene.Counter0:        rgb(0xB4508A),
	scene.Counter1:        rgb(0x0072B2),
	scene.Counter2:        rgb(0xB07800),
	scene.Counter3:        rgb(0x00835F),
	scene.Counter4:        rgb(0x2586BC),
	scene.Counter5:        rgb(0xC05400),
	scene.Counter6:        rgb(0x6A51A3),
	scene.Counter7:        rgb(0x7A6420),
	scene.Mark:            rgb(0x6A51A3),
	scene.FoldLine:        rgb(0x6F7784),
	scene.ChartArea:       rgb(0xE1E5EC),
	scene.ChartLine:       rgb(0x8A929E),
	scene.ChartPart:       rgb(0xB5C6F3),
	scene.ChartPartLine:   rgb(0x2F5BD7),
	scene.ChartPeak:       rgb(0xB23600),
	scene.ChartScale:      rgb(0x4B5563),
	scene.Frame0:          rgb(0xC3D8EE),
	scene.Frame1:          rgb(0xF3D9B1),
	scene.Frame2:          rgb(0xCBE2CF),
	scene.Frame3:          rgb(0xE3CFE6),
	scene.Frame4:          rgb(0xF0CFC4),
	scene.Frame5:          rgb(0xE4DFB6),
	scene.FrameRest:       rgb(0xE6E9EE),
	scene.FrameAll:        rgb(0xDADFE7),
	scene.FrameHit:        rgb(0xF0A830),
	scene.FrameGrew:       rgb(0xF0936A),
	scene.FrameShrank:     rgb(0x74B3E0),
	scene.FrameText:       rgb(0x161B24),
}

// Dark is for dark surroundings.
var Dark = Palette{
	scene.Background:      rgb(0x14171C),
	scene.Idle:            rgb(0x1E232B),
	scene.GC:              rgb(0x3A2231),
	scene.BandCaption:     rgb(0x929BA9),
	scene.Grid:            rgba(0x8FA0B5, 0x2C),
	scene.GridCaption:     rgb(0x9AA3B0),
	scene.Axis:            rgb(0x59616E),
	scene.AxisCaption:     rgb(0xAEB6C2),
	scene.Highlight:       rgba(0xF0E442, 0x60),
	scene.Selection:       rgba(0x56B4E9, 0x70),
	scene.SearchHit:       rgba(0xE69F00, 0x90),
	scene.ThreadLine:      rgb(0x727C8B),
	scene.Merged:          rgb(0x525B68),
	scene.Creation:        rgb(0x464E5A),
	scene.BecomesLine:     rgb(0x727C8B),
	scene.NeverResolved:   rgb(0xC0C7D2),
	scene.Running:         rgb(0xF2F5F9),
	scene.TryReadArrow:    rgb(0x86C9F2),
	scene.ReadArrow:       rgb(0x4BA6E3),
	scene.ReadFailedArrow: rgb(0xFF7A33),
	scene.ResolveArrow:    rgb(0x22B98D),
	scene.SignalArrow:     rgb(0xF0B040),
	scene.FailedLine:      rgb(0xFF6B2C),
	scene.LabelPlate:      rgba(0x14171C, 0xB8),
	scene.LabelTick:       rgb(0x98A1AF),
	scene.ThreadLabel:     rgb(0xE9EDF2),
	scene.TypeLabel:       rgb(0x8E97A5),
	scene.FailureLabel:    rgb(0xFF9A66),
	scene.CounterShadow:   rgba(0x14171C, 0xD8),
	scene.Counter0:        rgb(0xE39AC6),
	scene.Counter1:        rgb(0x5AAEE6),
	scene.Counter2:        rgb(0xE8B03C),
	scene.Counter3:        rgb(0x3CC79B),
	scene.Counter4:        rgb(0x8FD3F5),
	scene.Counter5:        rgb(0xFF9450),
	scene.Counter6:        rgb(0xB5A3E8),
	scene.Counter7:        rgb(0xD0B870),
	scene.Mark:            rgb(0xB5A3E8),
	scene.FoldLine:        rgb(0x8E97A5),
	scene.ChartArea:       rgb(0x282E37),
	scene.ChartLine:       rgb(0x727C8B),
	scene.ChartPart:       rgb(0x2C4275),
	scene.ChartPartLine:   rgb(0x7AA2FF),
	scene.ChartPeak:       rgb(0xFF9A66),
	scene.ChartScale:      rgb(0xAEB6C2),
	scene.Frame0:          rgb(0x2C4A68),
	scene.Frame1:          rgb(0x5E4722),
	scene.Frame2:          rgb(0x2C5138),
	scene.Frame3:          rgb(0x513C5E),
	scene.Frame4:          rgb(0x643C33),
	scene.Frame5:          rgb(0x4F4B24),
	scene.FrameRest:       rgb(0x2A3039),
	scene.FrameAll:        rgb(0x353C47),
	scene.FrameHit:        rgb(0x8F5D00),
	scene.FrameGrew:       rgb(0x96421B),
	scene.FrameShrank:     rgb(0x1F6090),
	scene.FrameText:       rgb(0xF1F4F8),
}

func rgb(c uint32) color.NRGBA { return rgba(c, 0xff) }

func rgba(c uint32, alpha uint8) color.NRGBA {
	return color.NRGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), alpha}
}

// Hex returns a colour as CSS writes it: "#0072b2", "#f0e442a0".
func Hex(c color.NRGBA) string {
	s := fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	if c.A != 0xff {
		s += fmt.Sprintf("%02x", c.A)
	}
	return s
}

// CSS returns the palette as CSS variables, a line each:
// "--thread-line: #8a929e;".
func (p Palette) CSS() string {
	var b strings.Builder
	for s, spec := range scene.Styles {
		fmt.Fprintf(&b, "--%s: %s;\n", spec.Name, Hex(p[s]))
	}
	return b.String()
}

// Style is all that a painter has to know of a style.
type Style struct {
	Name  string    `json:"name"`
	Color string    `json:"color"` // as CSS writes it
	Width float64   `json:"width"` // of lines, in px; 0 for none
	Dash  []float64 `json:"dash"`  // dashes and gaps by turns, in px; empty for whole lines
	Font  float64   `json:"font"`  // size of text, in px; 0 for none
}

// MarshalJSON returns the palette as an array that has, for each style by
// number, its [Style].
func (p Palette) MarshalJSON() ([]byte, error) {
	styles := make([]Style, len(p))
	for i, spec := range scene.Styles {
		styles[i] = Style{spec.Name, Hex(p[i]), spec.Width, append([]float64{}, spec.Dash...), spec.Font}
	}
	return json.Marshal(styles)
}
