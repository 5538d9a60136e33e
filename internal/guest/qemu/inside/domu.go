//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mirador-trace/mirador"
	"github.com/mirador-trace/mirador/internal/guest"
	"github.com/mirador-trace/mirador/internal/guest/qemu/count"
	"github.com/mirador-trace/mirador/internal/xen"
)

// The keys by which domain 0 tells a domain what to do, and is told what it
// has done and how far its program has come.
const (
	commandKey = "data/command"
	answerKey  = "data/answer"
	knownKey   = "data/known"
)

// domU is a domain that does what domain 0 says:
//
//	start REQUEST     start the program with MIRADOR=REQUEST
//	hold REQUEST      the same, under "mirador hold"
//	kill              end the program, as kill -9 does
//	mirage            share a ring of mirage-profile
//	panic             end the kernel
type domU struct {
	store   *xen.Store
	program *exec.Cmd
	ring    *xen.Grants
}

func (d *domU) run() error {
	var err error
	if d.store, err = xen.OpenStore(); err != nil {
		return err
	}
	if err := d.store.Write(answerKey, "ready"); err != nil {
		return err
	}
	for last := ""; ; time.Sleep(20 * time.Millisecond) {
		command, err := d.store.Read(commandKey)
		if err != nil || command == last {
			continue
		}
		last = command
		answer := "done " + command
		if err := d.do(command); err != nil {
			answer = fmt.Sprintf("failed %s: %v", command, err)
		}
		if err := d.store.Write(answerKey, answer); err != nil {
			return err
		}
	}
}

func (d *domU) do(command string) error {
	_, rest, _ := strings.Cut(command, " ") // the command's number
	word, request, _ := strings.Cut(rest, " ")
	switch word {
	case "start":
		return d.start(request, "/proc/self/exe", "count")
	case "hold":
		return d.start(request, "/mirador", "hold", "--", "/init", "count")
	case "kill":
		return d.kill()
	case "mirage":
		return d.mirage()
	case "panic":
		time.AfterFunc(500*time.Millisecond, func() { os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0) })
		return nil
	}
	return fmt.Errorf("no such command")
}

func (d *domU) start(request string, args ...string) error {
	if d.program != nil { // a holder, perhaps
		d.program.Process.Signal(syscall.SIGTERM)
		d.program.Wait()
	}
	d.store.Write(knownKey, "")
	d.program = exec.Command(args[0], args[1:]...)
	d.program.Env = append(os.Environ(), mirador.Variable+"="+request)
	d.program.Stderr = os.Stderr
	out, err := d.program.StdoutPipe()
	if err != nil {
		return err
	}
	if err := d.program.Start(); err != nil {
		return err
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			if _, ok := count.Parse(s.Text()); ok {
				d.store.Write(knownKey, strings.TrimSpace(s.Text()))
			}
		}
	}()
	return nil
}

// kill ends the program that counts: the newest process.
func (d *domU) kill() error {
	pids, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	victim := 0
	for _, p := range pids {
		var pid int
		if _, err := fmt.Sscanf(p.Name(), "%d", &pid); err != nil || pid <= victim {
			continue
		}
		line, err := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if err == nil && strings.HasSuffix(string(line), "\x00count\x00") && !strings.Contains(string(line), "hold") {
			victim = pid
		}
	}
	if victim == 0 {
		return fmt.Errorf("no program counts")
	}
	return syscall.Kill(victim, syscall.SIGKILL)
}

// mirage shares what the original recorder wrote, as the original does.
func (d *domU) mirage() error {
	data, err := os.ReadFile("/mirage.ctf")
	if err != nil {
		return err
	}
	if d.ring, err = xen.Allocate(0, len(data)/xen.Page); err != nil {
		return err
	}
	copy(d.ring.Memory, data)
	d.store.Remove(guest.IndexKey)
	return d.store.Write(guest.RingKey, xen.JoinRefs(d.ring.Refs))
}
