package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/heap"
)

func memFetchCommand() *cobra.Command {
	var out string
	var most int64
	var long time.Duration
	cmd := &cobra.Command{
		Use:   "fetch -o FILE HOST:PORT",
		Short: "Record the memory of a running program that offers it",
		Long: `Connect to a program that serves its trace of memory, and record it until the
program ends, Ctrl-C, or --for a time: the program traces as long as somebody is
connected. What has arrived is in FILE at once.`,
		Example: `  mirador mem fetch -o service.ctf localhost:1234
  mirador mem fetch --for 30s -o service.ctf localhost:1234`,
		Args: between(1, 1, "an address"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needOut(cmd, out); err != nil {
				return err
			}
			ctx := cmd.Context()
			if long > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, long)
				defer cancel()
			}
			return fetchTrace(ctx, cmd, args[0], out, most<<20)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE`")
	cmd.Flags().DurationVar(&long, "for", 0, "stop after this `TIME`, such as 30s; 0 is never")
	cmd.Flags().Int64Var(&most, "max-size", 4096, "keep at most `N` MiB")
	cmd.MarkFlagFilename("output", "ctf")
	return cmd
}

func fetchTrace(ctx context.Context, cmd *cobra.Command, address, out string, most int64) error {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return withHint(err, "is the program running, and is this the address that it serves its trace at?")
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var start [4]byte
	if _, err := io.ReadFull(conn, start[:]); err != nil {
		return withHint(fmt.Errorf("%s: nothing was received", address), "a service of memory traces has one client at a time: is there another?")
	}
	if binary.LittleEndian.Uint32(start[:]) != traceMagic {
		return withHint(fmt.Errorf("%s: it sends no memtrace trace", address), "is this the address of the program's memory trace?")
	}
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	c := &collector{log: cmd.ErrOrStderr(), open: map[net.Conn]bool{conn: true}}
	watch, cancel := context.WithCancel(ctx)
	go c.progress(watch)
	n, err := copyStream(f, start[:], conn, most, &c.bytes)
	cancel()
	if closeErr := f.Close(); closeErr != nil && !isPathError(err) {
		err = closeErr
	}
	switch {
	case isPathError(err):
		return withHint(fmt.Errorf("%w after %s", err, heap.FormatBytes(float64(n))), "what came before is in %s; make room and fetch again", out)
	case errors.Is(err, errTooLong):
		c.say("warning: cut at %s: see --max-size", heap.FormatBytes(float64(n)))
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		c.say("warning: %s: %v", address, err)
	}
	c.say("%s in %s", heap.FormatBytes(float64(n)), out)
	return nil
}
