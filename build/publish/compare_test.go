package publish_test

import (
	"slices"
	"testing"

	"collet/app/acquire"
	"collet/build/publish"
)

// TestUpdate compares a release with the one before, and estimates for the last few as Estimate does.
func TestUpdate(t *testing.T) {
	t.Parallel()
	s, files := newFixture(t), tree{"PlatformBinaries/Linux-x64/Lathe.so": "m", "Resources/a": "1", "Resources/b": "2"}
	first := s.publish(game(t, files), publish.Request{})
	files["Resources/a"] = "11"
	s.publish(game(t, files), publish.Request{})
	delete(files, "Resources/b")
	files["Resources/a"], files["Resources/c"] = "111", "3"
	third := s.publish(game(t, files), publish.Request{})
	s.with(func(f *publish.Folder) error {
		u, err := f.Update(t.Context(), first.Releases[0].Entry, 5, acquire.Link{})
		if err != nil || u.Before != 0 || len(u.From) != 0 || len(u.Files) != 3 || u.Files[0] != (publish.Change{Kind: publish.Added, Path: "Lathe.so", Size: 1}) {
			t.Errorf("the first release: %+v, %v", u, err)
		}
		u, err = f.Update(t.Context(), third.Releases[0].Entry, 1, acquire.Link{})
		want := []publish.Change{{Kind: publish.Changed, Path: "a", Size: 3}, {Kind: publish.Removed, Path: "b", Size: 1}, {Kind: publish.Added, Path: "c", Size: 1}}
		if err != nil || u.Before != 2 || !slices.Equal(u.Files, want) || len(u.From) != 1 {
			t.Errorf("the third release: %+v, %v", u, err)
		}
		u, err = f.Update(t.Context(), third.Releases[0].Entry, 5, acquire.Link{})
		if err != nil || len(u.From) != 2 || u.From[0].Old != 2 || u.From[1].Old != 1 {
			t.Fatalf("the third release, from all: %+v, %v", u, err)
		}
		same, err := f.Estimate(t.Context(), "", "", 1, 3, acquire.Link{})
		if err != nil || same[0].Cost != u.From[1].Cost {
			t.Errorf("estimate says %+v, and the summary %+v: %v", same[0].Cost, u.From[1].Cost, err)
		}
		return nil
	})
}
