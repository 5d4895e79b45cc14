package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"collet/build/qa/fileset"
	"collet/netproto/chunk"
	"collet/netproto/delta"
	"collet/netproto/release"
)

// applyOptions make this program apply a patch, or unpack whole objects, and nothing else, in a process of its own whose
// memory can be measured.
type applyOptions struct {
	Apply   string `hidden:"" placeholder:"FOLDER" help:"Release folder."`
	Patch   string `hidden:"" help:"The patch, if it lies elsewhere."`
	OldHead string `hidden:"" help:"Head of the release that is there."`
	NewHead string `hidden:"" help:"Head of the release to make; without it whole objects of the other one are unpacked."`
	OldSet  string `hidden:"" help:"Game folder of the old set."`
	NewSet  string `hidden:"" help:"Game folder to make."`
	Kind    string `hidden:"" help:"Encoding of the objects to unpack."`
}

// applied is what such a run says.
type applied struct {
	Seconds float64
	Bytes   int64 // that came out
	Objects int
}

// run does it and prints the result.
func (o applyOptions) run(ctx context.Context, out io.Writer) error {
	work := o.patchSet
	if o.NewHead == "" {
		work = o.unpack
	}
	result, err := work(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(result)
}

func (o applyOptions) object(ref release.Object) string {
	return filepath.Join(o.Apply, filepath.FromSlash(ref.Path()))
}

func readHead(name string) (release.Head, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return release.Head{}, err
	}
	return release.ParseHead(data)
}

// listing reads a head and the listing that it names.
func (o applyOptions) listing(name string) (h release.Head, l release.Listing, err error) {
	if h, err = readHead(name); err != nil {
		return h, nil, err
	}
	packed, err := os.ReadFile(o.object(h.Listing.Object))
	if err != nil {
		return h, nil, err
	}
	l, err = release.UnpackListing(packed, h.Listing)
	return h, l, err
}

// place is where a file of a set lies in a game folder.
func place(game string, h release.Head, f release.ListedFile) string {
	if f.Use == release.UseResource {
		return filepath.Join(game, "Resources", filepath.FromSlash(f.Path))
	}
	return filepath.Join(game, "PlatformBinaries", h.Target, filepath.FromSlash(f.Path))
}

// oldSet opens the files that a patch reads.
type oldSet struct {
	game    string
	head    release.Head
	listing release.Listing
}

func (s oldSet) Open(i int) (delta.SetFile, error) {
	return os.Open(place(s.game, s.head, s.listing[i]))
}

// newSet writes the contents that a patch makes, each to the first file that has it.
type newSet struct {
	game     string
	head     release.Head
	contents []delta.SetContent
	open     *os.File
}

func (s *newSet) Begin(i int) (_ io.Writer, err error) {
	name := s.place(s.contents[i])
	if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
		s.open, err = os.Create(name)
	}
	return s.open, err
}

func (s *newSet) End(int) error { return s.open.Close() }

func (s *newSet) place(c delta.SetContent) string {
	return place(s.game, s.head, release.ListedFile{Path: c.Path, Use: c.Use})
}

// patchSet applies the patch and times it, from opening the patch to the last content written. Files that only move or stay
// are put in place afterwards, so that the whole set can be compared.
func (o applyOptions) patchSet(ctx context.Context) (result applied, err error) {
	oldHead, old, err := o.listing(o.OldHead)
	if err != nil {
		return result, err
	}
	freshHead, _, err := o.listing(o.NewHead)
	if err != nil {
		return result, err
	}
	began := time.Now()
	if o.Patch == "" {
		ref, found := freshHead.PatchFrom(oldHead.Listing.Sum)
		if !found {
			return result, errors.New("the release has no patch from the old one")
		}
		o.Patch = o.object(ref)
	}
	in, err := os.Open(o.Patch)
	if err != nil {
		return result, err
	}
	defer in.Close()
	p, err := delta.OpenSetPatch(in, old, freshHead.Listing.Sum)
	if err != nil {
		return result, err
	}
	to := &newSet{game: o.NewSet, head: freshHead, contents: p.Contents()}
	if err := p.Apply(ctx, oldSet{o.OldSet, oldHead, old}, to); err != nil {
		return result, err
	}
	result.Seconds = time.Since(began).Seconds()
	made := map[release.Digest]string{}
	for _, c := range p.Contents() {
		made[c.Sum] = to.place(c)
		result.Bytes += c.Size
		result.Objects++
	}
	return result, o.fill(oldSet{o.OldSet, oldHead, old}, to, p.Listing(), made)
}

// fill puts the rest of the new set in place, from the old set and from what was made.
func (o applyOptions) fill(old oldSet, to *newSet, listing release.Listing, made map[release.Digest]string) error {
	from := map[release.Digest]string{}
	for _, f := range old.listing {
		from[f.Sum] = place(old.game, old.head, f)
	}
	for _, f := range listing {
		name, source := place(o.NewSet, to.head, f), from[f.Sum]
		if made[f.Sum] != "" {
			source = made[f.Sum]
		}
		if source == "" {
			return fmt.Errorf("the patch does not make %s", f.Path)
		}
		if source == name {
			continue
		}
		if err := copyFile(source, name); err != nil {
			return err
		}
	}
	return nil
}

// unpack decodes the whole objects of a release that are packed in one way, and counts the processor time of the decoding
// alone; then again to compare what comes out with the files.
func (o applyOptions) unpack(ctx context.Context) (result applied, err error) {
	h, listing, err := o.listing(o.OldHead)
	if err != nil {
		return result, err
	}
	data, err := os.ReadFile(o.object(h.Sources))
	if err != nil {
		return result, err
	}
	sources, err := release.UnpackSources(data, h.Sources)
	if err != nil {
		return result, err
	}
	encoding, known := chunk.ParseEncoding(o.Kind)
	if !known {
		return result, fmt.Errorf("no encoding is called %q", o.Kind)
	}
	seen := map[release.Digest]bool{}
	var by chunk.Unpacker
	for _, f := range listing {
		s, found := sources.Find(f.Sum)
		if !found || string(s.Encoding) != o.Kind || seen[f.Sum] {
			continue
		}
		seen[f.Sum] = true
		took, err := decode(ctx, &by, o.object(s.Whole), place(o.OldSet, h, f), encoding, f.Size)
		if err != nil {
			return result, fmt.Errorf("object of %s: %w", f.Path, err)
		}
		result.Seconds += took.Seconds()
		result.Bytes += f.Size
		result.Objects++
	}
	return result, nil
}

// decode counts the processor time of one object, and compares it with the file that it stands for.
func decode(ctx context.Context, by *chunk.Unpacker, object, file string, e chunk.Encoding, size int64) (took time.Duration, err error) {
	in, err := os.Open(object)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	want, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer want.Close()
	began := ownTime()
	if err := by.Unpack(ctx, io.Discard, in, e, size); err != nil {
		return 0, err
	}
	took = ownTime() - began
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	c := fileset.NewComparer(want)
	if err := by.Unpack(ctx, c, in, e, size); err != nil {
		return 0, err
	}
	return took, c.End()
}
