//go:build guests

package qemu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mirador-trace/mirador/internal/guest/qemu/count"
)

// documented fails unless doc/guests.md has a command as it is run here, but
// for the folder.
func documented(t *testing.T, command string) {
	t.Helper()
	text, err := os.ReadFile("../../../doc/guests.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "# ")) == command {
			return
		}
	}
	t.Errorf("doc/guests.md does not have the command %q", command)
}

// mentioned fails unless doc/guests.md has these words, in this order, whatever
// stands between them by way of lines and folders.
func mentioned(t *testing.T, dir string, words ...string) {
	t.Helper()
	text, err := os.ReadFile("../../../doc/guests.md")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join(words, " ")
	if dir != "" {
		want = strings.ReplaceAll(want, dir+"/", "")
	}
	if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
		t.Errorf("doc/guests.md does not have %q", want)
	}
}

// mirador runs a command of doc/guests.md in a folder.
func mirador(t *testing.T, dir string, args ...string) {
	t.Helper()
	documented(t, "mirador "+strings.Join(args, " "))
	cmd := exec.Command(program(t, "mirador"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mirador %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// saved saves the trace in a file and checks it: it must have all that is
// known from before it is saved.
func saved(t *testing.T, m *machine, when, dir, file string) {
	t.Helper()
	known := m.knows()
	began := time.Now()
	mirador(t, dir, "save", "-o", "OUT", file)
	took := time.Since(began)
	checkDirectory(t, filepath.Join(dir, "OUT"), when, known)
	t.Logf("  saved in %v", took.Round(time.Millisecond))
	os.RemoveAll(filepath.Join(dir, "OUT"))
}

func checkDirectory(t *testing.T, dir, when string, known count.Known) {
	t.Helper()
	said, err := count.Check(os.DirFS(dir), known)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	t.Logf("%s: %s", when, said)
}

// guest starts a small machine. On a busy host its timer may come too late for
// the kernel's check of it.
func guest(t *testing.T, initrd, line string, args ...string) *machine {
	t.Helper()
	all := append([]string{"-m", "256", "-smp", "1", "-kernel", unpacked(t, "cloud", "boot/vmlinuz-*"), "-initrd", initrd,
		"-append", "console=ttyS0 panic=0 quiet no_timer_check " + line}, args...)
	return start(t, all...)
}

// ends goes through what may happen to a guest: in turn the program, the
// kernel and the machine end.
func ends(t *testing.T, m *machine, dir, file string) {
	m.counting()
	for range 3 {
		saved(t, m, "live", dir, file)
	}
	m.tell("panic")
	m.wait(0, "a panic", func(line string) bool { return strings.Contains(line, "Kernel panic") })
	saved(t, m, "after a guest panic", dir, file)
	m.kill()
	saved(t, m, "after that and kill -9 of qemu", dir, file)
}

// killed is the other way to go.
func killed(t *testing.T, m *machine, dir, file string) {
	m.counting()
	m.kill()
	saved(t, m, "after kill -9 of qemu", dir, file)
}

// dies is the third.
func dies(t *testing.T, m *machine, dir, file string) {
	m.counting()
	m.tell("kill")
	m.wait(0, "its death", func(line string) bool { return line == "KILLED ." })
	saved(t, m, "after kill -9 of the program", dir, file)
}

func TestIvshmem(t *testing.T) {
	t.Parallel()
	initrd := small(t)
	for name, end := range map[string]func(*testing.T, *machine, string, string){"panic": ends, "killed": killed, "dies": dies} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			device := []string{"-object", "memory-backend-file,id=shm,share=on,mem-path=" + filepath.Join(dir, "ring.shm") + ",size=1M",
				"-device", "ivshmem-plain,memdev=shm"}
			mentioned(t, dir, device...)
			mentioned(t, dir, "MIRADOR=ivshmem: ./server")
			m := guest(t, initrd, "role=count destination=ivshmem:", append(device, "-M", "pc")...)
			end(t, m, dir, "ring.shm")
		})
	}
}

func TestPmem(t *testing.T) {
	t.Parallel()
	initrd := small(t, "virtio_pci", "virtio_pmem", "nd_pmem")
	for name, end := range map[string]func(*testing.T, *machine, string, string){"panic": ends, "killed": killed, "dies": dies} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			image := filepath.Join(dir, "pmem.img")
			for _, args := range [][]string{{"truncate", "-s", "64M", "pmem.img"}, {"mkfs.ext4", "-q", "-b", "4096", "pmem.img"}} {
				documented(t, strings.Join(args, " "))
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			machine := []string{"-M", "pc", "-m", "256,slots=1,maxmem=1G"}
			device := []string{"-object", "memory-backend-file,id=pmem,share=on,mem-path=" + image + ",size=64M",
				"-device", "virtio-pmem-pci,memdev=pmem"}
			mentioned(t, dir, "(`"+strings.Join(machine, " ")+"`)")
			mentioned(t, dir, device...)
			mentioned(t, dir, "mount -o dax=always /dev/pmem0 /mnt MIRADOR=file:/mnt/ring,size=4MB ./server")
			m := guest(t, initrd, "role=pmem", append(device, machine...)...)
			end(t, m, dir, "pmem.img")
		})
	}
}

// The memory of a machine is a file here: the trace lies in it in pages, in
// any order.
func TestRAM(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mentioned(t, dir, "MIRADOR=memory:,size=1MB ./server")
	m := guest(t, small(t), "role=count destination=memory:,size=1MB", "-M", "pc,memory-backend=ram",
		"-object", "memory-backend-file,id=ram,share=on,mem-path="+filepath.Join(dir, "ram.img")+",size=256M")
	ends(t, m, dir, "ram.img")
}

// A program sends its trace to another process of the same machine.
func TestVsock(t *testing.T) {
	t.Parallel()
	passes(t, guest(t, small(t, "vsock_loopback"), "role=vsock"))
	documented(t, "mirador save -o OUT vsock:5005")
}

// A program's core file has its memory.
func TestCore(t *testing.T) {
	t.Parallel()
	passes(t, guest(t, small(t), "role=core"))
	documented(t, "mirador save -o OUT core")
}

// passes waits for the result of a test that is made in the machine.
func passes(t *testing.T, m *machine) {
	t.Helper()
	m.wait(0, "a result", func(line string) bool {
		if strings.HasPrefix(line, "PASS ") {
			t.Log(line)
			return true
		}
		return false
	})
}
