package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/netproto/server/config"
	"collet/platform/text"
)

// edition is the release of one target that a catalogue offers to clients without support for release folders.
type edition struct {
	release.Entry
	head    release.Head
	listing release.Listing
	sources release.Sources
}

// openRelease builds a catalogue from a release folder.
func openRelease(ctx context.Context, set config.Settings, before *Catalogue, log zerolog.Logger) (*Catalogue, error) {
	var earlier *Folder
	if before != nil {
		earlier = before.folder
	}
	f, entries, err := openFolder(ctx, set.Release, earlier, log)
	if err != nil {
		return nil, err
	}
	c, err := f.catalogue(ctx, set, entries, before, log)
	if err != nil {
		f.close()
		return nil, err
	}
	f.warnExpiry(ctx, c, log)
	return c, nil
}

// catalogue builds a catalogue from the current releases of the configured channel.
func (f *Folder) catalogue(ctx context.Context, set config.Settings, entries []release.Entry, before *Catalogue, log zerolog.Logger) (*Catalogue, error) {
	editions, err := f.editions(set.Release, entries, log)
	if err != nil {
		return nil, err
	}
	if set.CompatibilityVersion, err = f.compatibility(editions); err != nil {
		return nil, err
	}
	c := &Catalogue{compatibility: set.CompatibilityVersion, storage: set.Storage(), offers: map[string]*Offer{}, common: &Offer{}, folder: f}
	c.held.count.Store(1)
	c.arrange(editions)
	sources := contents(editions)
	if err := c.loadPlain(ctx, set, before, sources); err != nil {
		c.closeFiles()
		return nil, err
	}
	if err = c.encode(); err == nil {
		c.metadata, err = metadataOf(set, c.files, log)
	}
	if err != nil {
		c.closeFiles()
		return nil, err
	}
	c.editions = editions
	c.warn(log)
	return c, nil
}

// editions finds the current release of every target of the channel.
func (f *Folder) editions(r config.Release, entries []release.Entry, log zerolog.Logger) ([]edition, error) {
	product, err := f.product(r, entries)
	if err != nil {
		return nil, err
	}
	current := currentOf(entries)
	var found []edition
	for _, l := range slices.SortedFunc(maps.Keys(tracksOf(entries)), func(a, b track) int { return cmp.Compare(a.target, b.target) }) {
		if l.product != product || l.channel != r.Channel {
			continue
		}
		e, any := current[l]
		if !any {
			log.Warn().Str("target", l.target).Msg("No release of this target is for everybody: clients that know nothing of releases are offered none")
			continue
		}
		one, err := f.edition(e)
		if err != nil {
			return nil, &Error{Subject: "release", Path: e.Path(), Err: err, Hint: "finish copying the release folder"}
		}
		found = append(found, one)
	}
	if len(found) == 0 {
		return nil, &Error{Subject: "release folder", Path: f.path,
			Err:  fmt.Errorf("has no release of product %q in channel %q that all clients are offered", product, r.Channel),
			Hint: "publish one, or roll one out to 100 percent"}
	}
	return found, nil
}

func tracksOf(entries []release.Entry) map[track]bool {
	lines := map[track]bool{}
	for _, e := range entries {
		lines[trackOf(e)] = true
	}
	return lines
}

// product is the configured product, or the only one of the channel.
func (f *Folder) product(r config.Release, entries []release.Entry) (string, error) {
	products, channels := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		channels[e.Channel] = true
		if e.Channel == r.Channel {
			products[e.Product] = true
		}
	}
	names := slices.Sorted(maps.Keys(products))
	switch {
	case len(names) == 0:
		return "", &Error{Subject: "release folder", Path: f.path, Err: fmt.Errorf("has no channel %q", r.Channel),
			Hint: "it has " + cmp.Or(strings.Join(slices.Sorted(maps.Keys(channels)), ", "), "no releases yet")}
	case r.Product == "" && len(names) > 1:
		return "", &Error{Subject: "release folder", Path: f.path, Err: fmt.Errorf("has several products in channel %q", r.Channel),
			Hint: "set Release.Product to one of " + strings.Join(names, ", ")}
	case r.Product != "" && !products[r.Product]:
		return "", &Error{Subject: "release folder", Path: f.path, Err: fmt.Errorf("has no product %q in channel %q", r.Product, r.Channel),
			Hint: "it has " + strings.Join(names, ", ")}
	default:
		return cmp.Or(r.Product, names[0]), nil
	}
}

// edition reads head, listing and sources of a release.
func (f *Folder) edition(e release.Entry) (one edition, err error) {
	one.Entry = e
	if one.head, err = f.head(e); err != nil {
		return one, err
	}
	if one.listing, err = f.listing(one.head); err != nil {
		return one, err
	}
	one.sources, err = f.sources(one.head)
	return one, err
}

// compatibility is the common compatibility version of all editions.
func (f *Folder) compatibility(editions []edition) (string, error) {
	first := editions[0].head.Compatibility
	var each []string
	apart := false
	for _, e := range editions {
		each = append(each, fmt.Sprintf("%s has %q", e.Path(), e.head.Compatibility))
		apart = apart || e.head.Compatibility != first
	}
	switch {
	case apart:
		return "", &Error{Subject: "release folder", Path: f.path,
			Err:  errors.New("its releases are for different compatibility versions: " + strings.Join(each, ", ")),
			Hint: "publish the targets together, or hold back those that are ahead"}
	case first == "" || len(first) > config.MaxCompatibility || strings.ContainsFunc(first, config.IsControl):
		return "", &Error{Subject: "release", Path: editions[0].Path(),
			Err:  fmt.Errorf("its compatibility version %s can't be told to clients", text.Quote(first)),
			Hint: "publish it with the version that its native module has"}
	default:
		return first, nil
	}
}

