package pack

import (
	"slices"
	"time"

	"collet/build/pack/bundle"
	"collet/netproto/product"
)

// Project is a checked description: defaults are filled in, and paths are relative to the current folder or absolute. Load makes one.
type Project struct {
	Description
	File string // path of collet.toml
	Dir  string // absolute path of its folder

	time   time.Time
	root   string // content of Client.TrustedRoot; may be empty
	builds []Build
}

// Build is one variant of the game for one target, as it was compiled.
type Build struct {
	Target     product.Target
	Variant    product.Variant
	Base       string   // base name of host and module: Variant.Base of the game's name
	Host       string   // path of the program; empty: no client package for this build
	Module     string   // path of the module; empty for a game that is a program
	Program    string   // path of the game's executable in Folder, with slashes; empty for a game that is a module
	Folder     string   // path of the game's folder; empty for a game that is a module
	Launch     Launch   // how the executable is run; for a game that is a program
	HostPDB    string   // path of the host's symbols; may be empty
	ModulePDB  string   // path of the module's symbols; may be empty
	Companions []string // paths of other files beside the program
	Config     string   // settings for the config area of host and module: TOML, one setting a line, sorted

	files []gameFile // of Folder, that players get
}

// HostName returns the program's file name in packages.
func (b Build) HostName() string { return b.Target.ProgramName(b.Base) }

// ModuleName returns the file name of the module in packages and in a server's payload; of a game that is a program, that of the
// description in the module's place.
func (b Build) ModuleName() string {
	if b.Program != "" {
		return b.Base + product.DescriptionExt
	}
	return b.Target.LibraryName(b.Base)
}

// HostPDBName returns the file name of the host's symbols, as in its debug record.
func (b Build) HostPDBName() string { return b.Base + pdbExt }

// ModulePDBName returns the file name of the module's symbols, as in its debug record.
func (b Build) ModulePDBName() string { return b.ModuleName() + pdbExt }

const pdbExt = ".pdb"

// Product is what formats need to know of the game.
func (p *Project) Product() bundle.Product {
	return bundle.Product{
		Name: p.Game.Name, NiceName: p.Game.NiceName, ID: p.Game.ID, Version: p.Game.Version,
		Publisher: p.Game.Publisher, Maintainer: p.Game.Maintainer, Summary: p.Game.Summary,
		Description: p.Game.Description, Homepage: p.Game.Homepage, License: p.Game.License,
		Icon: p.Game.Icon, URIScheme: p.Game.URIScheme, UpgradeCode: p.Windows.UpgradeCode,
		Categories: p.Game.Categories, Time: p.time,
	}
}

// Builds returns all builds in the order of the targets; for each target the plain build, then the variants in their order.
func (p *Project) Builds() []Build { return p.builds }

// Build finds a build by its target and base name.
func (p *Project) Build(target product.Target, base string) (Build, bool) {
	for _, b := range p.builds {
		if b.Target == target && b.Base == base {
			return b, true
		}
	}
	return Build{}, false
}

// installable is the target of installers for Windows; clients for other processors are packed as archives.
const installable product.Target = "Windows-win64"

// Formats returns the package formats of clients for a target.
func (p *Project) Formats(target product.Target) []string {
	switch target.System() {
	case product.Windows:
		return slices.DeleteFunc(slices.Clone(p.Windows.Formats), func(f string) bool { return f != "zip" && target != installable })
	case product.Linux:
		return p.Linux.Formats
	case product.MacOS:
		return p.MacOS.Formats
	default:
		return nil
	}
}
