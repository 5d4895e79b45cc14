package acquire

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/download"
	"collet/app/update"
	"collet/platform"
	"collet/platform/faultfs"
)

// TestFaultsOfTheDiskNameIt: whatever fails on the disk is about a local path, and a full disk is full.
func TestFaultsOfTheDiskNameIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the errors are those of Unix")
	}
	dir, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.WriteFile(dir.Path("Cache"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := NewSource(Options{FS: dir, Mirrors: []download.Mirror{nil}, Root: []byte("a root")})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		err     error
		cause   update.Cause
		subject string
	}{
		{&fs.PathError{Op: "write", Path: dir.Path("a/b"), Err: syscall.ENOSPC}, update.DiskFull, dir.Path(".")},
		{&fs.PathError{Op: "openat", Path: "a/b", Err: syscall.EDQUOT}, update.DiskFull, dir.Path(".")},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.ENOSPC}, update.DiskFull, dir.Path(".")},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EACCES}, update.NoPermission, dir.Path("b")},
		{&fs.PathError{Op: "mkdirat", Path: "Cache/release", Err: syscall.ENOTDIR}, update.DiskFault, dir.Path("Cache")},
		{&fs.PathError{Op: "read", Path: "a", Err: syscall.EIO}, update.DiskFault, dir.Path("a")},
	} {
		var fault *update.Fault
		if err := s.faultOf(fmt.Errorf("connect: %w", test.err)); !errors.As(err, &fault) || fault.Cause != test.cause || fault.Subject != filepath.Clean(test.subject) || fault.Transient {
			t.Errorf("%v: %+v", test.err, fault)
		}
	}
}

// TestTrustOnAFullDisk: verified documents are kept in memory, and a current game can be played.
func TestTrustOnAFullDisk(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	s := &trustStore{fs: disk.Open(faultfs.Options{}), folder: "Cache/release", log: zerolog.Nop()}
	if err := s.Save("timestamp.json", []byte("old")); err != nil {
		t.Fatal(err)
	}
	disk.SetFree(0)
	if err := s.Save("timestamp.json", []byte("new one")); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Load("timestamp.json", 100); err != nil || string(data) != "new one" {
		t.Errorf("holds %q, %v", data, err)
	}
}
