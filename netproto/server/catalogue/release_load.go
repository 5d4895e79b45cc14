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
	c, err := buildRelease(ctx, f, set, entries, before, log)
	if err != nil {
		f.close()
		return nil, err
	}
	warnExpiry(ctx, f, c, log)
	return c, nil
}

// buildRelease builds a catalogue from the current releases of the configured channel.
func buildRelease(ctx context.Context, f *Folder, set config.Settings, entries []release.Entry, before *Catalogue, log zerolog.Logger) (*Catalogue, error) {
	editions, withheld, err := readEditions(f, set.Release, entries, log)
	if err != nil {
		return nil, err
	}
	if set.CompatibilityVersion, err = commonCompatibility(f.path, editions); err != nil {
		return nil, err
	}
	c := &Catalogue{compatibility: set.CompatibilityVersion, storage: set.Storage(), offers: newOffers(), folder: f, withheld: withheld}
	c.held.count.Store(1)
	arrangeFiles(c, editions)
	if err := loadPlain(ctx, c.files, newPlainLoader(f, set, before, editions)); err != nil {
		closeFiles(c.files, f)
		return nil, err
	}
	if err = c.offers.encodeLists(); err == nil {
		c.metadata, err = metadataOf(set, c.files, log)
	}
	if err != nil {
		closeFiles(c.files, f)
		return nil, err
	}
	c.editions = editions
	warnMistakes(c, log)
	return c, nil
}

// readEditions finds the current release of every target of the channel. Targets without one are withheld.
func readEditions(f *Folder, r config.Release, entries []release.Entry, log zerolog.Logger) (found []edition, withheld []string, err error) {
	product, err := chooseProduct(r, entries)
	if err != nil {
		return nil, nil, err
	}
	current := currentOf(entries)
	for _, l := range slices.SortedFunc(maps.Keys(tracksOf(entries)), func(a, b track) int { return cmp.Compare(a.target, b.target) }) {
		if l.product != product || l.channel != r.Channel {
			continue
		}
		e, any := current[l]
		if !any {
			log.Warn().Str("target", l.target).Msg("No release of this target is for everybody: clients that read the signed list go by it, others are offered nothing; publish a release, or roll one out to 100 percent")
			withheld = append(withheld, l.target)
			continue
		}
		one, err := f.store.readEdition(e)
		if err != nil {
			return nil, nil, &Error{Subject: "release", Path: e.Path(), Err: err, Hint: "finish copying the release folder"}
		}
		found = append(found, one)
	}
	return found, withheld, nil
}

func tracksOf(entries []release.Entry) map[track]bool {
	lines := map[track]bool{}
	for _, e := range entries {
		lines[trackOf(e)] = true
	}
	return lines
}

// chooseProduct is the configured product, or the only one of the channel.
func chooseProduct(r config.Release, entries []release.Entry) (string, error) {
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
		return "", &Error{Subject: "release folder", Path: r.Folder, Err: fmt.Errorf("has no channel %q", r.Channel),
			Hint: "it has " + cmp.Or(strings.Join(slices.Sorted(maps.Keys(channels)), ", "), "no releases yet")}
	case r.Product == "" && len(names) > 1:
		return "", &Error{Subject: "release folder", Path: r.Folder, Err: fmt.Errorf("has several products in channel %q", r.Channel),
			Hint: "set Release.Product to one of " + strings.Join(names, ", ")}
	case r.Product != "" && !products[r.Product]:
		return "", &Error{Subject: "release folder", Path: r.Folder, Err: fmt.Errorf("has no product %q in channel %q", r.Product, r.Channel),
			Hint: "it has " + strings.Join(names, ", ")}
	default:
		return cmp.Or(r.Product, names[0]), nil
	}
}

// readEdition reads head, listing and sources of a release.
func (d diskStore) readEdition(e release.Entry) (one edition, err error) {
	one.Entry = e
	if one.head, err = d.readHead(e); err != nil {
		return one, err
	}
	if one.listing, err = d.readListing(one.head); err != nil {
		return one, err
	}
	one.sources, err = d.readSources(one.head)
	return one, err
}

