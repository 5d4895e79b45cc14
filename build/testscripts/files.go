package testscripts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	pattern, name := regexp.MustCompile("(?m)"+args[1]), ts.MkAbs(args[0])
	Wait(ts, fmt.Sprintf("%s has no %q", args[0], args[1]), func() bool {
		data, err := os.ReadFile(name)
		return err == nil && pattern.Match(data)
	})
}

func waitSize(ts *testscript.TestScript, _ bool, args []string) {
	least, err := strconv.ParseInt(args[1], 10, 64)
	Check(ts, err)
	Wait(ts, fmt.Sprintf("%s does not reach %d bytes", args[0], least), func() bool {
		info, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil && info.Size() >= least
	})
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	equal, err := equalFiles(ts.MkAbs(args[0]), ts.MkAbs(args[1]))
	Check(ts, err)
	if equal == neg {
		ts.Fatalf("%s and %s: same is %v", args[0], args[1], equal)
	}
}

// equalFiles compares two files byte for byte, in pieces: programs have tens of megabytes.
func equalFiles(a, b string) (bool, error) {
	f, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer g.Close()
	of, errF := f.Stat()
	og, errG := g.Stat()
	if err := errors.Join(errF, errG); err != nil || of.Size() != og.Size() {
		return false, err
	}
	if os.SameFile(of, og) { // installs are links
		return true, nil
	}
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for rest := of.Size(); rest > 0; {
		n := min(rest, int64(len(x)))
		if _, err := io.ReadFull(f, x[:n]); err != nil {
			return false, err
		}
		if _, err := io.ReadFull(g, y[:n]); err != nil {
			return false, err
		}
		if !bytes.Equal(x[:n], y[:n]) {
			return false, nil
		}
		rest -= n
	}
	return true, nil
}

func damage(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	offset, err := strconv.Atoi(args[1])
	Check(ts, err)
	info, err := os.Stat(name)
	Check(ts, err)
	data, err := os.ReadFile(name)
	Check(ts, err)
	data[offset] ^= 0xFF
	Check(ts, os.WriteFile(name, data, info.Mode()))
	Check(ts, os.Chtimes(name, info.ModTime(), info.ModTime()))
}

func copyFiles(dir string, names []string) error {
	for _, name := range names {
		if err := copyFile(filepath.Join(dir, filepath.Base(name)), name, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
