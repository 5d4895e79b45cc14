package wrap

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"collet/build/publish/check"
	"collet/netproto/product"
)

// kind is what a file is to the system.
type kind string

const (
	data       kind = ""
	executable kind = "executable"
	library    kind = "library"
	script     kind = "script"        // begins with #!
	badScript  kind = "bad script"    // could be started if it began with #!
	foreign    kind = "other machine" // a program for a processor that no target has
	damaged    kind = "damaged"       // ends before its own header does
)

// file is one file of a tree.
type file struct {
	path    string // relative to the tree's folder, with slashes
	size    int64
	kind    kind
	targets []product.Target // of an executable or library
	window  bool             // an executable of Windows that opens windows, and no console
}

// tree is a folder with its files.
type tree struct {
	fsys  fs.FS
	files []file // sorted by path
	dirs  map[string]bool
}

// errTooMany ends the listing of a folder with too many files.
var errTooMany = &Error{File: ".", Key: "target.folder", What: fmt.Sprintf("has more than %d files", MaxFiles),
	Want: "name the folder of the built game, not one above it"}

// scan lists a folder. Names for which skip is true and those that begin with a dot are left out, with all below them.
func scan(fsys fs.FS, skip func(name string) bool) (*tree, error) {
	t := &tree{fsys: fsys, dirs: map[string]bool{}}
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name != ".":
			return nil // what can't be read decides nothing; publishing will name it
		case err != nil || name == ".":
			return err
		case strings.HasPrefix(e.Name(), ".") || skip(name):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			t.dirs[name] = true
			return nil
		case len(t.files) == MaxFiles:
			return errTooMany
		}
		info, err := fs.Stat(fsys, name) // follows links
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		f := file{path: name, size: info.Size()}
		if mayStart(name, info.Mode()) {
			f.classify(readHead(fsys, name), info.Mode()&0o111 != 0)
		}
		t.files = append(t.files, f)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{File: ".", Key: "target.folder", What: "is not there", Want: "name the folder of the built game"}
	}
	slices.SortFunc(t.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return t, err
}

// startable are the extensions of programs, libraries and scripts; files without any count, too. Scripts of Python and Perl need not be
// executable to be started by hand.
var startable = regexp.MustCompile(`(?i)^[^.]*$|\.(exe|dll|so|dylib|sh|py|pl|run|bin|x86|x86_64|amd64|arm64|i[36]86|appimage|elf|love)$|[._-](x86|x64|linux|shipping|debug|[0-9]+)$`)

// mayStart reports whether a file's beginning has to be read.
func mayStart(name string, mode fs.FileMode) bool {
	return mode&0o111 != 0 || startable.MatchString(path.Base(name)) || strings.Contains(path.Base(name), ".so.")
}

// readHead reads the beginning of a file; empty if it can't be read.
func readHead(fsys fs.FS, name string) []byte { return readSome(fsys, name, check.HeadSize) }

// readSome reads at most limit bytes of a file; empty if it can't be read.
func readSome(fsys fs.FS, name string, limit int64) []byte {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	return data
}

// classify finds out what a file is. isExecutable is its mode's x bit.
func (f *file) classify(head []byte, isExecutable bool) {
	f.targets = check.TargetsOf(head)
	base := strings.ToLower(path.Base(f.path))
	switch {
	case bytes.HasPrefix(head, []byte("#!")):
		f.kind = script
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)) && len(head) < elfHeader32:
		f.kind = damaged
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)) && len(f.targets) == 0:
		f.kind = foreign
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		f.kind = elfKind(head, base)
	case bytes.HasPrefix(head, []byte("MZ")):
		f.kind, f.window = peKind(head)
	case len(f.targets) > 0: // Mach-O
		f.kind = library
		if path.Ext(base) != ".dylib" && !strings.Contains(f.path, ".framework/") && isMachOProgram(head) {
			f.kind = executable
		}
	case path.Ext(base) == ".sh" || isExecutable && isText(head) && path.Ext(base) == "":
		f.kind = badScript
	}
}

