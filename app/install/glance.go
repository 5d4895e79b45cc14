package install

import (
	"hash"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"collet/netproto/release"
	"collet/platform"
)

// glanceAge is how long what Glance saw is good for. A file that changes in that time is found out at the next start, as one
// that changes right after it was looked at.
const glanceAge = 3 * time.Second

// glance is an offer, what it is to this install, and what of it was there a moment ago.
type glance struct {
	at    time.Time // when it was looked; zero: nobody has
	offer []release.File
	files []candidate // those that concern the install, as they stand in the offer
	build release.Digest

	set   map[string]entry // what is live, as far as it came from a release; nil: not looked up
	about journalMark      // of the journal that says so
}

// Glance looks at the files of an offer that is expected, so that a Plan that follows soon has less to do: it is for the time
// in which a server is waited for. It may run beside whatever does not use the Dir. What can't be used is left to Plan, which
// says why.
func (d *Dir) Glance(offer []release.File) {
	glancer, can := d.fs.(platform.Glancer)
	if !can || checkOffer(offer) != nil || d.loadLists() != nil {
		return
	}
	g := d.sight(offer)
	g.look(glancer)
	g.set, g.about = d.journal.lists.set(), d.journal.mark()
	d.cache.known() // reads it
	for i := range g.files {
		c := &g.files[i]
		c.current = !d.cfg.Verify && d.isCached(c.entry, c.info)
	}
	d.glanced = g
}

// sight finds out what an offer is to this install. Nothing is looked at.
func (d *Dir) sight(offer []release.File) *glance {
	g := &glance{offer: offer, files: make([]candidate, 0, len(offer))}
	identity := newSetName()
	for _, f := range offer {
		if e, known := d.cfg.Names.entryOf(f); known {
			identity.add(e)
			g.files = append(g.files, candidate{file: f, entry: e})
		}
	}
	g.build = identity.sum()
	return g
}

// sighted is what an offer is, and what was there: what Glance found, or as much of it as is of use.
func (d *Dir) sighted(offer []release.File) *glance {
	before := d.glanced
	d.glanced = nil
	g := before
	if !before.isAbout(offer) {
		g = d.sight(offer)
		g.recall(before)
	}
	if glancer, can := d.fs.(platform.Glancer); can && time.Since(g.at) >= glanceAge {
		g.look(glancer)
	}
	return g
}

// look looks at all files at once.
func (g *glance) look(glancer platform.Glancer) {
	names := make([]string, len(g.files))
	for i, c := range g.files {
		names[i] = c.entry.Live
	}
	g.at = time.Now()
	for i, info := range glancer.LstatAll(names) {
		g.files[i].info, g.files[i].current = info, false
	}
}

// recall takes over what another glance saw of the same files.
func (g *glance) recall(before *glance) {
	if before == nil {
		return
	}
	infos := make(map[string]fs.FileInfo, len(before.files))
	for _, c := range before.files {
		infos[c.entry.Live] = c.info
	}
	for i, c := range g.files {
		g.files[i].info = infos[c.entry.Live]
	}
	g.at = before.at
}

// isAbout reports whether an offer is the one that was expected.
func (g *glance) isAbout(offer []release.File) bool { return g != nil && slices.Equal(g.offer, offer) }

// isCached reports whether a file that was looked at is what the entry says, as the hash cache has it.
func (d *Dir) isCached(e entry, info fs.FileInfo) bool {
	if info == nil || !info.Mode().IsRegular() || info.Size() != e.Size {
		return false
	}
	digest, found := d.cache.lookup(d.fs.Path(e.Live), e.Digest.Algorithm, platform.IdentityOf(info))
	return found && digest == e.Digest
}

// Identity is what the set of an offer would be called once it is live, as Set tells it: a digest over the names, digests and
// sizes of the files that concern this install, in the order of the offer.
func (d *Dir) Identity(offer []release.File) release.Digest {
	if d.glanced.isAbout(offer) {
		return d.glanced.build
	}
	return d.sight(offer).build
}

// setName sums a set up, file by file.
type setName struct {
	hash hash.Hash
	line []byte
}

func newSetName() *setName { return &setName{hash: release.SHA256.NewHash()} }

func (i *setName) add(e entry) {
	i.line = append(append(i.line[:0], e.Live...), 0)
	i.line = append(e.Digest.Append(i.line), 0)
	i.line = append(strconv.AppendInt(i.line, e.Size, 10), '\n')
	_, _ = i.hash.Write(i.line) // no hash ever fails
}

func (i *setName) sum() release.Digest { return release.SHA256.SumOf(i.hash) }
