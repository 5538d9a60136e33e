package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// confine limits the memory of this process: by a control group, so that the
// kernel kills it, or else by its address space.
func confine(limit int) error {
	err := group(limit)
	if err == nil {
		return nil
	}
	log.Printf("no control group of our own (%v): the address space is limited instead", err)
	space := uint64(limit) + 600<<20 // the runtime reserves much that it never uses
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: space, Max: space})
}

func group(limit int) error {
	for _, v := range []struct{ root, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, // version 1
		{"/sys/fs/cgroup", "memory.max"},                   // version 2
	} {
		dir := filepath.Join(v.root, fmt.Sprintf("mirador-oom-%d", os.Getpid()))
		if _, err := os.Stat(filepath.Join(v.root, "cgroup.procs")); err != nil {
			continue
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, v.limit), []byte(strconv.Itoa(limit)), 0o644); err != nil {
			return errors.Join(err, os.Remove(dir))
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return errors.Join(err, os.Remove(dir))
		}
		log.Printf("confined to %d MiB; remove the empty group afterwards: rmdir %s", limit>>20, dir)
		return nil
	}
	return errors.New("control groups are not mounted")
}