// arrange creates the files and offers: files that all targets share, and each target's own.
func (c *Catalogue) arrange(editions []edition) {
	alike := map[release.ListedFile]int{}
	for _, e := range editions {
		for _, l := range e.listing {
			if l.Use == release.UseResource {
				alike[l]++
			}
		}
	}
	shared := map[release.ListedFile]*File{}
	for _, e := range editions {
		own := &Offer{target: e.Target}
		for _, l := range e.listing {
			f := shared[l]
			if f == nil {
				f = newListed(l, e.Target)
				if alike[l] == len(editions) {
					f.Target, shared[l] = "", f
					c.common.files = append(c.common.files, f)
				}
				c.files = append(c.files, f)
			}
			own.add(f)
		}
		c.offers[e.Target] = own
	}
	slices.SortStableFunc(c.files, func(a, b *File) int { return cmp.Compare(a.Target, b.Target) })
	for i, f := range c.files {
		f.Index = uint32(i)
	}
}

func newListed(l release.ListedFile, target string) *File {
	f := &File{}
	f.Path, f.Size, f.Digest, f.Target = l.Path, l.Size, l.Sum, target
	f.Role, _ = l.Use.Role()
	return f
}

// contents maps each blob to its source.
func contents(editions []edition) map[release.Digest]release.Source {
	all := map[release.Digest]release.Source{}
	for _, e := range editions {
		for _, s := range e.sources {
			all[s.Content] = s
		}
	}
	return all
}

// loadPlain finds every file as a plain one, or unpacks it. Earlier publishers had no separate folder for plain files.
func (c *Catalogue) loadPlain(ctx context.Context, set config.Settings, before *Catalogue, sources map[release.Digest]release.Source) error {
	known := before.byPath()
	return loadAll(ctx, c.files, func(ctx context.Context, i int) error {
		f := c.files[i]
		f.plain = f.Digest
		for _, folder := range []string{release.PlainFolder, ""} {
			f.path = filepath.Join(c.folder.path, folder, filepath.FromSlash(release.PlainPath(f.Role, f.Target, f.Path)))
			fits, err := f.loadAs(ctx, set.ServerNetwork.UpdateFilesInMemory, i, known)
			if err != nil || fits {
				return err
			}
		}
		return c.unpack(ctx, f, i, set.ServerNetwork.UpdateFilesInMemory, sources)
	})
}

// unpack unpacks a file from its object.
func (c *Catalogue) unpack(ctx context.Context, f *File, position int, inMemory bool, sources map[release.Digest]release.Source) error {
	source, found := sources[f.plain]
	if !found {
		return errors.New("the release does not say where its content comes from")
	}
	size := f.Size
	path, err := c.folder.trust.cache.hold(f.plain, size, func(out io.Writer) error { return c.folder.unpackFrom(ctx, source, size, out) })
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	f.path, f.unpacked = path, true
	if err := f.load(ctx, inMemory, position); err != nil {
		return err
	}
	if f.Digest != f.plain || f.Size != size {
		return fmt.Errorf("what object %s holds is another content", source.Whole.Path())
	}
	return nil
}

// byPath maps paths to the hashed files of a catalogue, which may be nil.
func (c *Catalogue) byPath() map[string]*File {
	known := map[string]*File{}
	if c == nil {
		return known
	}
	for _, f := range c.files {
		known[f.path] = f
	}
	return known
}

// encode checks and encodes all offers.
func (c *Catalogue) encode() error {
	for _, o := range c.allOffers() {
		if err := o.check(); err != nil {
			return err
		}
		if err := o.encode(); err != nil {
			return err
		}
	}
	return nil
}

// announce logs the offered release.
func (e edition) announce(log zerolog.Logger) {
	log.Info().Str("target", e.Target).Uint64("release", e.Number).Str("version", e.head.Version).
		Msgf("Offers release %d of %s (%s) for %s", e.Number, e.Channel, e.head.Version, e.Target)
}

// warnExpiry warns if the folder's signatures have expired or expire soon.
func (f *Folder) warnExpiry(ctx context.Context, c *Catalogue, log zerolog.Logger) {
	first := c.editions[0].Entry
	current, err := f.trust.client.Refresh(ctx, trust.StoreFetcher{Store: diskStore{f.root}}, release.Query{Product: first.Product, Channel: first.Channel, Target: first.Target})
	if err == nil && !current.Fresh {
		log.Warn().Time("expired", current.Expires).Msgf("Players are told that they may not be up to date: %s; sign the metadata anew with collet release refresh", current.Why)
	}
	if left := time.Until(current.Expires); err == nil && current.Fresh && left < soonExpired {
		log.Warn().Time("expires", current.Expires).Msg("The signatures of the release folder end soon; sign the metadata anew with collet release refresh")
	}
}

// soonExpired is how long before the expiry of signatures the warning begins: a weekend and a day.
const soonExpired = 3 * 24 * time.Hour
