package catalogue

import (
	"slices"
	"strings"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/product"
	"collet/netproto/release"
)

// Offer is the file list for clients of one target: the common files, then the target's own. It is immutable once assembled.
type Offer struct {
	target     string // empty for the common-only offer
	folder     string // of a payload of another logic version; empty otherwise
	files      []*File
	hasModule  bool                  // a native module is among them, or the description of a program
	isProgram  bool                  // a description is among them
	descriptor []byte                // engine: the list as it goes into InitData
	list       []netproto.ListedFile // C1: the list
}

// addFile appends one of the target's own files.
func (o *Offer) addFile(f *File) {
	o.files = append(o.files, f)
	if f.isModule(o.target) {
		o.hasModule = true
		o.isProgram = o.isProgram || strings.HasSuffix(f.Path, product.DescriptionExt)
	}
}

// isModule reports whether a file is what clients of a target start: a native module, or the description of a program.
func (f *File) isModule(target string) bool {
	_, is := product.Target(target).HostOf(f.Path)
	return is && f.Role == release.Binary
}

// checkRules applies the clients' rules for a list.
func (o *Offer) checkRules() error {
	files := make([]release.File, len(o.files))
	for i, f := range o.files {
		files[i] = f.File
	}
	err := release.CheckSet(files)
	if err == nil {
		return nil
	}
	subject, path := "offer", "every target"
	if o.target != "" {
		subject, path = "offer for target", o.target
	}
	return &Error{Subject: subject, Path: path, Err: err, Hint: "rename the file; clients would refuse the whole list"}
}

// hosts are the names of programs among the files that load a module of the offer.
func (o *Offer) hosts() map[string]bool {
	names := map[string]bool{}
	for _, f := range o.files {
		if name, ok := product.Target(o.target).HostOf(f.Path); ok && f.Role == release.Binary {
			names[name] = true
		}
	}
	return names
}

// encodeLists encodes the list once, for the engine's clients and for C1. An engine's client takes every file whose name begins with
// that of its module and a dot, including its own program, and has only a checksum to verify it: its list leaves programs out. It can't run
// a game that is a program at all, and every file of such a game can be code: then its list is empty.
func (o *Offer) encodeLists() error {
	entries, hosts := make([]netproto.Entry, 0, len(o.files)), o.hosts()
	o.list = make([]netproto.ListedFile, len(o.files))
	for i, f := range o.files {
		sum, _ := f.Digest.SHA256()
		if !o.isProgram && (f.Role != release.Binary || !hosts[f.Path]) {
			entries = append(entries, netproto.Entry{Name: f.Path, Size: uint64(f.Size), Hash: f.FNV, Role: uint8(f.Role), Index: f.Index})
		}
		o.list[i] = netproto.ListedFile{Path: f.Path, Size: uint64(f.Size), SHA256: sum, Role: uint8(f.Role), Index: f.Index}
	}
	var err error
	o.descriptor, err = netproto.EncodeDescriptor(entries)
	return err
}

// InitData is the list for an engine's client. It has no game properties, because there is no game here.
func (o *Offer) InitData(clock int64) *netproto.InitData {
	return &netproto.InitData{Descriptor: o.descriptor, Time: clock}
}

// FileList is the list for a C1 client. Encoding a message modifies its fields, so every connection gets a copy.
func (o *Offer) FileList() *netproto.FileList {
	return &netproto.FileList{Files: slices.Clone(o.list)}
}

func (o *Offer) totalBytes() int64 {
	var sum int64
	for _, f := range o.files {
		sum += f.Size
	}
	return sum
}

// moduleBases are the base names of the target's modules.
func (o *Offer) moduleBases() (bases []string) {
	target := product.Target(o.target)
	for _, f := range o.files {
		if base := target.PayloadBase(f.Path); base != "" && f.isModule(o.target) {
			bases = append(bases, base)
		}
	}
	return bases
}

// unmatched are the target's own files that are not named after a variant of the game.
func (o *Offer) unmatched(game string) (names []string) {
	for _, f := range o.files {
		if _, is := product.ParseVariant(game, product.Target(o.target).PayloadBase(f.Path)); !is && f.Target != "" && f.Role == release.Binary {
			names = append(names, f.Path)
		}
	}
	return names
}

// contentIdentity is the identity of the packs of an offer.
func (o *Offer) contentIdentity() string {
	var packs []compat.Pack
	for _, f := range o.files {
		if sum, known := f.Digest.SHA256(); f.Role == release.Resource && known {
			packs = append(packs, compat.Pack{Path: f.Path, Size: f.Size, Sum: sum})
		}
	}
	return compat.DerivedContent(packs)
}
