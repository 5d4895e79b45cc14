package pack

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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

// few refuses a list that exceeds its limit.
func (c *checker) few(key string, n, most int) {
	if n > most {
		c.add(key, "", "has %d elements, of which at most %d are allowed", n, most)
	}
}

// embeddedPack is the name that the engine reserves for resources inside programs.
const embeddedPack = "Embedded"

func (c *checker) resources() {
	c.few("resources.pack", len(c.p.Resources.Packs), maxPacks)
	seen := map[string]string{}
	for i := range c.p.Resources.Packs {
		k := &c.p.Resources.Packs[i]
		key := element("resources.pack", i)
		c.packName(key+".name", k.Name, seen)
		c.packFrom(key, k)
	}
}

func (c *checker) packName(key, name string, seen map[string]string) {
	bare, zipped := strings.CutSuffix(name, ".zip")
	fault := release.CheckPath(name + ".zip")
	other, twice := seen[folded(name)]
	switch {
	case name == "":
		c.missing(key, `name the pack, without ".zip"`)
	case zipped:
		c.add(key, "write "+bare, "has its extension")
	case strings.EqualFold(name, embeddedPack):
		c.add(key, "choose another one", "%q is what programs have in themselves", name)
	case fault != nil || strings.Contains(name, "/"):
		c.add(key, "want a name that every system takes for a file, without folders", "%q can't be used", name)
	case twice && other == name:
		c.add(key, "names are different", "%q is there twice", name)
	case twice:
		c.add(key, "make them differ by more than case", "%q and %q are one file on Windows and macOS", other, name)
	}
	seen[folded(name)] = name
}

func (c *checker) packFrom(key string, k *Pack) {
	if k.From == "" {
		c.missing(key+".from", "name the folder with its files")
		return
	}
	if !c.path(key+".from", &k.From, either) {
		return
	}
	info, err := os.Stat(k.From)
	switch {
	case err != nil || info.IsDir():
	case !strings.EqualFold(filepath.Ext(k.From), ".zip"):
		c.add(key+".from", "want a folder, or a finished .zip", "%s is neither", filepath.Base(k.From))
	case k.Deflate:
		c.add(key+".deflate", "leave it out, or name the folder that the zip was made from", "a finished zip is taken as it is")
	}
}

// knownTargets returns the targets that can be packed: those whose clients replace their own module.
func knownTargets() (names []string) {
	for _, t := range product.Targets() {
		if t.CanSelfUpdate() && !strings.HasSuffix(string(t), "-unknown") {
			names = append(names, string(t))
		}
	}
	return names
}

func (c *checker) targets() {
	list := c.p.Targets
	if len(list) == 0 {
		c.missing("target", "add a table [[target]] for each system that the game was built for")
	}
	c.few("target", len(list), maxTargets)
	for i := range list {
		t, key := &list[i], element("target", i)
		c.targetName(key+".name", t.Name, list[:i])
		if t.Module == "" {
			c.missing(key+".module", "name the native module that was built for "+t.Name)
		}
		c.files(key, t, product.Target(t.Name))
		if isWindows(t.Name) && t.ModulePDB == "" && !t.NoSymbols {
			c.missing(key+".module-pdb", "name the symbols of the module, or say no-symbols = true")
		}
	}
}

func isWindows(target string) bool { return product.Target(target).System() == product.Windows }

func (c *checker) targetName(key, name string, before []Target) {
	known := knownTargets()
	switch {
	case name == "":
		c.missing(key, "want "+oneOf(known))
	case !slices.Contains(known, name):
		c.add(key, targetAdvice(name, known), "%q is unknown", name)
	case slices.ContainsFunc(before, func(t Target) bool { return t.Name == name }):
		c.add(key, "put both into one table", "%q is there twice", name)
	}
}

// targetAdvice is didYouMean for targets. It also knows common other names: windows-amd64, darwin/arm64.
func targetAdvice(name string, known []string) string {
	system, processor, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(name), "/", "-"), "-")
	if system == "macos" {
		system = "darwin"
	}
	for goarch, others := range map[string][]string{"amd64": {"x64", "x86_64", "win64"}, "386": {"x86", "i386", "win32"}, "arm64": {"aarch64"}} {
		if slices.Contains(others, processor) {
			processor = goarch
		}
	}
	if meant := string(product.TargetFor(system, processor)); slices.Contains(known, meant) {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return didYouMean(name, known)
}

// files checks and resolves the files that a table names for a target.
func (c *checker) files(key string, t *Target, target product.Target) {
	windows := target.System() == product.Windows
	if c.path(key+".host", &t.Host, aFile) {
		c.format(key+".host", t.Host, target)
		c.picturesFit(key+".host", t.Host)
	}
	if c.path(key+".module", &t.Module, aFile) {
		c.extension(key+".module", t.Module, target.LibraryExt())
		c.format(key+".module", t.Module, target)
		c.picturesFit(key+".module", t.Module)
	}
	for name, pdb := range map[string]*string{".host-pdb": &t.HostPDB, ".module-pdb": &t.ModulePDB} {
		if *pdb != "" && !windows {
			c.add(key+name, "leave it out", "only Windows has symbols in .pdb files")
		} else if c.path(key+name, pdb, aFile) {
			c.extension(key+name, *pdb, pdbExt)
		}
	}
	if t.NoSymbols && (!windows || t.ModulePDB != "") {
		c.add(key+".no-symbols", "leave it out", "goes only with a module for Windows that has no module-pdb")
	}
	c.few(key+".companions", len(t.Companions), maxCompanions)
	for i := range t.Companions {
		if t.Companions[i] == "" {
			c.missing(element(key+".companions", i), "take it out")
		}
		c.path(element(key+".companions", i), &t.Companions[i], aFile)
	}
}

func (c *checker) extension(key, file, want string) {
	if got := filepath.Ext(file); !strings.EqualFold(got, want) {
		c.add(key, "want a file that ends in "+want, "%s ends in %q", filepath.Base(file), got)
	}
}

// format refuses a program that was built for another system or processor. An unknown format passes.
func (c *checker) format(key, file string, target product.Target) {
	if is := builtFor(file); len(is) > 0 && !slices.Contains(is, target) {
		c.add(key, "name the file that was built for "+string(target), "%s was built for %s", filepath.Base(file), is[0])
	}
}

// ownNames are names beside the program that the client itself writes or reads.
var ownNames = []string{"Resources", "Cache", "INSTALLED", ".collet", "uninstall.exe"}

// beside checks that the files of a build can share one folder on every system.
func (c *checker) beside(key string, b Build) {
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
