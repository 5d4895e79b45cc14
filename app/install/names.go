package install

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"collet/netproto/release"
)

const (
	// StagingSuffix marks a complete file that waits for its promotion (seed 000, "Two-layer client startup").
	StagingSuffix = "-staging"
	// BackupSuffix marks what a swap replaced (seed 000, "Two-layer client startup").
	BackupSuffix = ".bak"
	// PartPrefix marks bytes on their way (seed 000, "Resumable file transfer").
	PartPrefix = "~"
	// StateDir holds the journal and the lock.
	StateDir = ".collet"
	// lockFile stands for the install's lock, inside StateDir.
	lockFile = "lock"
	// readersFile stands for the lock that whoever uses the files of the set shares, inside StateDir.
	readersFile = "readers"
	// openFile says that the install is open, or was when its process or the machine stopped; inside StateDir.
	openFile = "open"
	// previousDir holds what the last proven set had, while its successor has not proven itself; inside StateDir.
	previousDir = "previous"
	// partsDir holds parts that can't lie beside their final files; inside StateDir.
	partsDir = "parts"
	// Recycler holds what a release dropped, and what stood in a release's way, one folder for each transaction.
	Recycler = "Recycler"
	// cacheFile holds the hash cache, inside Names.Cache.
	cacheFile = "hashes"
	// symbolsExt is the extension of debug symbols (seed 000, "Packaging").
	symbolsExt = ".pdb"
	// programExt is the extension of programs, where they have one.
	programExt = ".exe"
)

// kind says how a file of a transaction becomes live. The words stand in the journal.
type kind string

const (
	pack      kind = "pack"      // part → live
	module    kind = "module"    // part → staged → live, the old one to .bak
	companion kind = "companion" // part → staged → live, best effort
)

// part is where the bytes arrive: beside the final file, so that the last step is a rename within one folder; or aside,
// where the final file's folder can't be there before the swap.
func (e entry) part() string {
	if e.Aside {
		return path.Join(StateDir, partsDir, e.Live)
	}
	dir, base := path.Split(e.Live)
	return dir + PartPrefix + base
}

// places are where its part may lie: a stop may come between the part's move and the record of where it lies.
func (e entry) places() []string {
	beside, aside := e, e
	beside.Aside, aside.Aside = false, true
	return []string{beside.part(), aside.part()}
}

// staged is where the complete file waits. A program keeps its extension, without which Windows does not start it.
func (e entry) staged() string {
	if ext := path.Ext(e.Live); e.Kind == module && strings.EqualFold(ext, programExt) {
		return strings.TrimSuffix(e.Live, ext) + StagingSuffix + ext
	}
	return e.Live + StagingSuffix
}

// ready is where the complete file waits for the swap.
func (e entry) ready() string {
	if e.Kind == pack {
		return e.part()
	}
	return e.staged()
}

// backup is where the last proven file of this name waits until its successor has proven itself.
func (e entry) backup() string {
	if e.Kind == module {
		return e.Live + BackupSuffix
	}
	return path.Join(StateDir, previousDir, e.Live)
}

// Names says how this install calls its files.
type Names struct {
	Runtime   string // base name of the host, and so of its module: "Lathe"
	Server    string // the base name under which the server keeps the module; empty means the same
	Ext       string // extension of modules on this target: ".so"
	Resources string // folder of the packs, relative to the install folder: "Resources"
	Cache     string // folder of the hash cache, relative to the install folder: "Cache"
	// Program says that all of this is about the program itself and nothing else: see ProgramNames.
	Program bool `json:",omitempty"`
}

// Library is the live module's name.
func (n Names) Library() string { return n.Runtime + n.Ext }

// checked gives the folders their one spelling, and refuses a layout in which a pack of the server could meet a file of
// ours: packs have a folder of their own, in which nothing else of the install lies. The error is for whoever wrote the
// settings.
func (n Names) checked() (Names, error) {
	if n.Runtime == "" || n.Ext == "" && !n.Program || strings.ContainsAny(n.Library(), `/\`) {
		return n, fmt.Errorf("module %q: want a plain file name with an extension", n.Library())
	}
	n.Resources, n.Cache = path.Clean(filepath.ToSlash(n.Resources)), path.Clean(filepath.ToSlash(n.Cache))
	ours := []string{StateDir, Recycler, n.Library()}
	for _, folder := range []string{n.Cache, n.Resources} {
		if reason := release.CheckPath(folder); reason != nil {
			return n, fmt.Errorf("folder of the install: %v", reason)
		}
		for _, other := range ours {
			if nested(folder, other) || nested(other, folder) {
				return n, fmt.Errorf("folder of the install: %q and %q are in each other's way", folder, other)
			}
		}
		ours = append(ours, folder)
	}
	return n, nil
}

// nested reports whether inner is outer, or below it, on some system.
func nested(inner, outer string) bool {
	return strings.HasPrefix(release.Fold(inner)+"/", release.Fold(outer)+"/")
}

// Takes reports whether a file of the server is for this host.
func (n Names) Takes(f release.File) bool {
	_, ok := n.entryOf(f)
	return ok
}

// entryOf finds out whether a file of the server concerns this install, and where it lives here. Roles that we don't know are
// skipped.
func (n Names) entryOf(f release.File) (e entry, ok bool) {
	switch f.Role {
	case release.Resource:
		return n.packEntry(f), !n.Program
	case release.Binary:
		return n.binaryEntry(f)
	default:
		return entry{}, false
	}
}

// packEntry is where a resource of the server lives.
func (n Names) packEntry(f release.File) entry {
	return entry{Kind: pack, Live: path.Join(n.Resources, f.Path), Size: f.Size, Digest: f.Digest}
}

// binaryEntry finds out whether a binary of the server belongs to this host, and under which name it lives here. The
// server's prefix is replaced by ours, so that a renamed host keeps its own module (seed 000, "Init data").
//
// Narrower than the source, which takes every name that begins with the prefix and a dot: only the module, files named
// after it ("Lathe.so.pdb") and the host's symbols ("Lathe.pdb") are taken, so that no server can replace the host
// itself, its settings or its log.
func (n Names) binaryEntry(f release.File) (e entry, ok bool) {
	prefix := n.Server
	if prefix == "" {
		prefix = n.Runtime
	}
	rest, found := strings.CutPrefix(f.Path, prefix)
	e = entry{Live: n.Runtime + rest, Size: f.Size, Digest: f.Digest}
	switch {
	case !found || strings.Contains(rest, "/"):
		return entry{}, false
	case rest == n.Ext:
		e.Kind = module
	case n.Program:
		return entry{}, false
	case rest == symbolsExt, strings.HasPrefix(rest, n.Ext+".") && !reserved(rest):
		e.Kind = companion
	default:
		return entry{}, false
	}
	return e, true
}

// reserved reports whether a name is one that this package gives a meaning, on some system.
func reserved(name string) bool {
	name = release.Fold(name)
	return strings.HasSuffix(name, BackupSuffix) || strings.HasSuffix(name, StagingSuffix)
}

// hostSymbols are the debug symbols of the host. The host is not updated with them, so they are only fetched when they
// are absent (fonline reference, section 3.4).
func (n Names) hostSymbols() string { return n.Runtime + symbolsExt }
