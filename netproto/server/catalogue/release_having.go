package catalogue

import (
	"slices"
	"strconv"

	"collet/netproto/compat"
	"collet/netproto/release"
)

// maxNamedReleases is how many releases of each product, channel and target have a name of their own in Having: the newest ones. Older
// ones are HasOlder together. More would make a label with more values than an operator looks at.
const maxNamedReleases = 16

// Words of Having.Release that stand in place of a number.
const (
	HasNone    = "none"    // a new player
	HasOlder   = "older"   // one of the list that is older than maxNamedReleases others
	HasSeveral = "several" // what the client says fits several releases
	HasUnknown = "unknown" // no release of the list, or one of another product
)

// Having is which release of the signed list a client has, in texts from that list or constants, never a client's own. An empty text is
// unknown.
type Having struct{ Product, Channel, Target, Release string }

// HavingOf is the Having of a client that has an entry of the newest maxNamedReleases.
func HavingOf(e release.Entry) Having {
	return Having{e.Product, e.Channel, e.Target, strconv.FormatUint(e.Number, 10)}
}

// traits are what a client's hello says of a release.
type traits struct{ compatibility, content string }

// traitsOf reads the traits of a release.
func (d diskStore) traitsOf(h release.Head) (traits, error) {
	listing, err := d.readListing(h)
	if err != nil {
		return traits{}, err
	}
	var packs []compat.Pack
	for _, l := range listing {
		if sum, known := l.Sum.SHA256(); l.Use == release.UseResource && known {
			packs = append(packs, compat.Pack{Path: l.Path, Size: l.Size, Sum: sum})
		}
	}
	return traits{h.Compatibility, compat.DerivedContent(packs)}, nil
}

// havings finds which release a client has. It is immutable once filled.
type havings struct {
	channel string              // that of clients that name none
	sequels map[string]Having   // by the names of the relative and the packed sequel, which a client asks for by its release
	traits  map[hello][]fitting // newest first
	names   map[numbered]string
}

// numbered is a release of any product.
type numbered struct {
	channel, target string
	number          uint64
}

// hello is what every client says of itself.
type hello struct{ target, compatibility string }

// fitting is a release that fits a hello.
type fitting struct {
	Having
	content string
}

// findHavings fills the havings of a folder from its list. f.parts is complete.
func (f *Folder) findHavings(entries []release.Entry, channel string) {
	all := havings{channel: channel, sequels: map[string]Having{}, traits: map[hello][]fitting{}, names: map[numbered]string{}}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b release.Entry) int { return release.CompareEntries(b, a) })
	counts := map[track]int{}
	for _, e := range entries {
		has := HavingOf(e)
		if counts[trackOf(e)]++; counts[trackOf(e)] > maxNamedReleases {
			has.Release = HasOlder
		}
		all.sequels[e.RelativeSequelPath()], all.sequels[e.PackedSequelPath()] = has, has
		for _, n := range []uint64{0, e.Number} {
			all.names[numbered{e.Channel, e.Target, n}] = has.Release
		}
		sum, _ := e.Head.Sum.SHA256()
		if p, known := f.parts[sum]; known {
			key := hello{e.Target, p.compatibility}
			all.traits[key] = append(all.traits[key], fitting{has, p.content})
		}
		none := e
		none.Number, has.Release = 0, HasNone
		all.sequels[none.PackedSequelPath()] = has
		if only := release.OnlyProduct(entries, e.Channel, e.Target); only != "" {
			none.Product = ""
			all.sequels[none.PackedSequelPath()] = has
		}
	}
	f.havings = all
}

// Asks is which release a client has that asks for the file with this name to update from it. It is false for other files.
func (f *Folder) Asks(name string) (Having, bool) {
	has, is := f.havings.sequels[name]
	return has, is
}

// NameOf is the name of a release in counts, without its product: a number, HasOlder, or HasUnknown. It is false where the list has no release of the channel
// and the target.
func (f *Folder) NameOf(channel, target string, number uint64) (name string, known bool) {
	if _, known = f.havings.names[numbered{channel, target, 0}]; !known {
		return HasUnknown, false
	}
	if name = f.havings.names[numbered{channel, target, number}]; name == "" || number == 0 {
		return HasUnknown, true
	}
	return name, true
}

// Has is which release a client has by its hello. Releases with the same compatibility version are told apart by their packs, where the
// client names them; those of the configured channel come first, because a hello names no channel.
func (f *Folder) Has(h compat.Hello) Having {
	fits := f.havings.traits[hello{h.Target, h.Build.Compatibility}]
	if compat.IsDerivedContent(h.Content) {
		fits = keep(fits, func(r fitting) bool { return r.content == h.Content })
	}
	if own := keep(fits, func(r fitting) bool { return r.Channel == f.havings.channel }); len(own) > 0 {
		fits = own
	}
	if len(fits) == 0 {
		return Having{Release: HasUnknown}
	}
	has := fits[0].Having
	for _, other := range fits[1:] {
		has.Product = same(has.Product, other.Product)
		has.Channel = same(has.Channel, other.Channel)
		if has.Release != other.Release {
			has.Release = HasSeveral
		}
	}
	return has
}

// Havings are all that Asks can return.
func (f *Folder) Havings() map[Having]bool {
	all := map[Having]bool{}
	for _, has := range f.havings.sequels {
		all[has] = true
	}
	return all
}

// same is the text that two have in common, else empty.
func same(a, b string) string {
	if a != b {
		return ""
	}
	return a
}

// keep are the elements for which is holds.
func keep(all []fitting, is func(fitting) bool) (kept []fitting) {
	for _, r := range all {
		if is(r) {
			kept = append(kept, r)
		}
	}
	return kept
}
