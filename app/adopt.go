package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"collet/app/adopt"
	"collet/netproto/product"
	"collet/platform"
	"collet/platform/interrupt"
	"collet/platform/text"
)

// exitFailed is the exit code of an adoption that did not happen.
const exitFailed = 1

// runAdopt is --adopt: it shows what will happen, asks, and does it. It returns the exit code.
func runAdopt(ctx context.Context, f flags, stdin *os.File, stdout, stderr io.Writer) int {
	if err := adoptFolder(ctx, f, stdin, stdout); err != nil {
		fmt.Fprintf(stderr, "collet-client: --adopt %s: %v\n", f.Adopt, err)
		return exitFailed
	}
	return 0
}

func adoptFolder(ctx context.Context, f flags, stdin *os.File, stdout io.Writer) (err error) {
	dir, err := filepath.Abs(f.Adopt)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(dir, exe); err == nil && filepath.IsLocal(rel) {
		return errors.New("this program lies in that folder; copy it elsewhere and start it there")
	}
	parent, err := platform.OpenDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	plan, err := adopt.Look(parent, filepath.Base(dir), filepath.Base(exe))
	if err != nil {
		return err
	}
	again := ""
	if plan.Resumed {
		again = " (continues an earlier call)"
	}
	program := filepath.Join(dir, filepath.Base(exe))
	fmt.Fprintf(stdout, "%s holds %d files, %s%s.\nThey move to %s, unchanged, including those that are yours.\nThe game is then started with %s, which fetches what differs from the newest release.\n",
		dir, plan.Files, text.Bytes(plan.Bytes), again, filepath.Join(dir, "Resources"), program)
	if !f.Yes && !confirmed(ctx, stdin, stdout) {
		return errors.New("not confirmed; nothing has changed. --yes confirms without a question")
	}
	if err := adopt.Adopt(parent, plan, clientFiles(exe)); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "done: start %s\n", program)
	return nil
}

// confirmed asks on a terminal; without one the answer is no.
func confirmed(ctx context.Context, stdin *os.File, stdout io.Writer) bool {
	if !platform.IsTerminal(stdin) {
		return false
	}
	fmt.Fprint(stdout, "Go ahead? [y/N] ")
	answer, _ := bufio.NewReader(interrupt.Reader(ctx, stdin)).ReadString('\n') // an error is no answer
	return strings.EqualFold(strings.TrimSpace(answer), "y")
}

// clientFiles are this program and what lies beside it that belongs to it: its settings, its trusted root, and a description of the game.
func clientFiles(exe string) []adopt.File {
	list := []adopt.File{{Name: filepath.Base(exe), Open: func() (io.ReadCloser, error) { return os.Open(exe) }, Mode: 0o755}}
	base := filepath.Join(filepath.Dir(exe), product.RuntimeBase(exe))
	for _, name := range []string{base + ".toml", base + product.DescriptionExt, filepath.Join(filepath.Dir(exe), "root.json")} {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			list = append(list, adopt.File{Name: filepath.Base(name), Open: func() (io.ReadCloser, error) { return os.Open(name) }, Mode: fs.FileMode(0o644)})
		}
	}
	return list
}
