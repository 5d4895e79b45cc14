package linux

import (
	"debug/elf"
	"fmt"
	"regexp"
	"strings"

	"collet/build/pack/bundle"
	"collet/netproto/product"
)

// names is what one client is called on a Linux system.
type names struct {
	pkg   string // of the package, its folder and its link: "lathe-opengl"
	id    string // of desktop files, icons and AppStream: "org.example.lathe.opengl"
	title string // what people read: "The Lathe (OpenGL)"
}

var (
	// packageName is what Debian's policy takes, section 5.6.1; rpm takes more.
	packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)
	// componentID is what the AppStream specification takes: a reverse domain name of three elements, none begins with a digit.
	componentID = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*){2,}$`)
)

// namesOf tells a variant from the plain client by what follows the product's name in the base name.
func namesOf(b bundle.Bundle) (names, error) {
	p := b.Product
	n := names{pkg: kebab(b.Base), id: p.ID, title: p.NiceName}
	if rest, found := strings.CutPrefix(b.Base, p.Name); b.Base != p.Name {
		if !found {
			rest = b.Base
		}
		words := strings.FieldsFunc(rest, func(r rune) bool { return r == '_' || r == ' ' })
		n.id += "." + strings.ToLower(strings.ReplaceAll(strings.Join(words, "_"), "-", "_"))
		n.title += " (" + strings.Join(words, ", ") + ")"
	}
	switch {
	case !packageName.MatchString(n.pkg):
		return names{}, fmt.Errorf("%q, from the base name %q, can't be the name of a package: want two or more of a-z, 0-9, +, - and ., the first a letter or digit", n.pkg, b.Base)
	case !componentID.MatchString(n.id):
		return names{}, fmt.Errorf("%q can't be an AppStream id: want a reverse domain name of three parts or more, of letters, digits, - and _, none of which begins with a digit", n.id)
	}
	return n, nil
}

// kebab is a name as packages have it.
func kebab(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == ' ' {
			return '-'
		}
		return r
	}, strings.ToLower(name))
}

// home is the folder of a client's files.
func (n names) home() string { return "usr/lib/games/" + n.pkg }

// processor is one that packages can be for.
type processor struct {
	nfpm    string // what nfpm calls it
	machine elf.Machine
	class   elf.Class
}

// processors are those of Linux targets.
var processors = map[product.Target]processor{
	product.TargetFor("linux", "amd64"): {"amd64", elf.EM_X86_64, elf.ELFCLASS64},
	product.TargetFor("linux", "arm64"): {"arm64", elf.EM_AARCH64, elf.ELFCLASS64},
	product.TargetFor("linux", "386"):   {"386", elf.EM_386, elf.ELFCLASS32},
	product.TargetFor("linux", "arm"):   {"arm7", elf.EM_ARM, elf.ELFCLASS32},
}

func processorOf(t product.Target) (processor, error) {
	p, known := processors[t]
	if !known {
		return processor{}, fmt.Errorf("target %q is no Linux that packages can be for; want Linux-x64, Linux-arm64, Linux-x86 or Linux-arm", t)
	}
	return p, nil
}

// version is the numbers of a product's version, and behind a dash what comes before that version is out.
var versionForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)*)(?:-([0-9A-Za-z.+-]+))?$`)

// packageVersion is a version as dpkg and rpm compare it: what is not out yet sorts before what is, which both say with "~",
// and "-" separates nothing.
func packageVersion(version string) (string, error) {
	parts := versionForm.FindStringSubmatch(version)
	switch {
	case parts == nil:
		return "", fmt.Errorf("version %q: want numbers with dots, and what is before a release behind a dash: 1.4.2 or 1.4.2-beta.1", version)
	case parts[2] == "":
		return parts[1], nil
	default:
		return parts[1] + "~" + strings.ReplaceAll(parts[2], "-", "."), nil
	}
}
