package catalogue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/chunk"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/server/config"
	"collet/netproto/solid"
)

const (
	// maxNamed is the largest number of heads and objects of a release folder: 200 releases of 10 000 blobs. Each takes some 60
	// bytes.
	maxNamed = 2_000_000
	// maxIndex is the largest set of chunk indexes in bytes that is parsed for its packs.
	maxIndex = chunk.MaxIndexSet
)

// trustState is a server's state about a release folder across catalogues: the trusted root, the highest version numbers seen,
// the checked digests, and the unpacked blobs. A folder whose keys or numbers do not follow from the previous ones is refused
// until the server is restarted.
type trustState struct {
	*digestCache
	cache  *cache
	by     config.Release // its settings
	root   []byte
	client *trust.Client
}

// newTrustState starts with the configured root.
func newTrustState(r config.Release, root *os.Root) (*trustState, error) {
	first, err := firstRoot(r, root)
	if err != nil {
		return nil, err
	}
	client, err := trust.Open(first, &trust.MemoryStore{}, time.Now)
	if err != nil {
		return nil, &Error{Subject: "root of trust", Path: rootName(r), Err: err, Hint: "name the right root with --trust-root or Release.TrustRoot"}
	}
	return &trustState{digestCache: newDigestCache(), cache: newCache(r), by: r, root: first, client: client}, nil
}

func rootName(r config.Release) string {
	if r.TrustRoot != "" {
		return r.TrustRoot
	}
	return filepath.Join(r.Folder, "metadata", "1.root.json")
}

// firstRoot reads the initial root of trust.
func firstRoot(r config.Release, root *os.Root) ([]byte, error) {
	var data []byte
	var err error
	if r.TrustRoot == "" {
		data, err = diskStore{root}.Load("metadata/1.root.json", trust.MaxRoot)
	} else {
		data, err = readBounded(r.TrustRoot, trust.MaxRoot)
	}
	if err != nil {
		hint := "is this a release folder? Give the folder in which metadata, releases and objects lie"
		if r.TrustRoot != "" {
			hint = "name a root.json with --trust-root or Release.TrustRoot"
		}
		return nil, &Error{Subject: "root of trust", Path: rootName(r), Err: err, Hint: hint}
	}
	return data, nil
}

// stillValid reports whether v stays valid under the current settings. Without a configured root, the root in the folder does not
// change the trust; a configured root with another content does.
func (v *trustState) stillValid(r config.Release) bool {
	was := v.by
	if was.Folder != r.Folder || was.CacheFolder() != r.CacheFolder() || was.CacheSize != r.CacheSize || was.TrustRoot != r.TrustRoot {
		return false
	}
	if r.TrustRoot == "" {
		return true
	}
	root, err := readBounded(r.TrustRoot, trust.MaxRoot)
	return err == nil && bytes.Equal(v.root, root)
}

// openFolder opens and verifies the configured release folder. It reuses the trust state of the previous folder.
func openFolder(ctx context.Context, r config.Release, before *Folder, log zerolog.Logger) (f *Folder, entries []release.Entry, err error) {
	root, err := os.OpenRoot(r.Folder)
	if err != nil {
		return nil, nil, &Error{Subject: "release folder", Path: r.Folder, Err: err, Hint: "name the folder with --release or Release.Folder"}
	}
	defer func() {
		if err != nil {
			root.Close()
		}
	}()
	f = &Folder{path: r.Folder, store: diskStore{root}}
	if before != nil && before.trust.stillValid(r) {
		f.trust, f.parts = before.trust, before.parts
	} else if f.trust, err = newTrustState(r, root); err != nil {
		return nil, nil, err
	}
	if entries, err = f.verifyMetadata(ctx); err != nil {
		return nil, nil, err
	}
	if err = f.checkObjects(ctx, entries, log); err != nil {
		return nil, nil, err
	}
	f.findHavings(entries, r.Channel)
	return f, entries, nil
}

// verifyMetadata verifies the metadata from the root to the list of releases.
func (f *Folder) verifyMetadata(ctx context.Context) ([]release.Entry, error) {
	client := f.trust.client
	_, err := client.Refresh(ctx, trust.StoreFetcher{Store: f.store}, release.Query{})
	if err != nil && !errors.Is(err, release.ErrNoRelease) {
		return nil, f.explainRefusal(err)
	}
	entries, err := client.Entries()
	if err != nil {
		return nil, f.explainRefusal(err)
	}
	documents, err := client.Documents()
	if err != nil {
		return nil, f.explainRefusal(err)
	}
	if f.lists.Expires, err = client.Expiries(); err != nil {
		return nil, f.explainRefusal(err)
	}
	if info, err := f.store.root.Stat(filepath.FromSlash(documents[0].Name)); err == nil {
		f.lists.Refreshed = info.ModTime()
	}
	f.lists.Newest = slices.SortedFunc(maps.Values(newestOf(entries, 1)), release.CompareEntries)
	timestamp, snapshot, targets := documents[0], documents[1], documents[2]
	f.newest = map[string]int64{"root.json": client.Root().Version, "snapshot.json": snapshot.Version, "targets.json": targets.Version}
	f.small = map[string]Blob{
		timestamp.Name: inMemory(timestamp.Data, false),
		snapshot.Name:  inMemory(snapshot.Data, true),
		targets.Name:   inMemory(targets.Data, true),
	}
	return entries, nil
}

