package delta_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// some takes what ApplySome makes, by content.
type some struct {
	made map[int]*bytes.Buffer
	done []int
}

func (s *some) Begin(i int) (io.Writer, error) {
	s.made[i] = &bytes.Buffer{}
	return s.made[i], nil
}

func (s *some) End(i int) error {
	s.done = append(s.done, i)
	return nil
}

// holed is a set in which files are missing or damaged.
type holed struct {
	treeSource
	gone, damaged string
}

func (h holed) Open(i int) (delta.SetFile, error) {
	switch h.listing[i].Path {
	case h.gone:
		return nil, fs.ErrNotExist
	case h.damaged:
		return stringFile{strings.NewReader(strings.Repeat("?", int(h.listing[i].Size)))}, nil
	}
	return h.treeSource.Open(i)
}

// TestApplySome: groups are independent, whatever is wanted of them and whatever is wrong with the old files.
func TestApplySome(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	old := tree{}
	changes := tree{}
	for _, name := range []string{"a.aa", "b.bb", "c.cc"} {
		text := ""
		for i := range 1200 {
			text += fmt.Sprintf("%s line %d %x\n", name, i, i*i*7919)
		}
		old[name], changes[name] = text, strings.Replace(text, "line 2", "LINE 2", -1)
	}
	fresh := old.with(changes)
	for what, options := range map[string]delta.SetPatchOptions{
		"patches": {Group: 1}, "with sums": {Group: 1, Sums: true}, "long contents": {MaxMemory: 1 << 20},
	} {
		t.Run(what, func(t *testing.T) {
			testSome(t, old, fresh, makePatch(t, old, fresh, options))
		})
	}
}

// openKnown opens a patch for a client with the new listing.
func openKnown(patch []byte, old, fresh release.Listing) (*delta.SetPatch, error) {
	to, err := fresh.Digest()
	if err != nil {
		return nil, err
	}
	p, err := delta.OpenSetPatch(bytes.NewReader(patch), old, to)
	if err == nil {
		err = p.SetListing(fresh)
	}
	return p, err
}

func testSome(t *testing.T, old, fresh tree, patch []byte) {
	side := old.side()
	for _, test := range []struct {
		name          string
		wanted        []int
		gone, damaged string
		done, failed  []int
	}{
		{"all", []int{0, 1, 2}, "", "", []int{0, 1, 2}, nil},
		{"the last", []int{2}, "", "", []int{2}, nil},
		{"none", nil, "", "", nil, nil},
		{"an old file is gone", []int{0, 1, 2}, "b.bb", "", []int{0, 2}, []int{1}},
		{"an old file is damaged", []int{0, 1, 2}, "", "a.aa", []int{1, 2}, []int{0}},
		{"it is gone, and not wanted", []int{0, 2}, "b.bb", "", []int{0, 2}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := openKnown(patch, side.Listing, fresh.listing())
			if err != nil {
				t.Fatal(err)
			}
			sink, contents := some{made: map[int]*bytes.Buffer{}}, p.Contents()
			var failed []int
			err = p.ApplySome(context.Background(), holed{treeSource{old, side.Listing}, test.gone, test.damaged}, &sink, delta.SetWish{
				Wanted: func(c int) bool { return slices.Contains(test.wanted, c) },
				Failed: func(first, count int, err error) error {
					for c := first; c < first+count; c++ {
						failed = append(failed, c)
					}
					return nil
				},
			})
			if err != nil || !slices.Equal(sink.done, test.done) || !slices.Equal(failed, test.failed) {
				t.Fatalf("made %v, failed %v, %v", sink.done, failed, err)
			}
			for _, c := range sink.done {
				if sha(sink.made[c].String()) != contents[c].Sum {
					t.Errorf("content %d is another one", c)
				}
			}
		})
	}
	refused := errors.New("no more")
	p, err := openKnown(patch, side.Listing, fresh.listing())
	if err != nil {
		t.Fatal(err)
	}
	err = p.ApplySome(context.Background(), holed{treeSource{old, side.Listing}, "a.aa", ""}, &some{made: map[int]*bytes.Buffer{}}, delta.SetWish{
		Wanted: func(int) bool { return true }, Failed: func(int, int, error) error { return refused },
	})
	if !errors.Is(err, refused) {
		t.Errorf("the caller's word does not end it: %v", err)
	}
	for cut := range len(patch) {
		if cut%97 != 0 {
			continue
		}
		p, err := openKnown(patch[:cut], side.Listing, fresh.listing())
		if err != nil {
			continue
		}
		err = p.ApplySome(context.Background(), treeSource{old, side.Listing}, &some{made: map[int]*bytes.Buffer{}}, delta.SetWish{
			Wanted: func(c int) bool { return c == 2 }, Failed: func(_, _ int, err error) error { return err },
		})
		if err == nil {
			t.Errorf("a patch of %d bytes, cut at %d, is complete", len(patch), cut)
		}
	}
}

// A module of 110 MB, the largest of the corpus, is compared as a whole with the memory that a publisher has by default.
func TestDefaultMemoryTakesAModule(t *testing.T) {
	const module = 110_264_832
	if need := (delta.PatchOptions{}).Memory(module, module); need > delta.DefaultPatchMemory {
		t.Errorf("%d bytes are needed, and there are %d", need, delta.DefaultPatchMemory)
	}
}
