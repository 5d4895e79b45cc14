//go:build unix

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
)

// readOnly makes a folder read-only for the user of the tests: by permissions, or by a mount for the administrator, who bypasses
// permissions. restore undoes it.
func readOnly(dir string) (restore func() error, err error) {
	if os.Geteuid() != 0 {
		return func() error { return chmodAll(dir, 0o200, 0) }, chmodAll(dir, 0, 0o222)
	}
	mount := func(args ...string) error { return exec.CommandContext(context.Background(), "mount", args...).Run() }
	if err := mount("--bind", dir, dir); err != nil {
		return nil, err
	}
	restore = func() error { return exec.CommandContext(context.Background(), "umount", dir).Run() }
	if err := mount("-o", "remount,bind,ro", dir); err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, nil
}

// chmodAll sets and takes permissions of a folder and everything in it.
func chmodAll(dir string, set, take fs.FileMode) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(name, (info.Mode().Perm()|set)&^take)
	})
}

// canReadOnly reports whether readOnly works here.
func canReadOnly(t *testing.T) bool {
	t.Helper()
	dir := t.TempDir()
	restore, err := readOnly(dir)
	if err != nil {
		t.Logf("no read-only folders: %v", err)
		return false
	}
	refused := os.WriteFile(filepath.Join(dir, "x"), nil, 0o644)
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	return refused != nil
}

// readOnlyCommand is readOnly until the script ends: readonly DIR.
func readOnlyCommand(ts *testscript.TestScript, _ bool, args []string) {
	restore, err := readOnly(ts.MkAbs(args[0]))
	testscripts.Check(ts, err)
	ts.Defer(func() { testscripts.Check(ts, restore()) })
}
