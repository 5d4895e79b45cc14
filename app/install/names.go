package install

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"collet/netproto/product"
	"collet/netproto/release"
)

const (
	// StagingSuffix marks a complete file that waits for the swap.
	StagingSuffix = "-staging"
	// BackupSuffix marks a file that a swap replaced.
	BackupSuffix = ".bak"
	// PartPrefix marks a file in transfer.
	PartPrefix = "~"
	// StateDir holds the journal and the lock.
	StateDir = ".collet"
	// LockFile represents the install's lock, inside StateDir.
	LockFile = "lock"
	// ReadersFile represents the shared lock of all processes that use the files of the set; inside StateDir.
	ReadersFile = "readers"
	// OpenFile exists while the install is open, and after its process or the machine stopped; inside StateDir.
	OpenFile = "open"
	// KeptFile records which shipped forms of the player's files were placed; inside StateDir. Package runtime/program writes it.
	KeptFile = "kept"
	// previousDir holds files of the last proven set while its successor is pending; inside StateDir.
	previousDir = "previous"
	// partsDir holds parts that can't lie beside their final files; inside StateDir.
	partsDir = "parts"
	// Recycler holds files dropped by a release and files moved out of the way, one folder for each transaction.
	Recycler = "Recycler"
	// CacheFile holds the hash cache, inside Names.Cache.
	CacheFile = "hashes"
	// symbolsExt is the extension of debug symbols.
	symbolsExt = ".pdb"
	// ProgramExt is the extension of programs on systems with one.
	ProgramExt = ".exe"
)

// Names of the host's own files in an install. Predictions of a start reserve room for them.
const (
	// BellFile holds the address of the running host; inside StateDir.
	BellFile = "bell"
	// GuardFile records the last update and the server that requested it; inside Names.Cache.
	GuardFile = "last-update"
	// ReleaseFolder holds cached data of signed releases; inside Names.Cache.
	ReleaseFolder = "release"
)

// Names holds the file names of an install.
type Names struct {
	Runtime   string // base name of the host, and so of its module: "Lathe"
	Server    string // base name of the module on the server; empty means Runtime
	Ext       string // extension of modules on this target: ".so"; product.DescriptionExt for a game that is a program
	Resources string // folder of the packs, relative to the install folder: "Resources"
	Cache     string // folder of the hash cache, relative to the install folder: "Cache"
	// Program marks an install of the program itself: see ProgramNames.
	Program bool `json:",omitempty"`
}

// runsProgram reports whether the module is the description of a program: then every file of the set may be code.
func (n Names) runsProgram() bool { return n.Ext == product.DescriptionExt }

// Library is the name of the live module.
func (n Names) Library() string { return n.Runtime + n.Ext }

// Checked cleans the folder names and rejects a layout in which a pack from the server could collide with the install's own
// files. Packs have a folder of their own. The error is for the author of the settings.
func (n Names) Checked() (Names, error) {
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
			if contains(folder, other) || contains(other, folder) {
				return n, fmt.Errorf("folder of the install: %q and %q are in each other's way", folder, other)
			}
		}
		ours = append(ours, folder)
	}
	return n, nil
}

// contains reports whether inner is outer or lies below it, on any system.
func contains(inner, outer string) bool {
	return strings.HasPrefix(release.Fold(inner)+"/", release.Fold(outer)+"/")
}

// Takes reports whether a file from the server belongs to this host.
func (n Names) Takes(f release.File) bool {
	_, ok := n.entryOf(f)
	return ok
}

// entryOf reports whether a file from the server belongs to this install, and its name here. It skips unknown roles.
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

// packEntry is the entry of a resource from the server.
func (n Names) packEntry(f release.File) entry {
	return entry{Kind: Pack, Live: path.Join(n.Resources, f.Path), Size: f.Size, Digest: f.Digest}
}

// binaryEntry reports whether a binary from the server belongs to this host, and its name here. It replaces the server's
// prefix by the local one, so that a renamed host keeps its own module.
//
// It accepts only the module, files named after it ("Lathe.so.pdb") and the host's symbols ("Lathe.pdb"). A server
// therefore can't replace the host itself, its settings or its log.
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
		e.Kind = Module
	case n.Program:
		return entry{}, false
	case rest == symbolsExt, strings.HasPrefix(rest, n.Ext+".") && !reserved(rest):
		e.Kind = Companion
	default:
		return entry{}, false
	}
	return e, true
}

// reserved reports whether a name has a suffix of this package, on any system.
func reserved(name string) bool {
	name = release.Fold(name)
	return strings.HasSuffix(name, BackupSuffix) || strings.HasSuffix(name, StagingSuffix)
}

// hostSymbols are the debug symbols of the host. The host is not updated with them, so they are fetched only if absent.
func (n Names) hostSymbols() string { return n.Runtime + symbolsExt }
