package trust_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// TestWhatATrustKnows compares entries and documents with what was published, at every step.
func TestWhatATrustKnows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	client := s.start()
	if _, err := client.Entries(); !errors.Is(err, trust.ErrNothingKnown) {
		t.Errorf("entries of nothing: %v", err)
	}
	if _, err := client.Documents(); !errors.Is(err, trust.ErrNothingKnown) {
		t.Errorf("documents of nothing: %v", err)
	}
	for n := range 3 {
		s.publish(uint64(n + 1))
		if _, err := client.Refresh(t.Context(), s.net, release.Query{}); !errors.Is(err, release.ErrNoRelease) {
			t.Fatal(err)
		}
		entries, err := client.Entries()
		if err != nil || fmt.Sprint(entries) != fmt.Sprint(s.repo.Entries()) || len(entries) != n+1 {
			t.Errorf("entries %v, %v", entries, err)
		}
		documents, err := client.Documents()
		if err != nil {
			t.Fatal(err)
		}
		version := int64(n + 2) // the empty list was the first
		for i, want := range []string{"metadata/timestamp.json", fmt.Sprintf("metadata/%d.snapshot.json", version), fmt.Sprintf("metadata/%d.targets.json", version)} {
			data, err := s.folder.Load(want, 1<<20)
			if d := documents[i]; err != nil || d.Name != want || d.Version != version || !bytes.Equal(d.Data, data) {
				t.Errorf("document %s of version %d, want %s of %d; %v", d.Name, d.Version, want, version, err)
			}
		}
	}
}
