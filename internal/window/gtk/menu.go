//go:build linux

package main

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/ebitengine/purego"
)

// GDK's modifiers, and GTK_ACCEL_VISIBLE.
const (
	shift   = 1 << 0
	control = 1 << 2
	visible = 1 << 0
)

// item puts an item into a menu.
func (p *program) item(menu, item pointer, f func()) {
	p.on(item, "activate", func(item, data pointer) pointer { f(); return 0 })
	p.Append(menu, item)
}

// submenu puts a menu into the bar.
func (p *program) submenu(title pointer) (menu pointer) {
	menu = p.Menu()
	p.Submenu(title, menu)
	p.Append(p.bar, title)
	return menu
}

// fileMenu is what a window can do and a page cannot.
func (p *program) fileMenu() {
	menu := p.submenu(p.MenuItem("_File"))
	open := p.MenuItem("_Open…")
	p.item(menu, open, p.choose)
	p.Accelerator(open, "activate", p.keys, 'o', control, visible)
	p.Append(menu, p.Separator())
	quit := p.MenuItem("_Close")
	p.item(menu, quit, p.close)
	p.Accelerator(quit, "activate", p.keys, 'q', control, visible)
	p.Accelerator(quit, "activate", p.keys, 'w', control, visible)
}

// command is one of the page's.
type command struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Group string `json:"group"`
	Keys  string `json:"keys"` // as they are told to people
}

// list is what the page answers with its commands to.
const list = `JSON.stringify(window.mirador?.commands?.() ?? [])`

// listCommands asks the page for its commands, and makes menus of them when
// they are others than before. The page itself listens to their keys, so that
// the menus only show these.
func (p *program) listCommands() {
	p.Script(p.view, list, -1, 0, 0, 0, p.listedCallback(), 0)
}

// listedCallback is made once: callbacks are never freed.
func (p *program) listedCallback() pointer {
	if p.onList == 0 {
		p.onList = purego.NewCallback(func(view, result, data pointer) pointer {
			value := p.ScriptDone(p.view, result, 0)
			if value == 0 {
				return 0 // the page is not there, or another one
			}
			listed := p.take(p.Text(value))
			p.Unref(value)
			if listed == p.listed {
				return 0
			}
			var commands []command
			if json.Unmarshal([]byte(listed), &commands) == nil {
				p.listed = listed
				p.pageMenus(commands)
			}
			return 0
		})
	}
	return p.onList
}

// pageMenus puts the page's commands into the bar, a menu for each group.
func (p *program) pageMenus(commands []command) {
	for _, m := range p.menus {
		p.Destroy(m)
	}
	p.menus, p.commands = nil, commands
	menus := make(map[string]pointer)
	for i, c := range commands {
		menu, ok := menus[c.Group]
		if !ok {
			title := p.LabelItem(c.Group)
			menu = p.submenu(title)
			menus[c.Group] = menu
			p.menus = append(p.menus, title)
		}
		item := p.LabelItem(c.Title)
		if key, modifiers := p.key(c.Keys); key != 0 {
			p.ShowKey(p.Child(item), key, modifiers)
		}
		p.Connect(item, "activate", p.runCallback(), pointer(i), 0, 0)
		p.Append(menu, item)
	}
	p.ShowAll(p.bar)
}

// runCallback has the page run the command of a number.
func (p *program) runCallback() pointer {
	if p.onRun == 0 {
		p.onRun = purego.NewCallback(func(item, number pointer) pointer {
			if number < pointer(len(p.commands)) {
				id, _ := json.Marshal(p.commands[number].ID) // a string has a form in JSON
				p.Script(p.view, "mirador.run("+string(id)+")", -1, 0, 0, 0, 0, 0)
			}
			return 0
		})
	}
	return p.onRun
}

// keyNames are GDK's for what the page calls otherwise.
var keyNames = map[string]string{
	"Space": "space", "Esc": "Escape", "Enter": "Return", "PgUp": "Page_Up", "PgDn": "Page_Down",
	"↑": "Up", "↓": "Down", "←": "Left", "→": "Right",
}

// key reads keys as the page tells them, "Shift S"; 0 is none.
func (p *program) key(told string) (key, modifiers uint32) {
	for word := range strings.FieldsSeq(told) {
		switch word {
		case "Ctrl":
			modifiers |= control
		case "Shift":
			modifiers |= shift
		default:
			name, ok := keyNames[word]
			if r, n := utf8.DecodeRuneInString(word); !ok && n == len(word) {
				key = p.KeyOf(uint32(r))
			} else if ok {
				key = p.KeyNamed(name)
			} else {
				key = p.KeyNamed(word)
			}
		}
	}
	return key, modifiers
}
