package operator

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/compat"
)

// TestResume: a server that had closed its store for a newer program goes on with what that one made of the settings, as far as it supports them,
// with its countdown, and without the copy of the store.
func TestResume(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "compat.db")
	old := &compat.Declared{Versioned: true, Supported: compat.Range{Min: 5, Max: 8}, Build: compat.Build{Logic: 8, ID: "old"}}
	file, err := OpenStore(path, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	before, err := New(file, old, Options{}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	by := Actor{Name: "test", Role: RoleAdmin, Source: compat.SourceAPI}
	s := before.Settings()
	s.AutoUpgrade = true
	kick := time.Hour
	if _, err := before.Change(t.Context(), by, Change{Revision: s.Revision, Settings: s, Kick: &kick}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(before.WriteCopy(), before.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Change(t.Context(), by, Change{Revision: 2, Settings: compat.Defaults(*old), Comment: "late"}); !IsClosed(err) {
		t.Errorf("a change of a closed store: %v", err)
	}

	newer := &compat.Declared{Versioned: true, Supported: compat.Range{Min: 6, Max: 9}, Build: compat.Build{Logic: 9, ID: "new"}}
	other, err := Open(path, newer, Options{}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	stored := other.Settings()
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(Backup(path)), os.Mkdir(Backup(path), 0o700)); err != nil { // the copy can't be written any longer
		t.Fatal(err)
	}

	again, err := file.Reopen()
	if err != nil {
		t.Fatal(err)
	}
	after, err := New(again, old, Options{After: before}, zerolog.Nop())
	if err != nil {
		t.Fatal(errors.Join(err, again.Close()))
	}
	defer after.Close()
	if got, want := after.Settings().Active(), (compat.Range{Min: 6, Max: 8}); got != want || after.Settings().Revision != stored.Revision || !after.Settings().AutoUpgrade {
		t.Errorf("goes on with %+v, want %v of revision %d", after.Settings(), want, stored.Revision)
	}
	if c, was := after.countdown.Load(), before.countdown.Load(); c == nil || was == nil || c.revision != was.revision || c.end.Sub(was.end).Abs() > time.Minute {
		t.Errorf("the countdown is %+v, want %+v", c, was)
	}
	if document, _, err := again.Settings(); err != nil || string(document) != string(stored.Encode()) {
		t.Errorf("something was written: %s, %v", document, err)
	}
	var fault *StoreError
	if err := after.WriteCopy(); !errors.As(err, &fault) {
		t.Errorf("the copy: %v", err)
	}
	s = after.Settings()
	s.ActiveMax = 7
	if _, err := after.Change(t.Context(), by, Change{Revision: s.Revision, Settings: s, Comment: "less", Confirm: true}); err != nil {
		t.Error(err)
	}
	if _, err := after.Audit.Verify(); err != nil {
		t.Error(err)
	}
}
