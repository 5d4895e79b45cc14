package pack

import (
	"slices"
	"time"

	"collet/build/pack/bundle"
	"collet/netproto/product"
)

// Project is a description that was checked: defaults are filled in, and paths lead from the current folder or the root.
// Load makes one.
type Project struct {
	Description
	File string // path of collet.toml
	Dir  string // absolute path of the folder that it lies in

	time   time.Time
	root   string // the bytes of Client.TrustedRoot; empty for none
	builds []Build
}

// Build is one variant of the game for one target, as it was compiled.
type Build struct {
	Target     product.Target
	Variant    product.Variant
	Base       string   // base name of host and module: Variant.Base of the game's name
	Host       string   // path of the program; empty: there is no client package of this build
	Module     string   // path of the module
	HostPDB    string   // path of the host's symbols; empty for none
	ModulePDB  string   // path of the module's symbols; empty for none
	Companions []string // paths of other files beside the program
	Config     string   // settings for the config area of host and module: TOML, a setting a line, sorted
}

// HostName is the program's file name in packages.
func (b Build) HostName() string { return b.Target.ProgramName(b.Base) }

// ModuleName is the module's file name in packages, and in what a server offers.
func (b Build) ModuleName() string { return b.Target.LibraryName(b.Base) }

// HostPDBName is the file name of the host's symbols, which its debug record names.
func (b Build) HostPDBName() string { return b.Base + pdbExt }

// ModulePDBName is the file name of the module's symbols, which its debug record names.
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

// Builds are all builds: in the order of the targets, of each the plain one first, then the variants in their order.
func (p *Project) Builds() []Build { return p.builds }

// Build finds one by its target and base name.
func (p *Project) Build(target product.Target, base string) (Build, bool) {
	for _, b := range p.builds {
		if b.Target == target && b.Base == base {
			return b, true
		}
	}
	return Build{}, false
}

// installable is the target that installers for Windows are made for; clients for other processors are packed as archives.
const installable product.Target = "Windows-win64"

// Formats are those in which clients for a target are packed.
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
