//go:build linux

package main

import (
	"path/filepath"
	"unsafe"

	"github.com/mirador-trace/mirador/internal/window/talk"
)

const (
	toOpen   = 0
	toSave   = 1
	accepted = -3 // GTK_RESPONSE_ACCEPT
	copying  = 2  // GDK_ACTION_COPY

	downloads = 2 // G_USER_DIRECTORY_DOWNLOAD
)

// choose asks for files and tells mirador to open them.
func (p *program) choose() {
	dialog := p.Chooser("Open traces", p.window, toOpen, 0, 0)
	defer p.Unref(dialog)
	p.Several(dialog, 1)
	if p.Choose(dialog) != accepted {
		return
	}
	list := p.Chosen(dialog)
	var paths []string
	for at := list; at != 0; at = word(at, unsafe.Sizeof(at)) { // a GSList: data, next
		paths = append(paths, p.take(word(at, 0)))
	}
	p.FreeList(list)
	p.open(paths)
}

func (p *program) open(paths []string) {
	if len(paths) > 0 {
		p.say(talk.News{Open: paths})
	}
}

// saveAs asks where to put what the page exports.
func (p *program) saveAs(download, suggested, data pointer) pointer {
	dialog := p.Chooser("Save the picture", p.window, toSave, 0, 0)
	defer p.Unref(dialog)
	p.Confirm(dialog, 1)
	p.Suggest(dialog, filepath.Base(text(suggested)))
	if dir := p.UserDir(downloads); dir != 0 {
		p.Folder(dialog, dir)
	}
	if p.Choose(dialog) == accepted {
		list := p.Chosen(dialog)
		uri := p.URIOf(p.take(word(list, 0)), 0, 0)
		p.FreeList(list)
		p.Overwrite(download, 1) // the dialog has asked
		p.SaveTo(download, uri)
		p.Free(uri)
	} else {
		p.Cancel(download)
	}
	return 1
}

// acceptFiles has files that are dropped on the page opened. WebKit would show
// them itself, instead of the page; so its own answers to these signals must
// not run, and those below run before them. Anything else that is dragged, a
// text into the search, say, is WebKit's.
func (p *program) acceptFiles() {
	list := p.Atom("text/uri-list", 0)
	hasFiles := func(view, context pointer) bool { return p.DragTarget(view, context, 0) == list }
	asked := false // whether the data that comes was asked for here
	p.on(p.view, "drag-motion", func(view, context, x, y, time, data pointer) pointer {
		if !hasFiles(view, context) {
			return 0
		}
		p.DragStatus(context, copying, uint32(time))
		return 1
	})
	p.on(p.view, "drag-drop", func(view, context, x, y, time, data pointer) pointer {
		if !hasFiles(view, context) {
			return 0
		}
		asked = true
		p.DragData(view, context, list, uint32(time))
		return 1
	})
	p.on(p.view, "drag-data-received", func(view, context, x, y, selection, info, time, data pointer) pointer {
		if !asked {
			return 0
		}
		asked = false
		p.StopSignal(view, "drag-data-received")
		uris := p.Dropped(selection)
		paths := p.paths(uris)
		p.FreeStrings(uris)
		p.DragFinish(context, 1, 0, uint32(time))
		p.open(paths)
		return 0
	})
}

// paths returns the files of a list of URIs; what lies elsewhere is left out.
func (p *program) paths(uris pointer) (paths []string) {
	if uris == 0 {
		return nil
	}
	for i := uintptr(0); ; i += unsafe.Sizeof(uris) {
		uri := word(uris, i)
		if uri == 0 {
			return paths
		}
		if path := p.PathOf(uri, 0, 0); path != 0 {
			paths = append(paths, p.take(path))
		}
	}
}
