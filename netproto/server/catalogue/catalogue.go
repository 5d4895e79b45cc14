// Package catalogue finds and checks the files that an update server offers at one moment: their indexes and digests, and the
// list of files for each target.
//
// # Plain folders
//
// Open builds a Catalogue, as the source does from its client resources:
//
//	<ClientResources>/<entry>.zip      common files, in the order of Baking.ClientResourceEntries, "Embedded" left out;
//	                                   without a list every *.zip of the folder, sorted
//	<PlatformBinaries>/<target>/<file> the target's own files, sorted; no subfolders: clients receive only names
//
// Each file has one global index, its position in that list, independent of its target. A client is sent the common files and
// those of its target; a target without a folder has only the common files. FileAt finds any index for any client. Every file is
// read once, in one pass that computes FNV-1a-64 (the engine's) and SHA-256 (C1).
//
// In memory mode the content stays in RAM. In disk mode files stay open, up to a limit, while a holder uses their catalogue
// (Hold, Release). A file that differs from the hashed one (size, modification time or inode) is a *ChangedError. Holders of a
// replaced catalogue may finish with an open file whose name already belongs to another file.
//
// # Release folders
//
// With Settings.Release a Catalogue is built from a release folder (package release) instead: from the newest release for all
// clients of each target of a channel. The folder is verified from its root of trust to the objects that clients can reach; an
// incomplete or unsigned folder is refused. Folder opens its files by name. Verified metadata is served from memory. Other files
// have the size in the signed list, or were checked against the digest in their name. Plain files come from the folder or are
// unpacked into a cache, which removes a blob when no catalogue uses it. Reopen carries over the trust state, the highest version
// numbers seen, and digests.
//
// # Compatibility
//
// The sidecar of a native module has its logic version. OfferTo selects the offer for a judged client. Declared is the input of
// package compat from the catalogue and its settings. Snapshot judges clients on a server without an operator.
//
// A Catalogue is immutable and safe for concurrent use. Errors for the operator are *Error: the file, the fault, and a hint.
package catalogue

import (
	"iter"

	"collet/netproto/compat"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/netproto/server/config"
)

// Entry is one offered file, for tools that show a catalogue. Digest is its SHA-256, and FNV its FNV-1a-64.
type Entry struct {
	release.File
	FNV    uint64
	Target string // binary target the file is offered to; empty for every target
}

// Catalogue is the set of files that a server offers at one moment. It is immutable once Open returned it and safe for concurrent
// use; in disk mode it holds open files and digests, in memory mode the files themselves. The owner closes it: the server, or
// else the caller of Open.
type Catalogue struct {
	compatibility  string
	metadata       string // metadata version of the packs; empty if they have none
	storage        string
	files          []*File // position is the global index
	offers         offers
	held           holders
	folder         *Folder // nil: no release folder is offered
	editions       []edition
	withheld       []string // targets of the channel of which no release is for all players, sorted
	declared       declaration
	snapshot       *compat.Snapshot  // judges clients without an operator
	idle           bool              // no file was read, and none is served
	resourceOffers map[string]*Offer // by target: the files except native modules, if the server has logic versions
}

// Compatibility is the compatibility version that the files belong to. It is empty where no release is for all players.
func (c *Catalogue) Compatibility() string { return c.compatibility }

// Metadata is the metadata version for G2b clients, empty if unknown.
func (c *Catalogue) Metadata() string { return c.metadata }

// Declared is the input of package compat from the catalogue and its settings. It is read-only.
func (c *Catalogue) Declared() *compat.Declared { return &c.declared.Declared }

// Storage is "memory" or "disk".
func (c *Catalogue) Storage() string { return c.storage }

// Targets are the names of all targets that have files of their own, sorted.
func (c *Catalogue) Targets() []string { return c.offers.targets() }

// Snapshot judges clients on a server without an operator. It is read-only.
func (c *Catalogue) Snapshot() *compat.Snapshot { return c.snapshot }

// Folder is the offered release folder, or nil.
func (c *Catalogue) Folder() *Folder { return c.folder }

// ManifestFor is the component manifest for comparison with clients of a logic version, or nil.
func (c *Catalogue) ManifestFor(logic int32) *compat.Manifest { return c.declared.manifestFor(logic) }

// Len is the number of files.
func (c *Catalogue) Len() int { return len(c.files) }

// Entries lists all files in the order of their index.
func (c *Catalogue) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, f := range c.files {
			if !yield(f.Entry) {
				return
			}
		}
	}
}

// Bytes is the sum of the sizes of all files.
func (c *Catalogue) Bytes() int64 {
	var sum int64
	for _, f := range c.files {
		sum += f.Size
	}
	return sum
}

// Game is the name of the game in its modules' names; empty if they differ or there are no modules.
func (c *Catalogue) Game() string { return c.offers.game() }

// Variants are the game's variants that clients of a target are offered, in the order of the files.
func (c *Catalogue) Variants(target string) []product.Variant { return c.offers.variants(target) }

// FileAt finds any known index, whatever target it belongs to, as the source does.
func (c *Catalogue) FileAt(index uint32) (*File, bool) {
	if uint64(index) >= uint64(len(c.files)) {
		return nil, false
	}
	return c.files[index], true
}

// assemble numbers the files and sorts them into offers. Every offer is checked by the rules of the clients.
func assemble(set config.Settings, found []*File) (*Catalogue, error) {
	c := &Catalogue{
		compatibility: set.CompatibilityVersion,
		storage:       set.Storage(),
		files:         found,
		offers:        newOffers(),
	}
	c.held.count.Store(1)
	for i, f := range found {
		f.Index = uint32(i)
		if f.Target == "" {
			c.offers.common.files = append(c.offers.common.files, f)
		}
	}
	for _, f := range found {
		if f.Target != "" {
			c.offers.beginTarget(f.Target).addFile(f)
		}
	}
	return c, c.offers.encodeLists()
}
