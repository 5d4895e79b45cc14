package operator_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/server/operator"
	"collet/netproto/server/operator/storetest"
)

// TestRestore: a backup of a store in use takes the place of a damaged one. A backup that is damaged, cut off or no store takes no place, and a
// store that a server has open keeps it.
func TestRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "compat.db"), filepath.Join(dir, "backup.db")
	s, err := operator.OpenStore(path, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	storetest.Fill(t, s, 1, 3)
	var whole bytes.Buffer
	if err := errors.Join(s.Raise("ann", 7), s.Backup(&whole), os.WriteFile(backup, whole.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	want := operator.Summary{Revision: 3, Records: 3, Floors: 1}
	if got, err := operator.Inspect(backup); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	var fault *operator.StoreError
	if _, err := operator.Restore(operator.Restoring{Backup: backup, Path: path, Aside: ".before"}); !errors.As(err, &fault) || !fault.Held {
		t.Errorf("a store that is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, own := range []string{path, path + ".restore"} { // what a restore replaces is left alone
		if own != path {
			if err := os.WriteFile(own, whole.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(own)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := operator.Restore(operator.Restoring{Backup: own, Path: path, Aside: ".before"}); !errors.As(err, &fault) {
			t.Errorf("restored %s from itself: %v", filepath.Base(own), err)
		}
		if after, err := os.ReadFile(own); !bytes.Equal(before, after) {
			t.Errorf("%s has changed: %v", filepath.Base(own), err)
		}
	}
	damaged := bytes.ReplaceAll(whole.Bytes(), []byte("filler"), []byte("fi11er"))
	for name, data := range map[string][]byte{"damaged": damaged, "cut off": whole.Bytes()[:whole.Len()/2], "empty": nil, "no store": []byte("hello")} {
		bad := filepath.Join(dir, "bad.db")
		if err := os.WriteFile(bad, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := operator.Restore(operator.Restoring{Backup: bad, Path: path, Aside: ".before"}); !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(path + ".before"); err == nil {
		t.Error("the store was moved away for what is none")
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := operator.Restore(operator.Restoring{Backup: backup, Path: path, Aside: ".before"}); got != want || err != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if kept, err := os.ReadFile(path + ".before"); !bytes.Equal(kept, damaged) {
		t.Errorf("the damaged store was not kept: %v", err)
	}
	if s, err = operator.OpenStore(path, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	if floor, err := s.Floor("ann"); floor != 7 || err != nil {
		t.Errorf("the floor is %d, %v", floor, err)
	}
	storetest.Fill(t, s, 4, 4)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRestoreEngine: the engine's files are moved before the store. A restore that ends in between leaves the store as it was, and can be repeated;
// one that can't move them restores nothing. The restored store founds a cluster anew.
func TestRestoreEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup, engine := filepath.Join(dir, "compat.db"), filepath.Join(dir, "backup.db"), filepath.Join(dir, "engine")
	s, err := operator.OpenStore(path, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	storetest.Fill(t, s, 1, 2)
	var whole bytes.Buffer
	if err := errors.Join(s.Backup(&whole), os.WriteFile(backup, whole.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	storetest.Fill(t, s, 3, 3)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	full := func(name string) { // nothing can be renamed to it
		if err := os.MkdirAll(filepath.Join(name, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	full(engine)
	full(engine + ".1")
	full(path + ".2")
	for _, of := range []struct {
		aside string
		moved bool // the engine's files are
		good  bool
		want  uint64 // revision
	}{{".1", false, false, 3}, {".2", true, false, 3}, {".3", true, true, 2}} {
		_, err := operator.Restore(operator.Restoring{Backup: backup, Path: path, Aside: of.aside, Founder: "a", Engine: engine})
		_, there := os.Stat(engine)
		if (err == nil) != of.good || (there != nil) != of.moved {
			t.Errorf("%s: %v, the engine's files: %v", of.aside, err, there)
		}
		if sum, err := operator.Inspect(path); sum.Revision != of.want || err != nil {
			t.Errorf("%s: %+v, %v", of.aside, sum, err)
		}
	}
	if s, err = operator.OpenStore(path, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if place, err := s.Place(); place.Kind != operator.KindNATS || place.Node != "a" || err != nil {
		t.Errorf("the history does not say that a founds its cluster anew: %+v, %v", place, err)
	}
	if p, err := s.Progress(); p != (operator.Progress{New: true}) || err != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if _, left, err := s.Left(); !left || err != nil {
		t.Errorf("without a cluster it is no store by itself: %v", err)
	}
}

// slowReader takes the first bytes of a backup when it is let.
type slowReader struct {
	got         bytes.Buffer
	begun, goOn chan struct{}
}

// Write implements io.Writer.
func (r *slowReader) Write(p []byte) (int, error) {
	if r.got.Len() == 0 {
		close(r.begun)
		<-r.goOn
	}
	return r.got.Write(p)
}

// TestBackupSlowReader: who reads a backup slowly holds no transaction, which would make the file grow with each change, and gets the store as it was.
func TestBackupSlowReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "compat.db")
	snapshot := path + ".snapshot"
	if err := os.WriteFile(snapshot, []byte("of a killed server"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := operator.OpenStore(path, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(snapshot); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed server was sending is still there: %v", err)
	}
	storetest.Fill(t, s, 1, 3)
	if err := s.Close(); err != nil { // and the copies are written
		t.Fatal(err)
	}
	if s, err = operator.OpenStore(path, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := &slowReader{begun: make(chan struct{}), goOn: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- s.Backup(r) }()
	<-r.begun
	if n := s.Readers(); n != 0 {
		t.Errorf("%d transactions read", n)
	}
	for range 3 {
		if err := s.Commit(storetest.Next(t, s, 0)); err != nil {
			t.Fatal(err)
		}
	}
	var input *operator.InputError
	if err := s.Backup(&bytes.Buffer{}); !errors.As(err, &input) {
		t.Errorf("a second one: %v", err)
	}
	close(r.goOn)
	backup := filepath.Join(dir, "backup.db")
	if err := errors.Join(<-done, os.WriteFile(backup, r.got.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if sum, err := operator.Inspect(backup); sum.Records != 3 || err != nil {
		t.Errorf("%+v, %v", sum, err)
	}
	if _, err := os.Stat(snapshot); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the snapshot is still there: %v", err)
	}
}
