package palette

import (
	"encoding/json"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/scene"
)

var palettes = map[string]Palette{"light": Light, "dark": Dark}

// luminance is a colour's relative luminance, as WCAG 2 defines it.
func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func contrast(a, b color.NRGBA) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// Text can be read on whatever it stands on: a contrast of 4.5, as WCAG asks
// for, and of 3 for the types, which are told elsewhere, too. Lines have 3
// but for those that are meant to recede.
func TestContrast(t *testing.T) {
	faint := map[scene.Style]bool{
		scene.Grid: true, scene.Creation: true, scene.Merged: true, scene.Axis: true, scene.CounterShadow: true,
		scene.Highlight: true, scene.Selection: true, scene.SearchHit: true, scene.SignalArrow: true,
	}
	for name, p := range palettes {
		for s, spec := range scene.Styles {
			style, least := scene.Style(s), 0.0
			switch {
			case style == scene.TypeLabel:
				least = 3
			case spec.Font > 0 && spec.Width == 0:
				least = 4.5
			case spec.Width > 0 && !faint[style]:
				least = 3
			}
			for _, ground := range []scene.Style{scene.Background, scene.Idle} {
				if ground == scene.Idle && style != scene.ThreadLabel && style != scene.BandCaption {
					continue
				}
				if got := contrast(p[style], p[ground]); got < least {
					t.Errorf("%s: %v on %v has a contrast of %.2f, less than %v", name, style, ground, got, least)
				}
			}
		}
	}
}

// What stands in the boxes of flame graphs can be read on all of them.
func TestFramesContrast(t *testing.T) {
	for name, p := range palettes {
		for s := scene.Frame0; s < scene.FrameText; s++ {
			if got := contrast(p[scene.FrameText], p[s]); got < 4.5 {
				t.Errorf("%s: text on %v has a contrast of %.2f", name, s, got)
			}
		}
	}
}

// Every style has a colour, and arrows of different kinds differ in colour.
func TestColors(t *testing.T) {
	for name, p := range palettes {
		seen := make(map[color.NRGBA]scene.Style)
		for s := range scene.NumStyles {
			if p[s].A == 0 {
				t.Errorf("%s: %v has no colour", name, s)
			}
			if s >= scene.TryReadArrow && s <= scene.SignalArrow {
				if other, ok := seen[p[s]]; ok {
					t.Errorf("%s: %v has the colour of %v", name, s, other)
				}
				seen[p[s]] = s
			}
		}
		if got, ok := ByName(name); !ok || got != p {
			t.Errorf("no palette %q", name)
		}
	}
	if _, ok := ByName("pink"); ok {
		t.Error("a palette that there is not")
	}
}

func TestForms(t *testing.T) {
	css := Light.CSS()
	for _, line := range []string{"--read-arrow: #0072b2;\n", "--highlight: #f0e442a0;\n"} {
		if !strings.Contains(css, line) {
			t.Errorf("CSS lacks %q", line)
		}
	}
	b, err := json.Marshal(Light)
	if err != nil {
		t.Fatal(err)
	}
	var styles []Style
	if err := json.Unmarshal(b, &styles); err != nil || len(styles) != int(scene.NumStyles) {
		t.Fatalf("%v: %s", err, b)
	}
	if s := styles[scene.SignalArrow]; s.Name != "signal-arrow" || s.Color != Hex(Light[scene.SignalArrow]) || len(s.Dash) != 4 || s.Width != 1 {
		t.Errorf("%+v", s)
	}
	if s := styles[scene.Grid]; s.Dash == nil {
		t.Error("no dashes are null, not an empty array")
	}
}