// explainRefusal adds a hint to an error of the verification.
func (f *Folder) explainRefusal(err error) error {
	hint := "finish copying the release folder, timestamp.json last"
	var fault *trust.Error
	switch {
	case errors.As(err, &fault) && fault.Fault == trust.FaultRolledBack:
		hint = "the folder was newer before; a server that is to offer an older one must be started again, and players refuse it all the same"
	case errors.As(err, &fault):
		hint = "publish with the keys that the folder began with, or rotate them; --trust-root names another root"
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &Error{Subject: "release folder", Path: f.path, Err: err, Hint: hint}
}

// parts are the files that a head references, and what clients with its release say.
type parts struct {
	objects []release.Object
	traits
}

// checkObjects collects the files that the signed list references. It checks the presence of those that clients may need now: for
// each track, from the newest release for all clients upwards.
func (f *Folder) checkObjects(ctx context.Context, entries []release.Entry, log zerolog.Logger) error {
	known := f.parts
	f.parts, f.sizes = map[[32]byte]parts{}, map[[32]byte]int64{}
	current := currentOf(entries)
	needed := func(e release.Entry) bool { return !e.Killed && e.Number >= current[trackOf(e)].Number }
	var faults []error
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum, _ := e.Head.Sum.SHA256()
		p, found := known[sum]
		if !found {
			var err error
			if p, err = f.store.readParts(e, log); err != nil {
				if needed(e) {
					faults = append(faults, &Error{Subject: "release", Path: e.Path(), Err: err, Hint: "finish copying the release folder"})
				}
				continue
			}
		}
		f.parts[sum] = p
		if err := f.addSizes(e.Head, p); err != nil {
			return &Error{Subject: "release folder", Path: f.path, Err: err, Hint: "drop old releases from the list"}
		}
		if needed(e) {
			faults = append(faults, f.checkComplete(e, p))
		}
	}
	return firstFaults(faults)
}

// maxFaults is how many incomplete releases are named in one error.
const maxFaults = 20

func firstFaults(faults []error) error {
	faults = slices.DeleteFunc(faults, func(err error) bool { return err == nil })
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults], fmt.Errorf("and %d more releases", more))
	}
	return errors.Join(faults...)
}

// track is a series of releases with comparable numbers.
type track struct{ product, channel, target string }

func trackOf(e release.Entry) track { return track{e.Product, e.Channel, e.Target} }

// currentOf is the newest release for all clients of each track.
func currentOf(entries []release.Entry) map[track]release.Entry { return newestOf(entries, 100) }

// newestOf is the newest release of each track that at least this percentage of the clients are offered.
func newestOf(entries []release.Entry, percent uint8) map[track]release.Entry {
	newest := map[track]release.Entry{}
	for _, e := range entries {
		if !e.Killed && !e.Hold && e.Percent >= percent && e.Number > newest[trackOf(e)].Number {
			newest[trackOf(e)] = e
		}
	}
	return newest
}

// Lists describes the signed lists of a release folder, for who watches over them.
type Lists struct {
	Expires   map[trust.KeyRole]time.Time // when the signature of each list ends
	Refreshed time.Time                   // when timestamp.json was written; zero if the disk does not say
	Newest    []release.Entry             // the newest offered release of each product, channel and target, sorted
}

// Lists describes the signed lists; without a release folder it is the zero value.
func (c *Catalogue) Lists() Lists {
	if c.folder == nil {
		return Lists{}
	}
	return c.folder.lists
}

// addSizes records the sizes of a head and its files.
func (f *Folder) addSizes(head release.Object, p parts) error {
	for _, o := range append([]release.Object{head}, p.objects...) {
		sum, _ := o.Sum.SHA256()
		f.sizes[sum] = o.Size
	}
	if len(f.sizes) > maxNamed {
		return fmt.Errorf("its releases lead to more than %d files", maxNamed)
	}
	return nil
}

