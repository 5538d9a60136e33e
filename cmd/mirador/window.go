package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/mirador-trace/mirador/internal/web"
	"github.com/mirador-trace/mirador/internal/window"
)

// serveWindow serves a page and shows it in a window of its own, until that is
// closed or the command is told to end.
func serveWindow(cmd *cobra.Command, server *web.Server, url string) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop() // there is nothing to serve any more
		ended <- showWindow(ctx, cmd, server, url)
	}()
	err := server.Serve(ctx)
	stop()
	return errors.Join(err, <-ended)
}

// showWindow shows the page, by other means when there can be no window here,
// and returns when it is not needed any more.
func showWindow(ctx context.Context, cmd *cobra.Command, server *web.Server, url string) error {
	warn := func(what string) { fmt.Fprintf(cmd.ErrOrStderr(), "mirador: warning: %s\n", what) }
	err := window.Show(ctx, window.Config{
		URL: url, Warn: warn,
		Open: func(path string) {
			if err := server.Add(fileSource(cmd, path)); err != nil {
				warn(err.Error()) // the page says so, too
			}
		},
	})
	var none *window.Unavailable
	if !errors.As(err, &none) {
		return err
	}
	if name := openApp(url); name != "" {
		warn(fmt.Sprintf("%v; the page is shown by %s --app, and Ctrl-C ends mirador", none, name))
	} else {
		warn(fmt.Sprintf("%v; the page is shown by the browser, and Ctrl-C ends mirador", none))
		openOrSay(cmd, url)
	}
	if none.Missing {
		fmt.Fprintf(cmd.ErrOrStderr(), "mirador: hint: a window of its own needs GTK 3 and WebKitGTK 4.1: on Debian, apt-get install %s\n", window.Packages)
	}
	<-ctx.Done()
	return nil
}

// openApp opens a URL in a browser's window without the browser around it, and
// returns which one could.
func openApp(url string) string {
	if !display() {
		return ""
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "brave-browser"} {
		cmd := exec.Command(name, "--app="+url)
		if cmd.Start() != nil {
			continue
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// One that has a window open already hands the URL over to it and ends;
		// one that cannot show anything ends, too, but not well.
		select {
		case err := <-ended:
			if err != nil {
				continue
			}
		case <-time.After(1500 * time.Millisecond):
		}
		return name
	}
	return ""
}
