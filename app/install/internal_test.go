package install

import (
	"bytes"
	"testing"

	"collet/netproto/release"
	"collet/platform"
)

var (
	wantedDigest   = release.FNVDigest(1)
	previousDigest = release.FNVDigest(2)
	otherDigest    = release.FNVDigest(3)
)

// encoded joins records to a slot.
func encoded(t testing.TB, records ...record) []byte {
	t.Helper()
	var slot []byte
	for _, r := range records {
		line, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		slot = append(slot, line...)
	}
	return slot
}

// digestOfLists is the digest in the first record, and the encoded lists.
func digestOfLists(t testing.TB, l lists) (release.Digest, []byte) {
	t.Helper()
	text, err := l.encode()
	if err != nil {
		t.Fatal(err)
	}
	d, err := release.SHA256.DigestOf(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d, text
}

// slots is a state folder on a real disk.
func slots(t *testing.T) *platform.Dir {
	t.Helper()
	d, err := platform.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if err := d.MkdirAll(StateDir, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

func mustLoad(t *testing.T, fsys platform.FS) Journal {
	t.Helper()
	j, err := loadJournal(fsys, maxJournal)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestSuccessCountsNoMissingBytes: the count visits all files of the plan, and every write of every file ends in fault.
func TestSuccessCountsNoMissingBytes(t *testing.T) {
	f := &folder{missing: func() int64 { t.Error("the missing bytes were counted"); return 0 }}
	if err := f.fault(nil); err != nil {
		t.Error(err)
	}
}