// checkComplete checks that the files of a release exist with their sizes.
func (f *Folder) checkComplete(e release.Entry, p parts) error {
	var missing []string
	for _, o := range p.objects {
		if info, err := f.store.root.Stat(filepath.FromSlash(o.Path())); err != nil || info.Size() != o.Size {
			missing = append(missing, o.Path())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	const shown = 3
	text := strings.Join(missing[:min(len(missing), shown)], ", ")
	if more := len(missing) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return &Error{Subject: "release", Path: e.Path(), Err: fmt.Errorf("%s is not there, or not whole", text), Hint: "finish copying the release folder"}
}

// readHead reads the head of an entry.
func (d diskStore) readHead(e release.Entry) (release.Head, error) {
	data, err := d.Load(e.Head.HeadPath(), e.Head.Size)
	if err != nil {
		return release.Head{}, err
	}
	return trust.OpenHead(trust.UnverifiedBytes(data), e)
}

// readSources reads the sources of a release's blobs.
func (d diskStore) readSources(h release.Head) (release.Sources, error) {
	data, err := d.Load(h.Sources.Path(), h.Sources.Size)
	if err != nil {
		return nil, err
	}
	return release.UnpackSources(data, h.Sources)
}

// readListing reads the file list of a release.
func (d diskStore) readListing(h release.Head) (release.Listing, error) {
	data, err := d.Load(h.Listing.Object.Path(), h.Listing.Object.Size)
	if err != nil {
		return nil, err
	}
	return release.UnpackListing(data, h.Listing)
}

// readParts reads the files that an entry references.
func (d diskStore) readParts(e release.Entry, log zerolog.Logger) (parts, error) {
	h, err := d.readHead(e)
	if err != nil {
		return parts{}, err
	}
	all := map[release.Digest]release.Object{}
	add := func(o release.Object) { all[o.Sum] = o }
	add(h.Listing.Object)
	add(h.Sources)
	if !h.Changes.IsZero() {
		add(h.Changes)
	}
	for _, p := range h.Patches {
		add(p.Object)
	}
	if err := d.addSolidParts(h, add); err != nil {
		log.Warn().Err(err).Str("release", e.Path()).Msg("The solid form can't be read; clients fetch file by file")
	}
	for _, o := range h.Notes {
		add(o)
	}
	sources, err := d.readSources(h)
	if err != nil {
		return parts{}, err
	}
	indexes := map[release.Object][]uint32{}
	for _, s := range sources {
		add(s.Whole)
		if !s.Index.IsZero() {
			indexes[s.Index] = append(indexes[s.Index], s.Entry)
		}
	}
	for index, used := range indexes {
		add(index)
		if err := d.addPacks(index, used, add); err != nil {
			log.Warn().Err(err).Str("release", e.Path()).Str("file", index.Path()).Msg("A chunk index can't be read; whether its packs are there is not known")
		}
	}
	var p parts
	if p.traits, err = d.traitsOf(h); err != nil {
		log.Debug().Err(err).Str("release", e.Path()).Msg("Clients with this release are not recognised: its list can't be read")
	}
	for _, o := range all {
		p.objects = append(p.objects, o)
	}
	slices.SortFunc(p.objects, func(a, b release.Object) int { return strings.Compare(a.Path(), b.Path()) })
	return p, nil
}

// addSolidParts adds the parts of the solid form.
func (d diskStore) addSolidParts(h release.Head, add func(release.Object)) error {
	index, found := h.Solid()
	if !found {
		return nil
	}
	if index.Size > solid.MaxIndex {
		return fmt.Errorf("its index has %d bytes, more than %d", index.Size, solid.MaxIndex)
	}
	data, err := d.Load(index.Path(), index.Size)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // checkComplete reports it as missing
	}
	if err == nil {
		err = index.Verify(data)
	}
	if err != nil {
		return err
	}
	listing, err := d.readListing(h)
	if err != nil {
		return err
	}
	form, err := solid.OpenForm(data, listing)
	for _, g := range form.Groups {
		for _, p := range g.Parts {
			add(p)
		}
	}
	return err
}

// addPacks adds the packs of the used entries of a set of chunk indexes.
func (d diskStore) addPacks(index release.Object, used []uint32, add func(release.Object)) error {
	if index.Size > maxIndex {
		return fmt.Errorf("it has %d bytes, more than %d", index.Size, maxIndex)
	}
	data, err := d.Load(index.Path(), index.Size)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // checkComplete reports it as missing
	}
	if err == nil {
		err = index.Verify(data)
	}
	if err != nil {
		return err
	}
	set, err := chunk.ParseIndexSet(data)
	if err != nil {
		return err
	}
	for _, entry := range used {
		parsed, err := set.Index(entry)
		if err != nil {
			return err
		}
		for _, p := range parsed.Packs {
			add(release.Object{Sum: release.SHA256Digest(p.Digest), Size: p.Size})
		}
	}
	return nil
}
