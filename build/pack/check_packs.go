package pack

import (
	"os"
	"path/filepath"
	"strings"

	"collet/build/publish/check"
	"collet/netproto/release"
)

// embeddedPack is the name that the engine reserves for resources inside programs.
const embeddedPack = "Embedded"

// packChecker checks the packs of resources.
type packChecker struct{ *fileChecker }

func (c *packChecker) check(packs []Pack) {
	c.checkCount("resources.pack", len(packs), maxPacks)
	seen := map[string]string{}
	for i := range packs {
		k := &packs[i]
		key := element("resources.pack", i)
		c.checkName(key+".name", k.Name, seen)
		c.checkSource(key, k)
	}
}

func (c *packChecker) checkName(key, name string, seen map[string]string) {
	bare, zipped := strings.CutSuffix(name, ".zip")
	fault := release.CheckPath(name + ".zip")
	other, twice := seen[folded(name)]
	switch {
	case name == "":
		c.addMissing(key, `name the pack, without ".zip"`)
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

func (c *packChecker) checkSource(key string, k *Pack) {
	if k.From == "" {
		c.addMissing(key+".from", "name the folder with its files")
		return
	}
	if !c.resolve(key+".from", &k.From, either) {
		return
	}
	info, err := os.Stat(k.From)
	switch {
	case err != nil || info.IsDir():
	case !strings.EqualFold(filepath.Ext(k.From), ".zip"):
		c.add(key+".from", "want a folder, or a finished .zip", "%s is neither", filepath.Base(k.From))
	case k.Deflate:
		c.add(key+".deflate", "leave it out, or name the folder that the zip was made from", "a finished zip is taken as it is")
	default:
		c.checkArchive(key+".from", k.From)
	}
}

// checkArchive opens a finished pack.
func (c *packChecker) checkArchive(key, file string) {
	in, err := os.Open(file)
	if err != nil {
		c.add(key, "", "%s can't be read: %v", filepath.Base(file), cause(err))
		return
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		c.add(key, "", "%s can't be read: %v", filepath.Base(file), cause(err))
	} else if fault := check.Pack(filepath.Base(file), in, info.Size()); fault != nil {
		c.add(key, fault.Want, "%s", fault.What)
	}
}
