package bundle_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"collet/build/pack/bundle"
)

func tree(t *testing.T, entries ...bundle.Entry) bundle.Tree {
	t.Helper()
	made, err := bundle.NewTree(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestLayAndGather has the same files on the disk and back.
func TestLayAndGather(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "pack")
	if err := os.WriteFile(elsewhere, []byte("pack"), 0o700); err != nil {
		t.Fatal(err)
	}
	laid := tree(t,
		bundle.Entry{Path: "Lathe", Mode: bundle.Program, Data: []byte("host")},
		bundle.Entry{Path: "Resources/deep/Core.zip", Mode: bundle.Plain, From: elsewhere},
		bundle.Entry{Path: "Resources/latest", Link: "deep/Core.zip"},
		bundle.Entry{Path: "empty", Mode: bundle.Plain},
	)
	folder := filepath.Join(t.TempDir(), "new")
	if err := laid.Lay(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"Lathe": 0o755, "Resources/deep/Core.zip": 0o644, "Resources/deep": fs.ModeDir | 0o755, "empty": 0o644} {
		if info, err := os.Lstat(filepath.Join(folder, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	back, err := bundle.Gather(folder)
	if err != nil || len(back) != len(laid) {
		t.Fatalf("%d files, %v", len(back), err)
	}
	for i := range laid {
		if content(t, back[i]) != content(t, laid[i]) {
			t.Errorf("%s has %q", laid[i].Path, content(t, back[i]))
		}
		back[i].From, back[i].Data, laid[i].From, laid[i].Data = "", nil, "", nil
		if laid[i].Link != "" {
			back[i].Mode = laid[i].Mode
		}
	}
	if !reflect.DeepEqual(back, laid) {
		t.Errorf("got %+v\nwant %+v", back, laid)
	}
}

func content(t *testing.T, e bundle.Entry) string {
	t.Helper()
	if e.Link != "" {
		return e.Link
	}
	in, _, err := e.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLayReplacesNothing(t *testing.T) {
	folder := t.TempDir()
	one := tree(t, bundle.Entry{Path: "a/b", Mode: bundle.Plain, Data: []byte("new")})
	if err := one.Lay(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	if err := one.Lay(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "a/b") {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := one.Lay(ended, t.TempDir()); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	missing := tree(t, bundle.Entry{Path: "x", Mode: bundle.Plain, From: filepath.Join(folder, "none")})
	if err := missing.Lay(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("got %v", err)
	}
}
