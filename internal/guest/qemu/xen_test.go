//go:build guests

package qemu

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mirador-trace/mirador/internal/reference"
)

// A Xen host in QEMU, with guests of its own: the tests run in domain 0, and
// say here how they went.
func TestXen(t *testing.T) {
	t.Parallel()
	ring := filepath.Join(reference.Dir(t), "mirage", "c_counters", "c_counters.ctf")
	var domU archive
	domU.addFile(t, "init", program(t, "init"), 0o700)
	domU.addFile(t, "mirador", program(t, "mirador"), 0o700)
	domU.addFile(t, "mirage.ctf", ring, 0o600)
	domU.addModules(t, "cloud", "xen_gntalloc")
	var dom0 archive
	dom0.addFile(t, "domu.cpio", domU.write(t), 0o600)
	dom0.addFile(t, "vmlinuz", unpacked(t, "cloud", "boot/vmlinuz-*"), 0o600)
	dom0.addFile(t, "init", program(t, "init"), 0o700)
	dom0.addFile(t, "mirador", program(t, "mirador"), 0o700)
	dom0.addFile(t, "mirage.ctf", ring, 0o600)
	dom0.addModules(t, "full", "xen_evtchn", "xen_privcmd", "xen_gntdev", "xenfs")
	for _, name := range []string{"xenstored", "xenconsoled", "xen-init-dom0", "xl"} {
		dom0.addProgram(t, "usr/lib/xen-4.17/bin/"+name)
	}
	dom0.addFile(t, "lib64/ld-linux-x86-64.so.2", library(t, "ld-linux-x86-64.so.2"), 0o755)
	dom0.addLibrary(t, "libgcc_s.so.1") // by pthread_exit

	for _, words := range []string{"modprobe xen-gntalloc limit=4096", "MIRADOR=xen: mirador hold -- ./server", "`xen:,size=3MB`", "`on_crash = \"preserve\"`"} {
		mentioned(t, "", words)
	}

	m := start(t, "-cpu", "qemu64", "-M", "pc", "-m", "768", "-smp", "2", "-kernel", unpacked(t, "xen", "xen.elf"),
		"-append", "console=com1 com1=115200,8n1 dom0_mem=384M dom0_max_vcpus=1 loglvel=warning",
		"-initrd", unpacked(t, "full", "vmlinux")+" console=hvc0 quiet panic=-1 role=dom0,"+dom0.write(t))
	tests := 0
	m.wait(0, "its end", func(line string) bool {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			documented(t, command)
		}
		if strings.HasPrefix(line, "PASS xen: ") {
			tests++
			t.Log(line)
		}
		return line == "OFF ."
	})
	if tests != 10 {
		t.Errorf("%d of 10 tests have passed", tests)
	}
}

// addProgram adds one of Xen's programs and the libraries that it needs.
func (a *archive) addProgram(t *testing.T, path string) {
	t.Helper()
	full := unpacked(t, "xen", path)
	a.addFile(t, path, full, 0o755)
	a.addNeeded(t, full)
}

func (a *archive) addNeeded(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		a.addLibrary(t, name)
	}
}

func (a *archive) addLibrary(t *testing.T, name string) {
	t.Helper()
	if a.libraries == nil {
		a.libraries = make(map[string]bool)
	}
	if a.libraries[name] {
		return
	}
	a.libraries[name] = true
	path := library(t, name)
	a.addFile(t, "lib/x86_64-linux-gnu/"+name, path, 0o755)
	a.addNeeded(t, path)
}

// library returns the file of a library, wherever its package has it.
func library(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{"lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib/xen-4.17/lib"} {
		path := filepath.Join(os.Getenv("MIRADOR_GUESTS"), "xen", dir, name)
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	t.Fatalf("no package has %s", name)
	return ""
}
