package fstest

import (
	"errors"
	"io"
	"io/fs"
	"testing"

	"collet/platform"
)

func conformLock(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	first, err := fsys.Lock("d/lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Lock("d/lock"); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("taken twice: %v", err)
	}
	other, err := fsys.Lock("d/other")
	if err != nil {
		t.Fatalf("another lock: %v", err)
	}
	if err := errors.Join(first.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	if got := Listing(t, fsys, "d"); got != "lock other" {
		t.Errorf("released locks left %s", got)
	}
	again, err := fsys.Lock("d/lock")
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	_, err = fsys.Lock("no/lock")
	WantError(t, "lock in a missing folder", err, fs.ErrNotExist)
}

// conformLockShared lets several share a lock, and one alone have it.
func conformLockShared(t *testing.T, fsys platform.FS) {
	var held []io.Closer
	for range 3 {
		lock, err := fsys.LockShared("lock")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, lock)
	}
	for i, lock := range held {
		if _, err := fsys.Lock("lock"); !errors.Is(err, platform.ErrLocked) {
			t.Errorf("taken while %d share it: %v", len(held)-i, err)
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
	}
	alone, err := fsys.Lock("lock")
	if err != nil {
		t.Fatalf("after its last reader: %v", err)
	}
	if _, err := fsys.LockShared("lock"); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("shared while one has it: %v", err)
	}
	if err := alone.Close(); err != nil {
		t.Error(err)
	}
	again, err := fsys.LockShared("lock")
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	if err := errors.Join(again.Close(), again.Close()); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	_, err = fsys.LockShared("no/lock")
	WantError(t, "lock in a missing folder", err, fs.ErrNotExist)
}

// conformLockReadOnly locks a read-only file in a read-only folder.
func conformLockReadOnly(t *testing.T, fsys platform.FS) {
	if err := fsys.MkdirAll("d", 0o755); err != nil {
		t.Fatal(err)
	}
	Put(t, fsys, "d/lock", "")
	if err := errors.Join(fsys.Chmod("d/lock", 0o444), fsys.Chmod("d", 0o555)); err != nil {
		t.Fatal(err)
	}
	first, err := fsys.LockShared("d/lock")
	if err != nil {
		t.Fatal(err)
	}
	second, err := fsys.LockShared("d/lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Lock("d/lock"); !errors.Is(err, platform.ErrLocked) {
		t.Errorf("taken while two share it: %v", err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(fsys.Chmod("d", 0o755), fsys.Chmod("d/lock", 0o644)); err != nil {
		t.Error(err)
	}
}
