// Package releasetest makes small release folders on disk, for tests of servers and clients. They are signed
// with keys that exist only in the test, and have everything that a release folder has: metadata, heads, listings,
// sources, whole objects, packs and, where asked for, plain files. They have no patches that apply.
package releasetest

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"collet/netproto/chunk"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// Product is the product of every release.
const Product = "lathe"

// Folder is a release folder and its publisher. It is for one goroutine.
type Folder struct {
	Dir     string
	Repo    *trust.Repo
	Keys    []*trust.PrivateKey // of all roles
	entries []release.Entry
}

// Release is what Publish makes.
type Release struct {
	Number        uint64
	Channel       string // empty: "stable"
	Product       string // empty: Product
	Percent       uint8
	Hold, Killed  bool
	Compatibility string
	// Files are the contents of each target's set by path. *.zip is a resource, what is named like a native module is one,
	// everything else is a companion.
	Files map[string]map[string]string
	Plain bool   // lay them out as plain files, too
	Patch string // content of an object that stands in the place of a patch; empty: none
	Note  string // release notes; empty: none
	// Changes is the content of an object that stands in the place of changes; empty: none.
	Changes string
	Index   string // content of the set of chunk indexes; empty: the right one
}

// New creates a release folder in dir, which need not exist. Its signatures have the default validity, from now.
func New(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	plan := trust.RootPlan{}
	for _, role := range trust.KeyRoles() {
		p, count := trust.RolePlan{}, 1
		if role == trust.RoleRoot {
			count = 3
		}
		for range count {
			key, err := trust.GenerateKey(false)
			if err != nil {
				return nil, err
			}
			f.Keys, p.Keys = append(f.Keys, key), append(p.Keys, key.Public())
		}
		plan[role] = p
	}
	var err error
	f.Repo, err = trust.CreateRepo(Store(dir), plan, f.Keys, trust.RepoOptions{})
	return f, err
}

// Copy copies the folder to another place, with the same keys. dir need not exist, or is empty.
func (f *Folder) Copy(dir string) (*Folder, error) {
	if err := os.CopyFS(dir, os.DirFS(f.Dir)); err != nil {
		return nil, err
	}
	repo, err := trust.OpenRepo(Store(dir), trust.RepoOptions{})
	return &Folder{Dir: dir, Repo: repo, Keys: f.Keys, entries: f.Entries()}, err
}

// Publish adds a release for each target and makes all of them visible at once.
func (f *Folder) Publish(r Release) error {
	for _, target := range slices.Sorted(maps.Keys(r.Files)) {
		e, err := f.writeRelease(r, target)
		if err != nil {
			return err
		}
		f.entries = slices.DeleteFunc(f.entries, func(old release.Entry) bool { return old.Path() == e.Path() })
		f.entries = append(f.entries, e)
	}
	return f.Sign()
}

// Edit changes the entry of each release and signs the list.
func (f *Folder) Edit(change func(e *release.Entry)) error {
	for i := range f.entries {
		change(&f.entries[i])
	}
	return f.Sign()
}

// Entries are the releases so far.
func (f *Folder) Entries() []release.Entry { return slices.Clone(f.entries) }