// forTargets returns the targets that an executable is the game of. One of 32 bits is that of Windows-win64: the client starts it as a
// program of its own, and every Windows of 64 bits runs it.
func (f file) forTargets() []product.Target {
	if len(f.targets) == 1 && f.targets[0] == product.TargetFor("windows", "386") {
		return []product.Target{product.TargetFor("windows", "amd64")}
	}
	return f.targets
}

// isText reports whether a file begins with printable text.
func isText(head []byte) bool {
	return len(head) > 0 && !slices.ContainsFunc(head, func(b byte) bool { return b < '\t' || b > '\r' && b < ' ' })
}

// Offsets in ELF headers of 32 and 64 bits: the type, and the table of segments with the size and number of its entries.
const (
	elfType                      = 16
	elfTable32, elfTable64       = 28, 32
	elfEntrySize32, elfEntries32 = 42, 44
	elfEntrySize64, elfEntries64 = 54, 56
	elfHeader32                  = 52 // size in bytes of the smaller header
)

// elfKind tells programs from libraries: both can be position independent, but only programs name an interpreter. Some libraries do, too.
func elfKind(head []byte, base string) kind {
	little := binary.LittleEndian
	if len(head) < 64 {
		return data
	}
	switch t := elf.Type(little.Uint16(head[elfType:])); {
	case t == elf.ET_EXEC:
		return executable
	case t != elf.ET_DYN:
		return data
	case strings.HasSuffix(base, ".so") || strings.Contains(base, ".so."):
		return library
	}
	table, size, count := uint64(little.Uint32(head[elfTable32:])), little.Uint16(head[elfEntrySize32:]), little.Uint16(head[elfEntries32:])
	if elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS64 {
		table, size, count = little.Uint64(head[elfTable64:]), little.Uint16(head[elfEntrySize64:]), little.Uint16(head[elfEntries64:])
	}
	for i := range uint64(count) {
		at := table + i*uint64(size)
		if at > uint64(len(head)-4) {
			break
		}
		if elf.ProgType(little.Uint32(head[at:])) == elf.PT_INTERP {
			return executable
		}
	}
	return library
}

// Offsets in PE files: where the DOS header has that of the PE header, and in this one.
const (
	dosOffset         = 0x3c
	peCharacteristics = 22
	peSubsystem       = 24 + 68
)

// peKind tells programs from libraries and drivers, and whether a program opens windows.
func peKind(head []byte) (k kind, window bool) {
	if len(head) < dosOffset+4 {
		return data, false
	}
	at := int64(binary.LittleEndian.Uint32(head[dosOffset:]))
	if at+peSubsystem+2 > int64(len(head)) || string(head[at:at+4]) != "PE\x00\x00" {
		return data, false // a program for DOS
	}
	if len(check.TargetsOf(head)) == 0 {
		return foreign, false
	}
	if binary.LittleEndian.Uint16(head[at+peCharacteristics:])&pe.IMAGE_FILE_DLL != 0 {
		return library, false
	}
	switch binary.LittleEndian.Uint16(head[at+peSubsystem:]) {
	case pe.IMAGE_SUBSYSTEM_WINDOWS_GUI:
		return executable, true
	case pe.IMAGE_SUBSYSTEM_WINDOWS_CUI:
		return executable, false
	}
	return data, false
}

// isMachOProgram reports whether the header is that of a program, or of a universal file, whose header does not say.
func isMachOProgram(head []byte) bool {
	return binary.LittleEndian.Uint32(head) != macho.Magic64 || macho.Type(binary.LittleEndian.Uint32(head[12:])) == macho.TypeExec
}

