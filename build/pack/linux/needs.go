package linux

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"collet/build/pack/bundle"
)

// maxScanned is the largest program whose text is looked through for names of libraries, in bytes. Ours has 25 MB, a big
// game's module some hundred.
const maxScanned = 2 << 30

// elfMagic begins every ELF file.
const elfMagic = "\x7fELF"

// needs is what the programs of a package want from the system.
type needs struct {
	needed map[string]map[string]bool // by soname, the versions of its symbols that are used: libc.so.6 → GLIBC_2.34
	opened map[string]bool            // sonames that libraries inside the programs open by themselves
	bits   string                     // "()(64bit)" without its first part, as rpm has it: "(64bit)" or nothing
}

// resources begins the paths of a game's resources.
const resources = "Resources/"

// foreignError says that a file is no program for the package's processor.
type foreignError struct{ error }

// needsOf reads the ELF files of a tree: what the loader has to find for them, and what GLFW and SDL inside them open. Libraries that
// the tree has itself are not wanted. A file for another processor is an error: it could not be started. Among the resources it is data: games
// that are programs can have libraries of all systems there.
func needsOf(tree bundle.Tree, p processor) (needs, error) {
	n := needs{needed: map[string]map[string]bool{}, opened: map[string]bool{}}
	if p.class == elf.ELFCLASS64 {
		n.bits = "(64bit)"
	}
	for _, e := range tree {
		if e.Link != "" {
			continue
		}
		if err := n.addFile(e, p); errors.As(err, new(foreignError)) && strings.HasPrefix(e.Path, resources) {
			continue
		} else if err != nil {
			return needs{}, fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	for _, e := range tree {
		delete(n.needed, path.Base(e.Path))
		delete(n.opened, path.Base(e.Path))
	}
	for name := range n.needed {
		delete(n.opened, name)
	}
	return n, nil
}

// addFile reads one file.
func (n *needs) addFile(e bundle.Entry, p processor) (err error) {
	in, size, err := e.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	start := make([]byte, len(elfMagic))
	if _, err := io.ReadFull(in, start); err != nil || string(start) != elfMagic {
		return nil // not a program, or too short for one; what can't be read fails when it is packed
	}
	if size > maxScanned {
		return fmt.Errorf("is a program of %d bytes; want at most %d", size, int64(maxScanned))
	}
	text, err := io.ReadAll(io.MultiReader(bytes.NewReader(start), in))
	if err != nil {
		return err
	}
	return n.readLibraries(text, p)
}

// readLibraries looks through a program.
func (n *needs) readLibraries(text []byte, p processor) error {
	f, err := elf.NewFile(bytes.NewReader(text))
	if err != nil {
		return foreignError{fmt.Errorf("looks like a program, but: %w", err)}
	}
	if f.Machine != p.machine || f.Class != p.class {
		return foreignError{fmt.Errorf("is for %v (%v), the package for %v (%v); is it the file of another target?", f.Machine, f.Class, p.machine, p.class)}
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("list of libraries: %w", err)
	}
	for _, name := range libraries {
		if n.needed[name] == nil {
			n.needed[name] = map[string]bool{}
		}
	}
	var versions []elf.DynamicVersionNeed
	if f.SectionByType(elf.SHT_GNU_VERNEED) != nil {
		if versions, err = f.DynamicVersionNeeds(); err != nil {
			return fmt.Errorf("list of symbol versions: %w", err)
		}
	}
	for _, from := range versions {
		for _, v := range from.Needs {
			if known := n.needed[from.Name]; known != nil {
				known[v.Dep] = true
			}
		}
	}
	for name := range openable {
		if bytes.Contains(text, []byte("\x00"+name+"\x00")) {
			n.opened[name] = true
		}
	}
	return nil
}

// openable are the libraries that windows open when they run, so that no list in a file has them: true, no window without it
// on X11; false, something is better with it (title bars on Wayland, a window for a module that has none else). The names are
// those in GLFW's and SDL's sources.
var openable = map[string]bool{
	"libX11.so.6": true, "libXcursor.so.1": true, "libXrandr.so.2": true, "libXinerama.so.1": true, "libXi.so.6": true,
	"libxkbcommon.so.0": true, "libX11-xcb.so.1": true, "libwayland-client.so.0": true,
	"libdecor-0.so.0": false, "libSDL2-2.0.so.0": false, "libSDL3.so.0": false, "libvulkan.so.1": false,
}

// debian gives the packages of Debian and its relatives.
func (n needs) debian() (depends, recommends []string) {
	for _, name := range slices.Sorted(maps.Keys(n.needed)) {
		relation := debianPackage(name)
		if v := newest(n.needed[name], "GLIBC_"); v != "" && relation == "libc6" {
			relation += " (>= " + v + ")"
		}
		depends = append(depends, relation)
	}
	for _, name := range slices.Sorted(maps.Keys(n.opened)) {
		if openable[name] {
			depends = append(depends, debianPackage(name))
		} else {
			recommends = append(recommends, debianPackage(name))
		}
	}
	return strongest(depends), strongest(recommends)
}

// strongest sorts relations and leaves one for each package: of libc6, which several libraries are in, the newest version.
func strongest(relations []string) []string {
	best := map[string]string{}
	for _, r := range relations {
		name, version, _ := strings.Cut(r, " (>= ")
		had, seen := best[name]
		_, before, _ := strings.Cut(had, " (>= ")
		if !seen || compareVersions(strings.TrimSuffix(version, ")"), strings.TrimSuffix(before, ")")) > 0 {
			best[name] = r
		}
	}
	return slices.Sorted(maps.Values(best))
}

// rpm gives what packages of all RPM distributions provide by themselves: sonames and versions of symbols.
func (n needs) rpm() (depends, recommends []string) {
	for _, name := range slices.Sorted(maps.Keys(n.needed)) {
		depends = append(depends, n.soname(name, ""))
		for _, version := range slices.Sorted(maps.Keys(n.needed[name])) {
			depends = append(depends, n.soname(name, version))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.opened)) {
		if openable[name] {
			depends = append(depends, n.soname(name, ""))
		} else {
			recommends = append(recommends, n.soname(name, ""))
		}
	}
	return depends, recommends
}

// soname is a library as rpm's dependency generator writes it: libc.so.6(GLIBC_2.34)(64bit). The dynamic loader, on amd64 and
// arm64, has no "(64bit)" where it says no version; it comes with libc, so it is left out.
func (n needs) soname(name, version string) string {
	if version == "" && n.bits == "" {
		return name
	}
	return name + "(" + version + ")" + n.bits
}

// newest is the highest version with a prefix, without it; nothing where none is numbers.
func newest(versions map[string]bool, prefix string) string {
	var best string
	for v := range versions {
		if number, found := strings.CutPrefix(v, prefix); found && compareVersions(number, best) > 0 {
			best = number
		}
	}
	return best
}

// compareVersions compares numbers with dots. What is no number counts as nothing.
func compareVersions(a, b string) int {
	numbers := func(v string) (all []int) {
		for part := range strings.SplitSeq(v, ".") {
			number, err := strconv.Atoi(part)
			if err != nil {
				return nil
			}
			all = append(all, number)
		}
		return all
	}
	return slices.Compare(numbers(a), numbers(b))
}

// unruly are libraries whose Debian package is not called as policy has it, section 8.1.
var unruly = map[string]string{
	"ld-linux-x86-64.so.2": "libc6", "ld-linux-aarch64.so.1": "libc6", "ld-linux.so.2": "libc6", "ld-linux-armhf.so.3": "libc6",
	"libm.so.6": "libc6", "libdl.so.2": "libc6", "libpthread.so.0": "libc6", "librt.so.1": "libc6", "libutil.so.1": "libc6",
	"libresolv.so.2": "libc6", "libanl.so.1": "libc6", "libnsl.so.1": "libc6",
	"libz.so.1": "zlib1g", "libEGL.so.1": "libegl1", "libGLESv1_CM.so.1": "libgles1",
	"libglib-2.0.so.0": "libglib2.0-0", "libgobject-2.0.so.0": "libglib2.0-0", "libgio-2.0.so.0": "libglib2.0-0",
	"libgthread-2.0.so.0": "libglib2.0-0", "libgmodule-2.0.so.0": "libglib2.0-0",
	"libharfbuzz.so.0": "libharfbuzz0b", "libbz2.so.1.0": "libbz2-1.0", "libtheoraenc.so.1": "libtheora0", "libtheoradec.so.1": "libtheora0",
	"libvorbisenc.so.2": "libvorbisenc2", "libgdk_pixbuf-2.0.so.0": "libgdk-pixbuf-2.0-0", "libFLAC.so.12": "libflac12",
}

// debianPackage names the package of a library: policy says that it is the soname in lower case without ".so.", with a "-"
// between a digit and the number behind it, and only history says otherwise. The 64-bit time transition renamed packages
// ("libasound2t64"), but on 64 bits those provide the old names.
func debianPackage(soname string) string {
	if name, known := unruly[soname]; known {
		return name
	}
	name, number, found := strings.Cut(soname, ".so")
	number = strings.TrimPrefix(number, ".")
	if last := name[max(len(name)-1, 0):]; found && number != "" && last >= "0" && last <= "9" {
		number = "-" + number
	}
	return strings.ReplaceAll(strings.ToLower(name+number), "_", "-")
}
