//go:build linux

package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/ebitengine/purego"
)

// pointer is an address in C's memory, which Go's collector leaves alone.
type pointer = uintptr

// library is what the window needs of C's libraries. Each field is the function
// of the name in its tag. What C calls gboolean is an int32 that is 0 or 1.
type library struct {
	SetProgram     func(string)                                                                   `c:"g_set_prgname"`
	SetApplication func(string)                                                                   `c:"g_set_application_name"`
	Connect        func(on pointer, signal string, f, data, destroy pointer, flags uint32) uint64 `c:"g_signal_connect_data"`
	StopSignal     func(on pointer, signal string)                                                `c:"g_signal_stop_emission_by_name"`
	SetEnv         func(name, value string, overwrite int32) int32                                `c:"g_setenv"`
	Screen         func() pointer                                                                 `c:"gdk_screen_get_default"`
	Composited     func(screen pointer) int32                                                     `c:"gdk_screen_is_composited"`
	Idle           func(f, data pointer) uint32                                                   `c:"g_idle_add"`
	Free           func(pointer)                                                                  `c:"g_free"`
	FreeStrings    func(pointer)                                                                  `c:"g_strfreev"`
	FreeList       func(pointer)                                                                  `c:"g_slist_free"`
	FreeError      func(pointer)                                                                  `c:"g_error_free"`
	Unref          func(pointer)                                                                  `c:"g_object_unref"`
	PathOf         func(uri, host, err pointer) pointer                                           `c:"g_filename_from_uri"`
	URIOf          func(path string, host, err pointer) pointer                                   `c:"g_filename_to_uri"`
	UserDir        func(which int32) pointer                                                      `c:"g_get_user_special_dir"`

	Init            func(argc, argv pointer) int32                                                    `c:"gtk_init_check"`
	Main            func()                                                                            `c:"gtk_main"`
	MainQuit        func()                                                                            `c:"gtk_main_quit"`
	WindowNew       func(kind int32) pointer                                                          `c:"gtk_window_new"`
	Title           func(w pointer, title string)                                                     `c:"gtk_window_set_title"`
	Icon            func(w, pixbuf pointer)                                                           `c:"gtk_window_set_icon"`
	Bytes           func(data []byte, size uint64) pointer                                            `c:"g_bytes_new"`
	FreeBytes       func(bytes pointer)                                                               `c:"g_bytes_unref"`
	Pixbuf          func(bytes pointer, colorspace, alpha, bits, width, height, stride int32) pointer `c:"gdk_pixbuf_new_from_bytes"`
	DefaultSize     func(w pointer, width, height int32)                                              `c:"gtk_window_set_default_size"`
	Size            func(w pointer, width, height *int32)                                             `c:"gtk_window_get_size"`
	Position        func(w pointer, x, y *int32)                                                      `c:"gtk_window_get_position"`
	Move            func(w pointer, x, y int32)                                                       `c:"gtk_window_move"`
	Maximize        func(w pointer)                                                                   `c:"gtk_window_maximize"`
	IsMaximized     func(w pointer) int32                                                             `c:"gtk_window_is_maximized"`
	Present         func(w pointer)                                                                   `c:"gtk_window_present"`
	Accelerators    func(w, group pointer)                                                            `c:"gtk_window_add_accel_group"`
	NewAccelerators func() pointer                                                                    `c:"gtk_accel_group_new"`
	Box             func(orientation, spacing int32) pointer                                          `c:"gtk_box_new"`
	Pack            func(box, child pointer, expand, fill int32, padding uint32)                      `c:"gtk_box_pack_start"`
	Add             func(container, child pointer)                                                    `c:"gtk_container_add"`
	Children        func(container pointer) pointer                                                   `c:"gtk_container_get_children"`
	FreeChildren    func(list pointer)                                                                `c:"g_list_free"`
	ShowAll         func(w pointer)                                                                   `c:"gtk_widget_show_all"`
	Focus           func(w pointer)                                                                   `c:"gtk_widget_grab_focus"`
	Destroy         func(w pointer)                                                                   `c:"gtk_widget_destroy"`
	Accelerator     func(w pointer, signal string, group pointer, key, mods, flags uint32)            `c:"gtk_widget_add_accelerator"`
	MenuBar         func() pointer                                                                    `c:"gtk_menu_bar_new"`
	Menu            func() pointer                                                                    `c:"gtk_menu_new"`
	MenuItem        func(label string) pointer                                                        `c:"gtk_menu_item_new_with_mnemonic"`
	Submenu         func(item, menu pointer)                                                          `c:"gtk_menu_item_set_submenu"`
	Separator       func() pointer                                                                    `c:"gtk_separator_menu_item_new"`
	LabelItem       func(label string) pointer                                                        `c:"gtk_menu_item_new_with_label"`
	Child           func(bin pointer) pointer                                                         `c:"gtk_bin_get_child"`
	ShowKey         func(label pointer, key, mods uint32)                                             `c:"gtk_accel_label_set_accel"`
	KeyNamed        func(name string) uint32                                                          `c:"gdk_keyval_from_name"`
	KeyOf           func(r uint32) uint32                                                             `c:"gdk_unicode_to_keyval"`
	Append          func(menu, item pointer)                                                          `c:"gtk_menu_shell_append"`
	Chooser         func(title string, parent pointer, action int32, accept, cancel pointer) pointer  `c:"gtk_file_chooser_native_new"`
	Choose          func(dialog pointer) int32                                                        `c:"gtk_native_dialog_run"`
	Several         func(chooser pointer, several int32)                                              `c:"gtk_file_chooser_set_select_multiple"`
	Chosen          func(chooser pointer) pointer                                                     `c:"gtk_file_chooser_get_filenames"`
	Suggest         func(chooser pointer, name string)                                                `c:"gtk_file_chooser_set_current_name"`
	Folder          func(chooser, dir pointer) int32                                                  `c:"gtk_file_chooser_set_current_folder"`
	Confirm         func(chooser pointer, confirm int32)                                              `c:"gtk_file_chooser_set_do_overwrite_confirmation"`
	DragTarget      func(w, context, list pointer) pointer                                            `c:"gtk_drag_dest_find_target"`
	DragData        func(w, context, target pointer, time uint32)                                     `c:"gtk_drag_get_data"`
	DragFinish      func(context pointer, ok, remove int32, time uint32)                              `c:"gtk_drag_finish"`
	Dropped         func(selection pointer) pointer                                                   `c:"gtk_selection_data_get_uris"`

	DragStatus func(context pointer, action, time uint32)    `c:"gdk_drag_status"`
	Atom       func(name string, onlyIfExists int32) pointer `c:"gdk_atom_intern"`
	Display    func() pointer                                `c:"gdk_display_get_default"`
	Monitors   func(display pointer) int32                   `c:"gdk_display_get_n_monitors"`
	Monitor    func(display pointer, n int32) pointer        `c:"gdk_display_get_monitor"`
	Workarea   func(monitor pointer, r *rectangle)           `c:"gdk_monitor_get_workarea"`

	Context      func() pointer                                                                          `c:"webkit_web_context_new_ephemeral"`
	Sandbox      func(context pointer, on int32)                                                         `c:"webkit_web_context_set_sandbox_enabled"`
	View         func(context pointer) pointer                                                           `c:"webkit_web_view_new_with_context"`
	Load         func(view pointer, uri string)                                                          `c:"webkit_web_view_load_uri"`
	PageURI      func(view pointer) pointer                                                              `c:"webkit_web_view_get_uri"`
	PageTitle    func(view pointer) pointer                                                              `c:"webkit_web_view_get_title"`
	Script       func(view pointer, script string, length int64, world, source, cancel, f, data pointer) `c:"webkit_web_view_evaluate_javascript"`
	ScriptDone   func(view, result, err pointer) pointer                                                 `c:"webkit_web_view_evaluate_javascript_finish"`
	NavigationOf func(decision pointer) pointer                                                          `c:"webkit_navigation_policy_decision_get_navigation_action"`
	RequestOf    func(action pointer) pointer                                                            `c:"webkit_navigation_action_get_request"`
	RequestURI   func(request pointer) pointer                                                           `c:"webkit_uri_request_get_uri"`
	Ignore       func(decision pointer)                                                                  `c:"webkit_policy_decision_ignore"`
	Download     func(decision pointer)                                                                  `c:"webkit_policy_decision_download"`
	Editable     func(hit pointer) int32                                                                 `c:"webkit_hit_test_result_context_is_editable"`
	SaveTo       func(download pointer, uri pointer)                                                     `c:"webkit_download_set_destination"`
	Overwrite    func(download pointer, allowed int32)                                                   `c:"webkit_download_set_allow_overwrite"`
	Cancel       func(download pointer)                                                                  `c:"webkit_download_cancel"`

	Text func(value pointer) pointer `c:"jsc_value_to_string"`
}

// rectangle is GdkRectangle.
type rectangle struct{ X, Y, Width, Height int32 }

// libraries are looked through in this order; each brings along those before.
var libraries = []string{"libgtk-3.so.0", "libwebkit2gtk-4.1.so.0"}

// load finds all functions, or says which library or function is not there.
func load() (*library, error) {
	var opened []pointer
	for _, name := range libraries {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			// The linker's own words begin with the library that is not there,
			// which may be one that this one needs.
			why, _, _ := strings.Cut(err.Error(), "\n")
			return nil, fmt.Errorf("%s cannot be loaded (%s)", name, why)
		}
		opened = append(opened, handle)
	}
	l := new(library)
	fields := reflect.ValueOf(l).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Tag.Get("c")
		f, err := find(opened, name)
		if err != nil {
			return nil, err
		}
		purego.RegisterFunc(fields.Field(i).Addr().Interface(), f)
	}
	return l, nil
}

// find looks in the last library first: what it needs is searched with it.
func find(opened []pointer, name string) (pointer, error) {
	for i := len(opened) - 1; i >= 0; i-- {
		if f, err := purego.Dlsym(opened[i], name); err == nil {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%s is too old: it has no %s", libraries[len(libraries)-1], name)
}
