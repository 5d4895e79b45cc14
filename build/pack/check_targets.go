package pack

import (
	"path"
	"path/filepath"
	"slices"

	"collet/build/advice"
	"collet/build/publish/check"
	"collet/netproto/product"
	"collet/netproto/release"
)

// Limits of lists, far above what a game has.
const (
	maxPacks      = 1000
	maxTargets    = 64
	maxVariants   = 64
	maxCompanions = 1000
)

// targetChecker checks targets and the files that were built for them. Builds of variants are described like targets.
type targetChecker struct {
	*fileChecker
	rooms    *roomChecker
	launches *launchChecker
}

func (c *targetChecker) check(list []Target) {
	if len(list) == 0 {
		c.addMissing("target", "add a table [[target]] for each system that the game was built for")
	}
	c.checkCount("target", len(list), maxTargets)
	for i := range list {
		t, key := &list[i], element("target", i)
		c.checkName(key+".name", t.Name, list[:i])
		switch {
		case t.Program != "":
			c.launches.checkTarget(key, t)
		case t.Module == "" && c.launches.p.isProgram():
			c.addMissing(key+".program", "name the game's executable for "+t.Name+" in target.folder; all targets have one, or none")
		case t.Module == "":
			c.addMissing(key+".module", "name the native module that was built for "+t.Name+", or the game's executable in program")
		}
		c.checkFiles(key, t, product.Target(t.Name))
		if isWindows(t.Name) && t.Module != "" && t.ModulePDB == "" && !t.NoSymbols {
			c.addMissing(key+".module-pdb", "name the symbols of the module, or say no-symbols = true")
		}
	}
}

func isWindows(target string) bool { return product.Target(target).System() == product.Windows }

func (c *targetChecker) checkName(key, name string, before []Target) {
	known := check.Packable()
	switch {
	case name == "":
		c.addMissing(key, "want "+advice.OneOf(known))
	case !slices.Contains(known, name):
		c.add(key, check.TargetAdvice(name), "%q is unknown", name)
	case slices.ContainsFunc(before, func(t Target) bool { return t.Name == name }):
		c.add(key, "put both into one table", "%q is there twice", name)
	}
}

// checkFiles checks and resolves the files that a table names for a target.
func (c *targetChecker) checkFiles(key string, t *Target, target product.Target) {
	windows := target.System() == product.Windows
	if t.Host != "" && (filepath.IsAbs(t.Host) && c.launches.found[t.Host] || c.resolve(key+".host", &t.Host, aFile)) {
		c.checkTarget(key+".host", t.Host, target, check.Host)
		c.rooms.checkPictures(key+".host", t.Host)
	}
	if c.resolve(key+".module", &t.Module, aFile) {
		c.checkExtension(key+".module", t.Module, target.LibraryExt())
		c.checkTarget(key+".module", t.Module, target, check.Library)
		c.rooms.checkPictures(key+".module", t.Module)
	}
	for name, pdb := range map[string]*string{".host-pdb": &t.HostPDB, ".module-pdb": &t.ModulePDB} {
		if *pdb != "" && !windows {
			c.add(key+name, "leave it out", "only Windows has symbols in .pdb files")
		} else if c.resolve(key+name, pdb, aFile) {
			c.checkExtension(key+name, *pdb, pdbExt)
		}
	}
	if t.NoSymbols && (!windows || t.ModulePDB != "") {
		c.add(key+".no-symbols", "leave it out", "goes only with a module for Windows that has no module-pdb")
	}
	c.checkCount(key+".companions", len(t.Companions), maxCompanions)
	for i := range t.Companions {
		if t.Companions[i] == "" {
			c.addMissing(element(key+".companions", i), "take it out")
		}
		c.resolve(element(key+".companions", i), &t.Companions[i], aFile)
	}
}

// ownNames are names beside the program that the client itself writes or reads.
var ownNames = []string{"Resources", "Cache", "INSTALLED", ".collet", "uninstall.exe"}

// checkNeighbours checks that the files of a build can share one folder on every system.
func (c *targetChecker) checkNeighbours(key string, b Build) {
	seen := map[string]string{}
	for _, name := range slices.Concat(ownNames, []string{b.HostName(), b.ModuleName(), b.HostPDBName(), b.ModulePDBName(), b.Base + ".toml", b.Base + ".log"}) {
		seen[folded(name)] = name
	}
	for i, from := range b.Companions {
		at, name := element(key, i), path.Base(filepath.ToSlash(from))
		if err := release.CheckPath(name); err != nil {
			c.add(at, "rename it", "not every system takes %q for a file", name)
		}
		if other, twice := seen[folded(name)]; twice {
			c.add(at, "rename one of them", "%s and %s are one file beside the program", other, name)
		}
		seen[folded(name)] = name
	}
}
