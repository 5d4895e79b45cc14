package acquire

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/platform/faultfs"
)

func newRememberedSets(d *faultfs.Disk) *rememberedSets {
	return &rememberedSets{fs: d.Open(faultfs.Options{}), folder: "Cache/release", log: zerolog.Nop()}
}

func listingOf(t *testing.T, content string) (release.Listing, release.Digest) {
	t.Helper()
	sum, err := release.SHA256.DigestOf(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	list := release.NewListing([]release.ListedFile{{Path: "A", Use: release.UseResource, Size: int64(len(content)), Mode: release.PlainMode, Sum: sum}})
	return list, sum
}

// setOf is what memory keeps of a listing.
func setOf(t *testing.T, number uint64, content string) (installedRelease, release.Listing) {
	t.Helper()
	list, sum := listingOf(t, content)
	data, err := list.Encode()
	if err != nil {
		t.Fatal(err)
	}
	o := release.ObjectOf(data)
	return installedRelease{Identity: sum, Product: "p", Channel: "c", Target: "t", Number: number, Listing: object(o)}, list
}

// TestMemoryOfSets: another process finds the remembered sets, the newest first, and the live one is never dropped.
func TestMemoryOfSets(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	m := newRememberedSets(disk)
	first, list := setOf(t, 1, "first")
	m.add(first, list, first.Identity)
	for n := uint64(2); n < 30; n++ {
		k, list := setOf(t, n, strings.Repeat("x", int(n)))
		m.add(k, list, first.Identity)
		m.add(k, list, first.Identity) // again is nothing
	}
	m = newRememberedSets(disk)
	m.load()
	if len(m.sets) != maxRemembered || m.sets[0].Number != 29 || m.sets[maxRemembered-1].Number != 1 {
		t.Errorf("%+v", m.sets)
	}
	if got := m.listing(first.Listing); len(got) != 1 || got[0].Path != "A" {
		t.Errorf("the live set's listing is %v", got)
	}
	gone, _ := setOf(t, 3, "xxx")
	if m.listing(gone.Listing) != nil {
		t.Error("a listing that is too many is still there")
	}
	files := 0
	for name := range disk.Files() {
		if strings.HasSuffix(name, listingSuffix) {
			files++
		}
	}
	if files != maxRemembered {
		t.Errorf("%d listings are kept", files)
	}
}

// TestMemoryIsNotBelieved: damage costs what it would have saved.
func TestMemoryIsNotBelieved(t *testing.T) {
	for what, damage := range map[string]func(name, content string) string{
		"cut":   func(_, content string) string { return content[:len(content)/2] },
		"empty": func(string, string) string { return "" },
		"noise": func(string, string) string { return "\x00\xff{" },
		"large": func(string, string) string { return strings.Repeat("[", maxSetsFile+1) },
	} {
		disk := faultfs.New(faultfs.Config{})
		m := newRememberedSets(disk)
		k, list := setOf(t, 1, "first")
		m.add(k, list, k.Identity)
		id := m.install()
		for name, content := range disk.Files() {
			if !strings.HasSuffix(name, "/") {
				fsys := disk.Open(faultfs.Options{})
				if err := fsys.Remove(name); err != nil {
					t.Fatal(err)
				}
				if err := disk.Plant(name, damage(name, content)); err != nil {
					t.Fatal(err)
				}
			}
		}
		m = newRememberedSets(disk)
		m.load()
		if len(m.sets) != 0 || m.listing(k.Listing) != nil {
			t.Errorf("%s: %+v is believed", what, m.sets)
		}
		if again := m.install(); again == id || len(again) != 2*installBytes {
			t.Errorf("%s: the id is %q, and was %q", what, again, id)
		}
	}
}

// TestInstallID: made once, kept, different from others'.
func TestInstallID(t *testing.T) {
	disk := faultfs.New(faultfs.Config{})
	id := newRememberedSets(disk).install()
	if again := newRememberedSets(disk).install(); again != id || len(id) != 32 {
		t.Errorf("%q, then %q", id, again)
	}
	if other := newRememberedSets(faultfs.New(faultfs.Config{})).install(); other == id {
		t.Error("two installs have one id")
	}
}
