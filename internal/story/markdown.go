package story

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Parse reads a story; name is the file's, for errors, which are [*Error]s.
func Parse(name string, source []byte) (*Draft, error) {
	p := &parser{source: source, story: &Draft{told: Story{Steps: []Step{}, Intro: []Node{}}, name: name}}
	if len(source) > MaxSize {
		return nil, p.errorf(0, "%d bytes: at most %d", len(source), MaxSize)
	}
	if !utf8.Valid(source) {
		at := 0
		for r, n := utf8.DecodeRune(source); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(source[at:]) {
			at += n
		}
		return nil, p.errorf(at, "not UTF-8")
	}
	root := goldmark.DefaultParser().Parse(text.NewReader(source))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if err := p.block(n); err != nil {
			return nil, err
		}
	}
	if told := &p.story.told; len(told.Steps) == 0 && len(told.Intro) == 0 {
		return nil, p.errorf(0, "there is nothing in it")
	}
	return p.story, nil
}

// parser makes a story of the blocks of a document.
type parser struct {
	source []byte
	story  *Draft
	at     int // where the newest block began
}

func (p *parser) errorf(at int, format string, args ...any) error {
	return &Error{p.story.name, p.line(at), fmt.Errorf(format, args...)}
}

// line returns in which line an offset lies, from 1 on.
func (p *parser) line(at int) int {
	return 1 + bytes.Count(p.source[:min(at, len(p.source))], []byte{'\n'})
}

// step returns the step that is being read, or nil in the introduction.
func (p *parser) step() *Step {
	steps := p.story.told.Steps
	if len(steps) == 0 {
		return nil
	}
	return &steps[len(steps)-1]
}

// block takes in a block of the document's first level.
func (p *parser) block(n ast.Node) error {
	p.enter(n)
	s := &p.story.told
	if h, ok := n.(*ast.Heading); ok && h.Level <= 2 {
		title := strings.TrimSpace(p.plain(n, 0))
		switch {
		case h.Level == 1 && s.Title == "" && len(s.Steps) == 0:
			s.Title = title
		case h.Level == 1:
			return p.errorf(p.at, "a second title; steps begin with ##")
		case title == "":
			return p.errorf(p.at, "a step without a title")
		default:
			s.Steps = append(s.Steps, Step{Title: title, Body: []Node{}})
		}
		return nil
	}
	if f, ok := n.(*ast.FencedCodeBlock); ok && string(f.Language(p.source)) == "view" {
		return p.viewBlock(f)
	}
	nodes, err := p.node(n, 0)
	if err != nil {
		return err
	}
	if step := p.step(); step != nil {
		step.Body = append(step.Body, nodes...)
	} else {
		s.Intro = append(s.Intro, nodes...)
	}
	return nil
}

