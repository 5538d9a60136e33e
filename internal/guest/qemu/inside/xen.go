//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mirador-trace/mirador/internal/guest"
	"github.com/mirador-trace/mirador/internal/guest/qemu/count"
	"github.com/mirador-trace/mirador/internal/xen"
)

// xenRole plays a role in a domain of a Xen host, if it is one.
func xenRole(role string) bool {
	var err error
	switch role {
	case "domu":
		err = new(domU).run()
	case "dom0":
		err = dom0()
	default:
		return false
	}
	if err != nil {
		fail("%s: %v", role, err)
	}
	return true
}

const libexec = "/usr/lib/xen-4.17/bin/"

// dom0 starts Xen's daemons and then goes through the tests.
func dom0() error {
	for _, dir := range []string{"/run/xenstored", "/run/xen", "/var/lib/xenstored", "/var/lib/xen", "/var/log/xen/console", "/etc/xen"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	os.Symlink("/run", "/var/run")
	if err := unix.Mount("xenfs", "/proc/xen", "xenfs", 0, ""); err != nil {
		return fmt.Errorf("mount xenfs: %w", err)
	}
	if err := os.WriteFile("/etc/xen/xl.conf", []byte("autoballoon=\"off\"\n"), 0o600); err != nil {
		return err
	}
	store := exec.Command(libexec+"xenstored", "--no-fork", "--pid-file", "/run/xen/xenstored.pid")
	store.Stdout, store.Stderr = os.Stdout, os.Stderr
	if err := store.Start(); err != nil {
		return err
	}
	if err := eventually(30*time.Second, func() error { _, err := os.Stat("/run/xenstored/socket"); return err }); err != nil {
		return err
	}
	for _, args := range [][]string{{libexec + "xen-init-dom0"}, {libexec + "xenconsoled", "--pid-file=/run/xen/xenconsoled.pid", "--log=guest"}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
	}
	s, err := xen.OpenStore()
	if err != nil {
		return err
	}
	h := &host{store: s}
	for _, test := range []struct {
		name string
		run  func() error
	}{
		{"errors without a domain", h.nothing},
		{"start", h.start},
		{"live", h.live},
		{"paused", h.paused},
		{"bad references", h.badRefs},
		{"program killed", h.killed},
		{"program killed under hold, 3 MB by an index page", h.held},
		{"a ring of mirage-profile", h.mirage},
		{"guest panic, preserved", h.panicked},
		{"destroyed while followed", h.destroyed},
	} {
		began := time.Now()
		h.note = ""
		if err := test.run(); err != nil {
			out, _ := exec.Command(libexec+"xl", "list").CombinedOutput()
			said, _ := os.ReadFile("/var/log/xen/console/guest-web.log")
			return fmt.Errorf("%s: %w\n%s\nthe guest's console: %s", test.name, err, out, said[max(0, len(said)-2000):])
		}
		fmt.Printf("\nPASS xen: %s (%.1f s)%s\n", test.name, time.Since(began).Seconds(), h.note)
	}
	return nil
}

// host is domain 0.
type host struct {
	store    *xen.Store
	domain   uint16 // that of the guest of the tests
	commands int
	note     string
}

func eventually(limit time.Duration, try func() error) error {
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// mirador runs a command of doc/guests.md, which the test outside looks for.
func (h *host) mirador(args ...string) (string, error) {
	fmt.Printf("\n$ mirador %s\n", strings.Join(args, " "))
	cmd := exec.Command("/mirador", args...)
	cmd.Dir = "/tmp"
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("mirador %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (h *host) xl(args ...string) error {
	out, err := exec.Command(libexec+"xl", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("xl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// refused wants a command to fail with an error that says so, and a hint.
func (h *host) refused(want string, args ...string) error {
	out, err := h.mirador(args...)
	os.RemoveAll("/tmp/OUT")
	switch {
	case err == nil:
		return fmt.Errorf("mirador %s does not fail", strings.Join(args, " "))
	case !strings.Contains(out, want), strings.Count(out, "\n") > 2, !strings.Contains(out, "mirador: hint: "):
		return fmt.Errorf("mirador %s says %q, not %q and a hint", strings.Join(args, " "), out, want)
	}
	return nil
}

// saved saves a trace and checks it: it must have all that was known before.
func (h *host) saved(args ...string) error {
	known := h.known()
	out, err := h.mirador(args...)
	if err != nil {
		return err
	}
	return h.check(known, out)
}

func (h *host) check(known count.Known, out string) error {
	said, err := count.Check(os.DirFS("/tmp/OUT"), known)
	if err != nil {
		info, _ := exec.Command("/mirador", "info", "/tmp/OUT").CombinedOutput()
		return fmt.Errorf("%w: %s\n%s", err, out, info)
	}
	h.note = ": " + said
	return os.RemoveAll("/tmp/OUT")
}

func (h *host) known() count.Known {
	text, _ := h.store.Read(xen.DomainPath(h.domain) + "/" + knownKey)
	known, _ := count.Parse(text)
	return known
}

// create starts a guest and waits until it listens.
func (h *host) create() error {
	h.commands = 0
	config := `name = "web"
type = "pv"
kernel = "/vmlinuz"
ramdisk = "/domu.cpio"
memory = 128
vcpus = 1
on_crash = "preserve"
on_poweroff = "destroy"
extra = "console=hvc0 quiet panic=-1 role=domu"
`
	if err := os.WriteFile("/tmp/web.cfg", []byte(config), 0o600); err != nil {
		return err
	}
	if err := h.xl("create", "-q", "/tmp/web.cfg"); err != nil {
		return err
	}
	out, err := exec.Command(libexec+"xl", "domid", "web").Output()
	if err != nil {
		return err
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return err
	}
	h.domain = uint16(id)
	return eventually(150*time.Second, func() error { return h.answered("ready") })
}

func (h *host) answered(want string) error {
	answer, err := h.store.Read(xen.DomainPath(h.domain) + "/" + answerKey)
	if err == nil && answer != want {
		err = fmt.Errorf("the guest says %q, not %q", answer, want)
	}
	return err
}

// tell has the guest do something and waits until it has.
func (h *host) tell(command string) error {
	h.commands++
	numbered := fmt.Sprintf("%d %s", h.commands, command)
	if err := h.store.Write(xen.DomainPath(h.domain)+"/"+commandKey, numbered); err != nil {
		return err
	}
	return eventually(60*time.Second, func() error { return h.answered("done " + numbered) })
}

// counting has the guest start the program, and waits until it has counted.
func (h *host) counting(command string) error {
	if err := h.tell(command); err != nil {
		return err
	}
	return eventually(60*time.Second, func() error {
		if known := h.known(); known[0] < 5000 || known[1] < 5000 || known[2] < 5000 {
			return fmt.Errorf("the program has only come to %v", known)
		}
		return nil
	})
}

func (h *host) nothing() error {
	out, err := h.mirador("xen", "list")
	if err != nil || !strings.Contains(out, "no domain shares a trace") {
		return fmt.Errorf("%w: it says %q", err, out)
	}
	return errors.Join(h.refused("a domain named web: file does not exist", "save", "-o", "OUT", "xen:web"),
		h.refused("domain 1: file does not exist", "save", "-o", "OUT", "xen:1"))
}

func (h *host) start() error {
	if err := h.create(); err != nil {
		return err
	}
	if err := h.refused("shares no trace", "save", "-o", "OUT", "xen:web"); err != nil {
		return err
	}
	return h.counting("start xen:")
}

func (h *host) live() error {
	out, err := h.mirador("xen", "list")
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%d       web   512\n", h.domain); !strings.Contains(out, want) {
		return fmt.Errorf("xen list says %q, not %q", out, want)
	}
	for range 3 {
		if err := h.saved("save", "-o", "OUT", "xen:web"); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) paused() error {
	if err := h.xl("pause", "web"); err != nil {
		return err
	}
	known := h.known()
	out, err := h.mirador("save", "-o", "OUT", "xen:1")
	if err != nil {
		return err
	}
	return errors.Join(h.check(known, out), h.xl("unpause", "web"))
}

func (h *host) badRefs() error {
	key := xen.DomainPath(h.domain) + "/" + guest.RingKey
	good, err := h.store.Read(key)
	if err != nil {
		return err
	}
	for refs, want := range map[string]string{
		"999999":     "not granted, or no longer",
		"1,2,banana": "not a list of grant references",
		"":           "not a list of grant references",
		good[:10]:    "", // cut in the middle
	} {
		if err := h.store.Write(key, refs); err != nil {
			return err
		}
		out, err := h.mirador("save", "-o", "OUT", "xen:web")
		os.RemoveAll("/tmp/OUT")
		if err == nil || !strings.Contains(out, want) || strings.Contains(out, "panic") {
			return fmt.Errorf("with references %q: %q", refs, out)
		}
	}
	return h.store.Write(key, good)
}

// killed ends the program, and nothing holds its pages.
func (h *host) killed() error {
	if err := h.tell("kill"); err != nil {
		return err
	}
	if err := eventually(30*time.Second, func() error {
		return h.refused("not granted, or no longer", "save", "-o", "OUT", "xen:web")
	}); err != nil {
		return err
	}
	return nil
}

// held ends the program, and its holder keeps the pages: for longer than Linux
// takes to revoke them.
func (h *host) held() error {
	if err := h.counting("hold xen:,size=3MB"); err != nil {
		return err
	}
	out, err := h.mirador("xen", "list")
	if err != nil || !strings.Contains(out, "+\n") {
		return fmt.Errorf("xen list says %q, %v", out, err)
	}
	if err := h.saved("save", "-o", "OUT", "xen:web"); err != nil {
		return err
	}
	if err := h.tell("kill"); err != nil {
		return err
	}
	time.Sleep(4 * time.Second)
	return h.saved("save", "-o", "OUT", "xen:web")
}

func (h *host) mirage() error {
	if err := h.tell("mirage"); err != nil {
		return err
	}
	if _, err := h.mirador("save", "-o", "uni.ctf", "xen:web"); err != nil {
		return err
	}
	want, err := os.ReadFile("/mirage.ctf")
	if err != nil {
		return err
	}
	got, err := os.ReadFile("/tmp/uni.ctf")
	if err != nil || !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes instead of %d, %v", len(got), len(want), err)
	}
	out, err := h.mirador("info", "uni.ctf")
	if err != nil || !strings.Contains(out, "a trace of mirage-profile") || !strings.Contains(out, "damage    none") {
		return fmt.Errorf("info says %q, %v", out, err)
	}
	return nil
}

func (h *host) panicked() error {
	if err := h.counting("start xen:"); err != nil {
		return err
	}
	if err := h.tell("panic"); err != nil {
		return err
	}
	if err := eventually(60*time.Second, func() error {
		out, err := exec.Command(libexec+"xl", "list", "web").CombinedOutput()
		fields := strings.Fields(string(out))
		if err != nil || len(fields) < 2 || !strings.Contains(fields[len(fields)-2], "c") {
			return fmt.Errorf("the domain has not crashed: %s", out)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := h.saved("save", "-o", "OUT", "xen:web"); err != nil {
		return err
	}
	return h.xl("destroy", "web")
}

// destroyed follows a domain until it is gone.
func (h *host) destroyed() error {
	if err := h.create(); err != nil {
		return err
	}
	if err := h.counting("start xen:"); err != nil {
		return err
	}
	args := []string{"save", "--follow", "-o", "OUT", "xen:web"}
	fmt.Printf("\n$ mirador %s\n", strings.Join(args, " "))
	follow := exec.Command("/mirador", args...)
	follow.Dir = "/tmp"
	var says bytes.Buffer
	follow.Stderr = &says
	if err := follow.Start(); err != nil {
		return err
	}
	if err := eventually(30*time.Second, func() error { return exist("/tmp/OUT/ring-*") }); err != nil {
		return fmt.Errorf("%w: %s", err, says.String())
	}
	time.Sleep(time.Second)
	known := h.known()
	if err := h.xl("destroy", "web"); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- follow.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%w: %s", err, says.String())
		}
	case <-time.After(30 * time.Second):
		follow.Process.Signal(syscall.SIGKILL)
		return fmt.Errorf("it still follows: %s", says.String())
	}
	return h.check(known, says.String())
}

func exist(pattern string) error {
	if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 {
		return fmt.Errorf("%s: there is none", pattern)
	}
	return nil
}
