package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/demo"
)

// kilobyte is the unit of --rate.
const kilobyte = 1000

// demoCommand is `collet demo`.
type demoCommand struct {
	Rate int64  `group:"demo" default:"4000" placeholder:"KB/S" help:"Speed of the link between client and server in kB a second, so that the splash can be watched (default: ${default}; 0: as fast as it goes)."`
	Port int    `group:"demo" default:"0" placeholder:"PORT" help:"Port of the link on 127.0.0.1 (default: a free one)."`
	Data int    `group:"demo" default:"24" placeholder:"MB" help:"Size of Levels.zip, the large pack of release 2 (default: ${default})."`
	Lang string `group:"demo" placeholder:"LOCALE" help:"Language of the client, for example de (default: that of the system)."`

	Keep        string `group:"where" placeholder:"DIR" help:"Make the folder here and leave it. It must be empty or not exist (default: a temporary folder, removed at the end)."`
	Screenshots string `group:"where" placeholder:"DIR" help:"Folder for the screenshots (default: inside --keep, else a new temporary folder, named at the end)."`
	Screen      string `group:"where" default:"auto" enum:"auto,real,virtual" placeholder:"auto|real|virtual" help:"Show the windows on the real display, or on a virtual one where the demo takes screenshots and ends the game itself (default: real if there is one)."`
	Programs    string `group:"where" placeholder:"DIR" help:"Folder of collet-client and collet-server (default: that of this program)."`
}

// Help is what --help adds to the flags.
func (demoCommand) Help() string {
	return `Lays out a client with release 1 of a small game and a server with release 2, starts both with a link of limited
speed between them, and prints each step: packs are updated, binaries are outdated, a new module is swapped in and started by the same host.
Every step is checked. Nothing is signed or encrypted, and the client's settings allow that (Update.Trust = "sha256"); the
settings of a real game should not. On a real display you play the game yourself: the demo ends when you leave it.

Last line: "demo: ok" (exit code 0) or "demo: failed: …" (exit code 1). Ctrl-C ends everything that was started.

  collet demo
  collet demo --screen virtual --screenshots pictures --lang de`
}

// Run plays the demo and prints its last line.
func (c demoCommand) Run(ctx context.Context, out io.Writer) error {
	err := c.play(ctx, out)
	switch {
	case err == nil:
		fmt.Fprintln(out, "demo: ok")
		return nil
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(out, "demo: failed: interrupted")
	default:
		fmt.Fprintf(out, "demo: failed: %s\n", strings.ReplaceAll(err.Error(), "\n", " | "))
	}
	return console.Printed(err)
}

func (c demoCommand) play(ctx context.Context, out io.Writer) error {
	if c.Programs == "" {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		c.Programs = filepath.Dir(exe)
	}
	return demo.Run(ctx, demo.Options{
		Programs: c.Programs, Keep: c.Keep, Screenshots: c.Screenshots, Screen: demo.Screen(c.Screen),
		Rate: c.Rate * kilobyte, Port: c.Port, LevelsMB: c.Data, Lang: c.Lang, Out: out,
	})
}
