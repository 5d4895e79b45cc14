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
	if _, err := operator.Restore(backup, path, ".before"); !errors.As(err, &fault) || !fault.Held {
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
		if _, err := operator.Restore(own, path, ".before"); !errors.As(err, &fault) {
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
		if _, err := operator.Restore(bad, path, ".before"); !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(path + ".before"); err == nil {
		t.Error("the store was moved away for what is none")
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := operator.Restore(backup, path, ".before"); got != want || err != nil {
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
