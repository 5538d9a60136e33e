package top

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mirador-trace/mirador/internal/heap"
	"github.com/mirador-trace/mirador/internal/thread"
)

// Screen is what Show shows. The zero value, with a Load, is good.
type Screen struct {
	Name  string                        // of what is shown
	Load  func() (*thread.Model, error) // gives the trace as it is now
	Every time.Duration                 // between loads; 0 is a second
	Plain bool                          // no colours
}

// Show shows the table until the user quits or ctx ends. It takes over the
// terminal that in and out are. The error is that of the first load, or the
// terminal's.
func (s *Screen) Show(ctx context.Context, in io.Reader, out io.Writer) error {
	if s.Every == 0 {
		s.Every = time.Second
	}
	m := &state{Screen: s, sort: BySince}
	if err := m.load(); err != nil {
		return err
	}
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out)).Run()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// state is the screen's: what is shown, and how.
type state struct {
	*Screen
	model    *thread.Model
	table    *Table
	failed   error // of the last load
	width    int
	height   int
	sort     Column
	inverted bool
	chosen   bool  // whether a thread was selected, and not only the first row
	selected int64 // the selected thread's number
	cursor   int   // its row
	first    int   // the first row on the screen
	paused   bool
	help     bool
	detail   bool
	g        bool // whether the last key was g
}

type loaded struct {
	model *thread.Model
	err   error
}

// Init starts the clock.
func (m *state) Init() tea.Cmd { return m.later() }

func (m *state) later() tea.Cmd {
	return tea.Tick(m.Every, func(time.Time) tea.Msg {
		model, err := m.Load()
		return loaded{model, err}
	})
}

func (m *state) load() error {
	model, err := m.Load()
	if err == nil {
		m.show(model)
	}
	return err
}

func (m *state) show(model *thread.Model) {
	m.model, m.table = model, NewTable(model)
	m.arrange()
}

// arrange sorts the table and finds the selected thread in it again.
func (m *state) arrange() {
	m.table.Sort(m.sort, m.inverted)
	for i := range m.table.Rows {
		if m.chosen && m.table.Rows[i].TID == m.selected {
			m.cursor = i
		}
	}
	m.see()
}

// move selects another thread.
func (m *state) move(by int) {
	m.chosen = true
	m.cursor = min(max(m.cursor+by, 0), max(len(m.table.Rows)-1, 0))
	m.see()
}

// see brings the selected row onto the screen, and as many others as fit.
func (m *state) see() {
	if m.cursor = min(m.cursor, max(len(m.table.Rows)-1, 0)); m.cursor < len(m.table.Rows) {
		m.selected = m.table.Rows[m.cursor].TID
	}
	m.first = min(m.first, m.cursor, max(len(m.table.Rows)-m.visible(), 0))
	m.first = max(m.first, m.cursor-m.visible()+1)
}

// visible is how many rows fit on the screen.
func (m *state) visible() int { return max(m.height-6, 1) }

// Update obeys a key, a new size or a new trace.
func (m *state) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.see()
	case loaded:
		if m.failed = msg.err; msg.err == nil && !m.paused {
			m.show(msg.model)
		}
		return m, m.later()
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	}
	return m, nil
}

// The keys are those of tokio-console.
func (m *state) key(key string) tea.Cmd {
	g := m.g
	m.g = key == "g" && !g
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "?":
		m.help = !m.help
	case "esc":
		m.help, m.detail = false, false
	case "enter":
		m.detail, m.chosen = !m.detail, true
	case "space":
		m.paused = !m.paused
	case "left", "h":
		m.sortBy(m.sort + NumColumns - 1)
	case "right", "l":
		m.sortBy(m.sort + 1)
	case "i":
		m.inverted = !m.inverted
		m.arrange()
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup", "ctrl+u":
		m.move(-m.visible())
	case "pgdown", "ctrl+d":
		m.move(m.visible())
	case "home":
		m.move(-len(m.table.Rows))
	case "g":
		if g {
			m.move(-len(m.table.Rows))
		}
	case "G", "end":
		m.move(len(m.table.Rows))
	}
	return nil
}

func (m *state) sortBy(c Column) {
	m.sort = c % NumColumns
	m.arrange()
}

// View draws the screen.
func (m *state) View() tea.View {
	var lines []string
	switch {
	case m.width == 0:
	case m.help:
		lines = append(m.header(), strings.Split(keys, "\n")...)
	case m.detail && m.cursor < len(m.table.Rows):
		lines = append(m.header(), m.details()...)
	default:
		lines = append(m.header(), m.rows()...)
	}
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], m.width, "…")
	}
	if len(lines) > m.height-1 && m.height > 1 {
		lines = lines[:m.height-1]
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines, m.footer())
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "mirador top"
	return v
}

const keys = `
  ← h  → l      sort by the column to the left, to the right
  i             turn the order round
  ↑ k  ↓ j      go up, down;  gg  G  to the first, to the last
  PgUp PgDn     a page
  Enter  Esc    what is known of the thread; back
  Space         stop, go on
  ?             these keys
  q             quit`

// The styles, as terminals know them. Bold and reverse also work without colours.
const (
	bold    = "1"
	faint   = "2"
	reverse = "7"
	red     = "31;1"
	green   = "32"
	yellow  = "33"
)

