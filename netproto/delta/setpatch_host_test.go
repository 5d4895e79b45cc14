package delta_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"collet/netproto/delta"
	"collet/netproto/release"
)

// hosted is a tree in which a file is the host's.
func hosted(t tree, host string) delta.SetSide {
	side := t.side()
	i := slices.IndexFunc(side.Listing, func(f release.ListedFile) bool { return f.Path == host })
	side.Listing[i].Use, side.Listing[i].Mode = release.UseHost, release.ProgramMode
	return side
}

// TestHostStandsAlone: a client that keeps its host gets everything else of a set patch that changes it, and the patch
// gives the new listing without it.
func TestHostStandsAlone(t *testing.T) {
	old, changes := tree{}, tree{}
	for _, name := range []string{"Lathe", "Lathe.so", "Core.zip", "README"} {
		text := ""
		for i := range 800 {
			text += fmt.Sprintf("%s line %d %x\n", name, i, i*i*7919)
		}
		old[name], changes[name] = text, text[:len(text)/2]+"news"+text[len(text)/2:]
	}
	changes["LICENSE"] = old["Lathe"][:4000] // without an extension, as the host is
	fresh := old.with(changes)
	from, to := hosted(old, "Lathe"), hosted(fresh, "Lathe")
	var patch bytes.Buffer
	if _, err := delta.MakeSetPatch(context.Background(), &patch, from, to, delta.SetPatchOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := openKnown(patch.Bytes(), from.Listing, to.Listing)
	if err != nil {
		t.Fatal(err)
	}
	host, wanted := -1, []int{}
	for c, content := range p.Contents() {
		if content.Sum == sha(fresh["Lathe"]) {
			host = c
		} else {
			wanted = append(wanted, c)
		}
	}
	if host < 0 || len(wanted) != 4 {
		t.Fatalf("%d contents", len(p.Contents()))
	}
	sink := &some{made: map[int]*bytes.Buffer{}}
	err = p.ApplySome(context.Background(), holed{treeSource{old, from.Listing}, "Lathe", ""}, sink, delta.SetWish{
		Wanted: func(c int) bool { return c != host },
		Failed: func(first, count int, err error) error { return fmt.Errorf("%d contents: %w", count, err) },
	})
	slices.Sort(sink.done)
	if err != nil || !slices.Equal(sink.done, wanted) {
		t.Fatalf("made %v, want %v; %v", sink.done, wanted, err)
	}
	all := &some{made: map[int]*bytes.Buffer{}}
	if p, err = openKnown(patch.Bytes(), from.Listing, to.Listing); err == nil {
		err = p.Apply(context.Background(), treeSource{old, from.Listing}, all)
	}
	if err != nil || len(all.done) != 5 {
		t.Errorf("who has the host makes %v, %v", all.done, err)
	}
}