// commonCompatibility is the common compatibility version of all editions; empty without editions.
func commonCompatibility(folder string, editions []edition) (string, error) {
	if len(editions) == 0 {
		return "", nil
	}
	first := editions[0].head.Compatibility
	var each []string
	apart := false
	for _, e := range editions {
		each = append(each, fmt.Sprintf("%s has %q", e.Path(), e.head.Compatibility))
		apart = apart || e.head.Compatibility != first
	}
	switch {
	case apart:
		return "", &Error{Subject: "release folder", Path: folder,
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

// arrangeFiles creates the files and offers: files that all targets share, and each target's own. Withheld targets have an empty one.
func arrangeFiles(c *Catalogue, editions []edition) {
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
					c.offers.common.files = append(c.offers.common.files, f)
				}
				c.files = append(c.files, f)
			}
			own.addFile(f)
		}
		c.offers.byTarget[e.Target] = own
	}
	for _, target := range c.withheld {
		c.offers.byTarget[target] = &Offer{target: target}
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

// plainLoader finds or unpacks the plain files of a release.
type plainLoader struct {
	folder   *Folder
	inMemory bool
	known    map[string]*File                  // hashed files of the catalogue before, by path
	sources  map[release.Digest]release.Source // of each blob
}

func newPlainLoader(f *Folder, set config.Settings, before *Catalogue, editions []edition) *plainLoader {
	l := &plainLoader{folder: f, inMemory: set.ServerNetwork.UpdateFilesInMemory, known: map[string]*File{}, sources: map[release.Digest]release.Source{}}
	if before != nil {
		for _, f := range before.files {
			l.known[f.path] = f
		}
	}
	for _, e := range editions {
		for _, s := range e.sources {
			l.sources[s.Content] = s
		}
	}
	return l
}

// loadPlain finds every file as a plain one, or unpacks it. Earlier publishers had no separate folder for plain files.
func loadPlain(ctx context.Context, files []*File, l *plainLoader) error {
	return loadAll(ctx, files, func(ctx context.Context, i int) error {
		f := files[i]
		f.plain = f.Digest
		for _, folder := range []string{release.PlainFolder, ""} {
			f.path = filepath.Join(l.folder.path, folder, filepath.FromSlash(release.PlainPath(f.Role, f.Target, f.Path)))
			fits, err := f.loadAs(ctx, l.inMemory, i, l.known)
			if err != nil || fits {
				return err
			}
		}
		return l.unpack(ctx, f, i)
	})
}

// unpack unpacks a file from its object.
func (l *plainLoader) unpack(ctx context.Context, f *File, position int) error {
	source, found := l.sources[f.plain]
	if !found {
		return errors.New("the release does not say where its content comes from")
	}
	size := f.Size
	path, err := l.folder.trust.cache.holdBlob(f.plain, size, func(out io.Writer) error { return l.folder.store.unpackObject(ctx, source, size, out) })
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	f.path, f.unpacked = path, true
	if err := f.loadContent(ctx, l.inMemory, position); err != nil {
		return err
	}
	if f.Digest != f.plain || f.Size != size {
		return fmt.Errorf("what object %s holds is another content", source.Whole.Path())
	}
	return nil
}

// announce logs the offered release.
func (e edition) announce(log zerolog.Logger) {
	log.Info().Str("target", e.Target).Uint64("release", e.Number).Str("version", e.head.Version).
		Msgf("Offers release %d of %s (%s) for %s", e.Number, e.Channel, e.head.Version, e.Target)
}

// warnExpiry warns if the folder's signatures have expired or expire soon.
func warnExpiry(ctx context.Context, f *Folder, c *Catalogue, log zerolog.Logger) {
	if len(c.editions) == 0 {
		warnListExpiry(f.lists, log)
		return
	}
	first := c.editions[0].Entry
	current, err := f.trust.client.Refresh(ctx, trust.StoreFetcher{Store: f.store}, release.Query{Product: first.Product, Channel: first.Channel, Target: first.Target})
	if err == nil && !current.Fresh {
		log.Warn().Time("expired", current.Expires).Msgf("Players are told that they may not be up to date: %s; sign the metadata anew with collet release refresh", current.Why)
	}
	if left := time.Until(current.Expires); err == nil && current.Fresh && left < soonExpired {
		log.Warn().Time("expires", current.Expires).Msg(expirySoon)
	}
}

const expirySoon = "The signatures of the release folder end soon; sign the metadata anew with collet release refresh"

// warnListExpiry is warnExpiry where no release is for all players.
func warnListExpiry(l Lists, log zerolog.Logger) {
	expires := slices.MinFunc(slices.Collect(maps.Values(l.Expires)), time.Time.Compare)
	switch left := time.Until(expires); {
	case left < 0:
		log.Warn().Time("expired", expires).Msg("Players are told that they may not be up to date: a signature of the release folder has ended; sign the metadata anew with collet release refresh")
	case left < soonExpired:
		log.Warn().Time("expires", expires).Msg(expirySoon)
	}
}

// soonExpired is how long before the expiry of signatures the warning begins: a weekend and a day.
const soonExpired = 3 * 24 * time.Hour
