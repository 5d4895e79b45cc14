package install_test

import (
	"context"
	"slices"
	"testing"

	"collet/app/install"
)

// mix leaves an inconsistent set: its swap was stopped halfway, and then a part and a backup were lost.
func mix(t *testing.T) folder {
	t.Helper()
	f := newFolder(t)
	one := all(binaries("Lathe.so", "m1"), packs("A.zip", "a1", "B.zip", "b1"))
	one.confirm = true
	one.must(f)
	two := all(binaries("Lathe.so", "m2"), packs("A.zip", "a2", "B.zip", "b2"))
	two.stay = true
	two.must(f)
	f.write("Resources/A.zip", "a2")
	f.remove("Resources/~A.zip")
	f.remove("Resources/~B.zip")
	return f
}

func wantIncomplete(t *testing.T, when string, d *install.Dir, want ...string) {
	t.Helper()
	if got, err := d.Incomplete(); err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: incomplete %q, %v; want %q", when, got, err, want)
	}
}

// TestAMixedSetIsKnownUntilItIsMended checks that every start reports it, and that the next update compares and repairs
// everything, including the module.
func TestAMixedSetIsKnownUntilItIsMended(t *testing.T) {
	for name, mended := range map[string]struct {
		start start
		want  string
	}{
		"the new release":  {all(binaries("Lathe.so", "m2"), packs("A.zip", "a2", "B.zip", "b2")), "Lathe.so=m2 Resources/A.zip=a2 Resources/B.zip=b2"},
		"the old release":  {all(binaries("Lathe.so", "m1"), packs("A.zip", "a1", "B.zip", "b1")), "Lathe.so-staging=m2 Lathe.so=m1 Resources/A.zip=a1 Resources/B.zip=b1"},
		"what is there":    {all(binaries("Lathe.so", "m1"), packs("A.zip", "a2", "B.zip", "b1")), "Lathe.so-staging=m2 Lathe.so=m1 Resources/A.zip=a2 Resources/B.zip=b1"},
		"another one yet":  {all(binaries("Lathe.so", "m3"), packs("A.zip", "a3")), "Lathe.so=m3 Resources/A.zip=a3"},
		"as packs, in all": {start{blobs: slices.Concat(binaries("Lathe.so", "m2"), packs("A.zip", "a2", "B.zip", "b2"))}, "Lathe.so=m2 Resources/A.zip=a2 Resources/B.zip=b2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := mix(t)
			for range 3 {
				d := f.mustOpen()
				wantIncomplete(t, "opened", d, "Resources/A.zip")
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
			}
			mended.start.confirm = true
			mended.start.must(f)
			d := f.mustOpen()
			wantIncomplete(t, "mended", d)
			if got := setOf(f.files()); got != mended.want {
				t.Errorf("got  %s\nwant %s", got, mended.want)
			}
		})
	}
}

// TestTheWayBackToAMixedSetIsKnown rolls back the set that repaired a mixed one: the restored set is mixed again.
func TestTheWayBackToAMixedSetIsKnown(t *testing.T) {
	f := mix(t)
	all(binaries("Lathe.so", "m3"), packs("A.zip", "a3", "B.zip", "b3")).must(f)
	d := f.mustOpen()
	wantIncomplete(t, "pending", d)
	for range 2 {
		if _, err := d.FailedStart(context.Background(), "it ended"); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = f.mustOpen()
	wantIncomplete(t, "back", d, "Resources/A.zip")
}

// TestMissingPacksAreKnown without a record in the journal.
func TestMissingPacksAreKnown(t *testing.T) {
	f := newFolder(t)
	all(binaries("Lathe.so", "m"), packs("A.zip", "a", "B.zip", "b", "C.zip", "c")).confirmed().must(f)
	f.remove("Resources/B.zip")
	f.write("Resources/C.zip", "longer")
	f.remove("Lathe.so")
	d := f.mustOpen()
	wantIncomplete(t, "opened", d, "Resources/B.zip", "Resources/C.zip")
}