func (m *state) paint(style, text string) string {
	if m.Plain && style != bold && style != reverse {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (m *state) header() []string {
	t := m.table
	live := m.paint(green, "● live")
	switch {
	case m.failed != nil:
		live = m.paint(red, "! "+m.failed.Error())
	case m.paused:
		live = m.paint(yellow, "‖ paused")
	}
	var gauges []string
	for _, g := range t.Latest {
		value := strconv.FormatFloat(g.Value, 'f', -1, 64)
		if g.Bytes {
			value = heap.FormatBytes(g.Value)
		}
		gauges = append(gauges, clean(g.Name)+" "+value)
	}
	return []string{
		m.paint(bold, "mirador top") + "  " + clean(m.Name) + "  " + live,
		fmt.Sprintf("threads: %d run, %d wait, %d idle, %d ended   GC: %d, %.1f %%   trace: %s",
			t.States[Running], t.States[Waiting], t.States[Idle], t.Ended, t.GC, 100*t.GCShare, duration(t.Length)),
		m.paint(faint, strings.Join(gauges, "  ")),
	}
}

func (m *state) footer() string {
	at := 0
	if len(m.table.Rows) > 0 {
		at = m.cursor + 1
	}
	left := "? keys  ←→ sort  i invert  Enter details  Space pause  q quit"
	return m.paint(faint, ansi.Truncate(fmt.Sprintf("%s   %d of %d", left, at, len(m.table.Rows)), max(m.width, 1), "…"))
}

// widths are the columns', in cells; the label takes what is left.
var widths = [NumColumns]int{ByThread: 10, ByTitle: 0, ByState: 6, BySince: 9, ByBusy: 6, ByRan: 9, ByWoken: 7, ByOn: 20}

func (m *state) rows() []string {
	heads := make([]string, NumColumns)
	for c, name := range Columns {
		if Column(c) == m.sort {
			arrow := "▾"
			if m.inverted {
				arrow = "▴"
			}
			name += arrow
		}
		heads[c] = name
	}
	lines := []string{m.paint(bold, m.line(heads))}
	for i := m.first; i < min(m.first+m.visible(), len(m.table.Rows)); i++ {
		r := &m.table.Rows[i]
		line := m.line([]string{strconv.FormatInt(r.TID, 10), clean(r.Title), r.State.String(), duration(r.Since),
			fmt.Sprintf("%.0f %%", 100*r.Busy()), duration(r.Ran), strconv.Itoa(r.Woken), clean(r.On)})
		switch {
		case i == m.cursor:
			line = m.paint(reverse, line)
		case r.State == Running:
			line = m.paint(green, line)
		case r.State == Waiting && r.Since > 1:
			line = m.paint(yellow, line)
		}
		lines = append(lines, line)
	}
	return lines
}

func (m *state) line(cells []string) string {
	label := m.width - int(NumColumns) + 1
	for _, w := range widths {
		label -= w
	}
	var b strings.Builder
	for c, cell := range cells {
		w := widths[c]
		if Column(c) == ByTitle {
			w = max(label, 8)
		}
		cell = ansi.Truncate(cell, w, "…")
		pad := strings.Repeat(" ", w-ansi.StringWidth(cell))
		switch Column(c) {
		case ByTitle, ByState, ByOn:
			b.WriteString(cell + pad)
		default:
			b.WriteString(pad + cell)
		}
		b.WriteByte(' ')
	}
	return strings.TrimSuffix(b.String(), " ")
}

// details says all that is known of the selected thread.
func (m *state) details() []string {
	r := &m.table.Rows[m.cursor]
	th := &m.model.Threads[r.ID]
	created := duration(r.Age) + " ago"
	switch {
	case th.Type == thread.Preexisting:
		created = "before the trace, which began " + created
	case th.Parent != thread.Top:
		created += " by " + clean(m.model.Title(th.Parent))
	}
	lines := []string{"",
		m.paint(bold, fmt.Sprintf("thread %d %q", r.TID, r.Title)) + "  " + r.Type,
		"",
		"  created    " + created,
		fmt.Sprintf("  state      %s for %s", r.State, duration(r.Since)),
	}
	if r.On != "" {
		lines = append(lines, "  waits for  "+clean(r.On))
	}
	lines = append(lines, fmt.Sprintf("  ran        %d times, %s, %.1f %% of its life", r.Woken, duration(r.Ran), 100*r.Busy()))
	labels := m.model.Labels(r.ID)
	if len(labels) > 0 {
		lines = append(lines, "", "  last labels")
	}
	for _, l := range labels[max(len(labels)-m.visible()/2, 0):] {
		lines = append(lines, fmt.Sprintf("  %12s ago  %s", duration(m.table.Length-l.Time), clean(m.model.Text(l.Text))))
	}
	return lines
}

// clean makes a text of a trace safe for a terminal, and one line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}

// duration writes seconds with the unit that suits them.
func duration(s float64) string {
	d := time.Duration(s * 1e9)
	switch {
	case d >= time.Hour:
		return d.Round(time.Minute).String()
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", s)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return fmt.Sprintf("%.0f µs", s*1e6)
}