// Sign signs the list, which makes new releases visible.
func (f *Folder) Sign() error {
	if err := f.Repo.SetEntries(f.entries, f.Keys); err != nil {
		return err
	}
	for _, e := range f.entries {
		for _, next := range f.entries {
			if next.Track() == e.Track() && next.Number > e.Number {
				if err := f.writeSequel(e, next); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writeSequel writes the sequel to a release, without a patch.
func (f *Folder) writeSequel(from, to release.Entry) error {
	var parts []release.SequelPart
	for _, name := range append(f.Repo.Lists(), to.Head.HeadPath()) {
		data, err := Store(f.Dir).Load(name, trust.MaxTargets)
		if err != nil {
			return err
		}
		parts = append(parts, release.SequelPart{Name: name, Data: data})
	}
	plain, err := release.EncodeSequel(parts)
	if err != nil {
		return err
	}
	packed, err := release.PackSequel(parts, release.KnownData{})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{from.SequelPath(): plain, from.PackedSequelPath(): packed, from.RelativeSequelPath(): packed} {
		if err := Store(f.Dir).Save(name, data); err != nil {
			return err
		}
	}
	return nil
}

// writeRelease writes everything of one release but the metadata.
func (f *Folder) writeRelease(r Release, target string) (release.Entry, error) {
	var files []release.ListedFile
	var sources []release.Source
	seen := map[release.Digest]bool{}
	for name, content := range r.Files[target] {
		listed := release.ListedFile{Path: name, Use: useOf(name), Size: int64(len(content)), Mode: release.PlainMode, Sum: release.ObjectOf([]byte(content)).Sum}
		files = append(files, listed)
		if !seen[listed.Sum] {
			source, err := f.writeWhole([]byte(content))
			if err != nil {
				return release.Entry{}, err
			}
			sources, seen[listed.Sum] = append(sources, source), true
		}
		if r.Plain {
			if err := Store(f.Dir).Save(PlainPath(target, listed), []byte(content)); err != nil {
				return release.Entry{}, err
			}
		}
	}
	h := release.Head{
		Product: cmp.Or(r.Product, Product), Channel: cmp.Or(r.Channel, "stable"), Target: target, Number: r.Number, Version: "1.0",
		Compatibility: r.Compatibility, Published: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Count: len(files),
	}
	if err := f.writePack(r.Files[target], sources, r.Index); err != nil {
		return release.Entry{}, err
	}
	return f.writeHead(h, r, release.NewListing(files), release.NewSources(sources))
}

// writeHead writes listing, sources and head.
func (f *Folder) writeHead(h release.Head, r Release, listing release.Listing, sources release.Sources) (release.Entry, error) {
	h.Bytes = listing.Bytes()
	packed, ref, err := listing.Pack()
	if err != nil {
		return release.Entry{}, err
	}
	h.Listing = ref
	from, object, err := sources.Pack()
	if err != nil {
		return release.Entry{}, err
	}
	h.Sources = object
	objects := [][]byte{packed, from}
	if r.Patch != "" {
		h.Patches = []release.PatchRef{{From: release.ObjectOf([]byte("an old listing")).Sum, Object: release.ObjectOf([]byte(r.Patch))}}
		objects = append(objects, []byte(r.Patch))
	}
	if r.Changes != "" {
		h.Changes = release.ObjectOf([]byte(r.Changes))
		objects = append(objects, []byte(r.Changes))
	}
	if r.Note != "" {
		h.Notes = map[string]release.Object{"en": release.ObjectOf([]byte(r.Note))}
		objects = append(objects, []byte(r.Note))
	}
	for _, data := range objects {
		if err := Store(f.Dir).Save(release.ObjectOf(data).Path(), data); err != nil {
			return release.Entry{}, err
		}
	}
	data, err := h.Encode()
	if err != nil {
		return release.Entry{}, err
	}
	head := release.ObjectOf(data)
	e := release.Entry{Product: h.Product, Channel: h.Channel, Target: h.Target, Number: h.Number, Percent: r.Percent, Hold: r.Hold, Killed: r.Killed, Head: head}
	return e, Store(f.Dir).Save(head.HeadPath(), data)
}

// writePack writes a pack with the contents as they are, and the chunk indexes that lead there.
func (f *Folder) writePack(files map[string]string, sources []release.Source, instead string) error {
	contents := map[release.Digest]string{}
	for _, content := range files {
		contents[release.ObjectOf([]byte(content)).Sum] = content
	}
	var pack []byte
	var indexes []*chunk.Index
	for i := range sources {
		if data := contents[sources[i].Content]; len(data) > 0 {
			sources[i].Entry = uint32(len(indexes))
			indexes = append(indexes, cut([]byte(data), int64(len(pack))))
			pack = append(pack, data...)
		}
	}
	if len(indexes) == 0 {
		return nil
	}
	object := release.ObjectOf(pack)
	sum, _ := object.Sum.SHA256()
	for _, index := range indexes {
		index.Packs = []chunk.PackRef{{Digest: sum, Size: object.Size}}
	}
	set, err := chunk.EncodeIndexSet(indexes)
	if err != nil {
		return err
	}
	if instead != "" {
		set = []byte(instead)
	}
	for i := range sources {
		if contents[sources[i].Content] != "" {
			sources[i].Index = release.ObjectOf(set)
		}
	}
	return errors.Join(Store(f.Dir).Save(object.Path(), pack), Store(f.Dir).Save(release.ObjectOf(set).Path(), set))
}

// cut makes the index of a content that is stored at an offset of a pack.
func cut(data []byte, offset int64) *chunk.Index {
	index := &chunk.Index{Grain: chunk.Fine}
	for len(data) > 0 {
		n := min(len(data), chunk.MaxChunk)
		index.Chunks = append(index.Chunks, chunk.Chunk{Sum: chunk.SumChunk(data[:n]), Size: int32(n), Packed: int32(n), Offset: offset})
		data, offset = data[n:], offset+int64(n)
	}
	return index
}

// writeWhole writes the whole object of a content. It is packed quickly: as small as can be takes 34 MB of tables each time,
// which the race detector goes through byte by byte.
func (f *Folder) writeWhole(content []byte) (release.Source, error) {
	const stated = 256 // bytes from which on every frame states the size of its content
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithZeroFrames(true), zstd.WithSingleSegment(len(content) < stated))
	if err != nil {
		return release.Source{}, err
	}
	data, encoding := enc.EncodeAll(content, nil), release.EncodedZstd
	if len(data) >= len(content) {
		data, encoding = content, release.EncodedStored
	}
	object := release.ObjectOf(data)
	return release.Source{Content: release.ObjectOf(content).Sum, Whole: object, Encoding: encoding},
		errors.Join(enc.Close(), Store(f.Dir).Save(object.Path(), data))
}

// PlainPath is where a file of a target lies as a plain one.
func PlainPath(target string, f release.ListedFile) string {
	role, _ := f.Use.Role()
	return release.PlainFolder + "/" + release.PlainPath(role, target, f.Path)
}

func useOf(name string) release.Use {
	if path.Ext(name) == ".zip" {
		return release.UseResource
	}
	return release.UseOf(release.Binary, name)
}

// Store is a folder as a trust.Store; it replaces files atomically.
type Store string

var _ trust.Store = Store("")

// Load implements trust.Store.
func (s Store) Load(name string, limit int64) ([]byte, error) {
	data, err := os.ReadFile(s.path(name))
	if err == nil && int64(len(data)) > limit {
		err = trust.ErrTooLong
	}
	return data, err
}

// Save implements trust.Store.
func (s Store) Save(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		return err
	}
	part := s.path(name) + ".part"
	if err := os.WriteFile(part, data, 0o644); err != nil {
		return err
	}
	return os.Rename(part, s.path(name))
}

// Remove removes a file, if it exists.
func (s Store) Remove(name string) error {
	if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s Store) path(name string) string { return filepath.Join(string(s), filepath.FromSlash(name)) }