// sub is the tree of a folder in it.
func (t *tree) sub(folder string) *tree {
	if folder == "." {
		return t
	}
	fsys, err := fs.Sub(t.fsys, folder)
	if err != nil {
		return &tree{fsys: t.fsys}
	}
	part := &tree{fsys: fsys, dirs: map[string]bool{}}
	for _, f := range t.files {
		if rest, inside := strings.CutPrefix(f.path, folder+"/"); inside {
			f.path = rest
			part.files = append(part.files, f)
		}
	}
	for dir := range t.dirs {
		if rest, inside := strings.CutPrefix(dir, folder+"/"); inside {
			part.dirs[rest] = true
		}
	}
	return part
}

// match returns the paths that one of the patterns fits: a regular expression over the whole path, in any case.
func (t *tree) match(pattern string) (paths []string) {
	form := regexp.MustCompile(`(?i)^(` + pattern + `)$`)
	for _, f := range t.files {
		if form.MatchString(f.path) {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// has reports whether a path fits the pattern, of a file or of a folder.
func (t *tree) has(pattern string) bool {
	form := regexp.MustCompile(`(?i)^(` + pattern + `)$`)
	for dir := range t.dirs {
		if form.MatchString(dir) {
			return true
		}
	}
	return len(t.match(pattern)) > 0
}

// systemFolder is a folder that is named after a system or processor.
var systemFolder = regexp.MustCompile(`(?i)linux|windows|win32|win64|macos|osx|darwin|^(win|mac)([-_]|$)|^(x64|x86_64|amd64|arm64)$`)

// flat are folders that don't count as a level: where systems and engines put programs.
var flat = regexp.MustCompile(`(?i)^(usr|local|games?|bin|binaries|contents|macos|.*\.app)$`)

// depth is how many levels a file lies below the top.
func depth(name string) (levels int) {
	for _, dir := range strings.Split(path.Dir(name), "/") {
		if dir != "." && !flat.MatchString(dir) && !systemFolder.MatchString(dir) {
			levels++
		}
	}
	return levels
}

// roots returns the folders with a game: the top, or folders that are named after systems.
func (t *tree) roots() (folders []string) {
	for _, f := range t.files {
		dir := path.Dir(f.path)
		if !f.startable() && (path.Ext(f.path) != ".love" || dir == ".") {
			continue
		}
		if dir == "." {
			return []string{"."}
		}
		elements := strings.Split(dir, "/")
		if i := slices.IndexFunc(elements, systemFolder.MatchString); i >= 0 && i < maxRootDepth && (depth(f.path) == i) {
			folders = append(folders, strings.Join(elements[:i+1], "/"))
		}
	}
	if slices.Sort(folders); len(folders) == 0 || t.outside(folders) {
		return []string{"."}
	}
	return slices.Compact(folders)
}

// maxRootDepth is how deep a folder that is named after a system may lie: build/linux.
const maxRootDepth = 3

// outside reports whether a program lies as high as the folders, but outside of them.
func (t *tree) outside(folders []string) bool {
	return slices.ContainsFunc(t.files, func(f file) bool {
		return f.startable() && depth(f.path) == 0 && !slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(f.path, dir+"/") })
	})
}

// startable reports whether the file could be the game.
func (f file) startable() bool {
	return (f.kind == executable || f.kind == script) && !helper.MatchString(path.Base(f.path))
}

// helper are programs that come with engines and installers and are never the game.
var helper = regexp.MustCompile(`(?i)^(unitycrashhandler(32|64)?|crashreportclient.*|crash(pad)?_?(handler|reporter|sender).*|chrome[-_](sandbox|crashpad_handler)|chrome-wrapper|` +
	`notification_helper|unrealcefsubprocess|epicwebhelper|ue4prereqsetup.*|ueprereqsetup.*|unins\d*|uninst(all)?(er)?|.*setup|setup.*|install(er)?|vc_?redist.*|dxsetup|dotnet.*|` +
	`oalinst|python[\d.w]*|pythonw?|zsync(make)?|nwjc|payload|chromedriver|ffmpeg|ffprobe|createdump|xdg-(open|settings)|lovec|7za?|elevate|texturepacker|.*[-_]?(server|dedicated|editor|cleanup))(\.(exe|sh|x86_64|x86))?$`)