// viewBlock reads a step's view.
func (p *parser) viewBlock(f *ast.FencedCodeBlock) error {
	step := p.step()
	if step == nil {
		return p.errorf(p.at, "a view before the first step, which begins with ##")
	}
	v := &view{line: p.line(p.at), step: len(p.story.told.Steps) - 1, whole: true}
	for i := range f.Lines().Len() {
		segment := f.Lines().At(i)
		line := strings.TrimSpace(string(segment.Value(p.source)))
		if line == "" {
			continue
		}
		if fragment, ok := linked(line); ok {
			if err := v.fragment(fragment); err != nil {
				return p.errorf(segment.Start, "%v", err)
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return p.errorf(segment.Start, "%q is not a part of a view: write it as from: 12ms", line)
		}
		if err := v.add(strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return p.errorf(segment.Start, "%v", err)
		}
	}
	for _, other := range p.story.views {
		if other.whole && other.step == v.step {
			return p.errorf(p.at, "a second view of one step")
		}
	}
	p.story.views = append(p.story.views, v)
	return nil
}

// linked returns the fragment of a line that is a link.
func linked(line string) (string, bool) {
	before, after, ok := strings.Cut(line, "#")
	if !ok || before != "" && !strings.Contains(before, "://") {
		return "", false
	}
	return after, !strings.ContainsAny(before, " \t")
}

// node makes nodes of a part of the document; of some parts there are none.
func (p *parser) node(n ast.Node, depth int) ([]Node, error) {
	if depth > maxDepth {
		return nil, p.errorf(p.at, "more than %d things in each other", maxDepth)
	}
	p.enter(n)
	kind := ""
	switch n := n.(type) {
	case *ast.Text:
		nodes := []Node{{Kind: "text", Text: unescaped(n.Segment.Value(p.source))}}
		switch {
		case n.HardLineBreak():
			nodes = append(nodes, Node{Kind: "br"})
		case n.SoftLineBreak():
			nodes[0].Text += " "
		}
		return nodes, nil
	case *ast.String:
		return []Node{{Kind: "text", Text: string(n.Value)}}, nil
	case *ast.CodeSpan:
		return []Node{{Kind: "code", Text: p.plain(n, depth)}}, nil
	case *ast.RawHTML:
		return []Node{{Kind: "text", Text: string(n.Segments.Value(p.source))}}, nil
	case *ast.HTMLBlock:
		raw := string(n.Lines().Value(p.source))
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(p.source))
		}
		return []Node{{Kind: "pre", Text: raw}}, nil
	case *ast.FencedCodeBlock:
		return []Node{{Kind: "pre", Text: string(n.Lines().Value(p.source))}}, nil
	case *ast.CodeBlock:
		return []Node{{Kind: "pre", Text: string(n.Lines().Value(p.source))}}, nil
	case *ast.ThematicBreak:
		return []Node{{Kind: "hr"}}, nil
	case *ast.Image:
		return []Node{{Kind: "text", Text: p.plain(n, depth)}}, nil
	case *ast.AutoLink:
		label := string(n.Label(p.source))
		return p.link(string(n.URL(p.source)), []Node{{Kind: "text", Text: label}})
	case *ast.Link:
		children, err := p.children(n, depth)
		if err != nil {
			return nil, err
		}
		return p.link(string(n.Destination), children)
	case *ast.LinkReferenceDefinition:
		return nil, nil
	case *ast.TextBlock:
		return p.children(n, depth)
	case *ast.Paragraph:
		kind = "p"
	case *ast.Heading:
		kind = "h3"
	case *ast.Blockquote:
		kind = "blockquote"
	case *ast.ListItem:
		kind = "li"
	case *ast.List:
		kind = "ul"
		if n.IsOrdered() {
			kind = "ol"
		}
	case *ast.Emphasis:
		kind = "em"
		if n.Level > 1 {
			kind = "strong"
		}
	default:
		return p.children(n, depth)
	}
	children, err := p.children(n, depth)
	return []Node{{Kind: kind, Children: children}}, err
}

// enter notes where a block begins.
func (p *parser) enter(n ast.Node) {
	switch {
	case n.Type() != ast.TypeBlock:
	case n.Lines().Len() > 0:
		p.at = n.Lines().At(0).Start
	case n.Pos() > p.at:
		p.at = n.Pos()
	}
}

// unescaped is a text without the escapes that Markdown has.
func unescaped(b []byte) string {
	return string(util.ResolveNumericReferences(util.ResolveEntityNames(util.UnescapePunctuations(b))))
}

func (p *parser) children(n ast.Node, depth int) ([]Node, error) {
	var all []Node
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		nodes, err := p.node(c, depth+1)
		if err != nil {
			return nil, err
		}
		for _, one := range nodes {
			if last := len(all) - 1; one.Kind == "text" && last >= 0 && all[last].Kind == "text" {
				all[last].Text += one.Text
				continue
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// link makes a link to a view or to elsewhere; what leads anywhere else is
// text only.
func (p *parser) link(to string, children []Node) ([]Node, error) {
	if fragment, ok := strings.CutPrefix(to, "#"); ok {
		v := &view{line: p.line(p.at), step: len(p.story.told.Steps) - 1}
		if err := v.fragment(fragment); err != nil {
			return nil, p.errorf(p.at, "%v", err)
		}
		p.story.views = append(p.story.views, v) // by its number the node finds it when it is located
		return []Node{{Kind: "view", Text: fmt.Sprint(len(p.story.views) - 1), Children: children}}, nil
	}
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "mailto" {
		return children, nil
	}
	return []Node{{Kind: "a", Text: u.String(), Children: children}}, nil
}

// plain returns the text of a part of the document.
func (p *parser) plain(n ast.Node, depth int) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil && depth <= maxDepth; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := c.Segment.Value(p.source)
			if n.Kind() == ast.KindCodeSpan {
				b.Write(bytes.ReplaceAll(value, []byte("\n"), []byte(" ")))
				continue
			}
			b.WriteString(unescaped(value))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.RawHTML:
			b.Write(c.Segments.Value(p.source))
		case *ast.AutoLink:
			b.Write(c.Label(p.source))
		default:
			b.WriteString(p.plain(c, depth+1))
		}
	}
	return b.String()
}
