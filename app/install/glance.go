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

// glanceAge is how long the result of Glance is valid. A file that changes in that time is noticed at the next start, like
// one that changes right after its comparison.
const glanceAge = 3 * time.Second

// glance is an offer with the state of its files on disk shortly before.
type glance struct {
	at    time.Time // time of the look at the disk; zero if there was none
	offer []release.File
	files []candidate // offered files that belong to the install, in the order of the offer
	build release.Digest

	set   map[string]entry // live files that came from a release; nil: not determined
	about journalMark      // of the journal with that set
}

// examine examines all files at once.
func (g *glance) examine(glancer platform.Glancer) {
	names := make([]string, len(g.files))
	for i, c := range g.files {
		names[i] = c.entry.Live
	}
	g.at = time.Now()
	for i, info := range glancer.LstatAll(names) {
		g.files[i].info, g.files[i].current = info, false
	}
}

// reuseInfos copies the file infos of another glance.
func (g *glance) reuseInfos(before *glance) {
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

// isOf reports whether an offer is the expected one.
func (g *glance) isOf(offer []release.File) bool { return g != nil && slices.Equal(g.offer, offer) }

// setHash computes the identity of a set, file by file.
type setHash struct {
	hash hash.Hash
	line []byte
}

func newSetHash() *setHash { return &setHash{hash: release.SHA256.NewHash()} }

func (i *setHash) addFile(e entry) {
	i.line = append(append(i.line[:0], e.Live...), 0)
	i.line = append(e.Digest.Append(i.line), 0)
	i.line = append(strconv.AppendInt(i.line, e.Size, 10), '\n')
	_, _ = i.hash.Write(i.line) // Hash.Write never fails
}

func (i *setHash) sum() release.Digest { return release.SHA256.SumOf(i.hash) }

// Glance examines the files of an expected offer, so that a Plan that follows soon has less to do. It uses the time of
// waiting for a server. It may run concurrently with anything that does not use the Dir. Problems are left to Plan, which
// reports them.
func (d *Contents) Glance(offer []release.File) {
	glancer, can := d.fs.(platform.Glancer)
	if !can || checkOffer(offer) != nil || d.loadLists() != nil {
		return
	}
	g := d.newGlance(offer)
	g.examine(glancer)
	g.set, g.about = d.journal.lists.setByName(), d.journal.mark()
	d.hash.cache.known() // reads the cache
	for i := range g.files {
		c := &g.files[i]
		c.current = !d.hash.verify && d.hash.isCached(c.entry, c.info)
	}
	d.glanced = g
}

// newGlance determines which offered files belong to this install. It does not access the disk.
func (d *Contents) newGlance(offer []release.File) *glance {
	g := &glance{offer: offer, files: make([]candidate, 0, len(offer))}
	identity := newSetHash()
	for _, f := range offer {
		if e, known := d.names.entryOf(f); known {
			identity.addFile(e)
			g.files = append(g.files, candidate{file: f, entry: e})
		}
	}
	g.build = identity.sum()
	return g
}

// useGlance returns the glance for an offer, with as much as possible of the result of Glance.
func (c *Contents) useGlance(offer []release.File) *glance {
	before := c.glanced
	c.glanced = nil
	g := before
	if !before.isOf(offer) {
		g = c.newGlance(offer)
		g.reuseInfos(before)
	}
	if glancer, can := c.fs.(platform.Glancer); can && time.Since(g.at) >= glanceAge {
		g.examine(glancer)
	}
	return g
}

// Identity is the identity that Set would return for an offer once it is live: a digest over the names, digests and sizes
// of the files that belong to this install, in the order of the offer.
func (c *Contents) Identity(offer []release.File) release.Digest {
	if c.glanced.isOf(offer) {
		return c.glanced.build
	}
	return c.newGlance(offer).build
}
