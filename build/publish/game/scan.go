package game

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"collet/build/advice"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/platform"
	"collet/platform/text"
	"collet/runtime/program"
)

// Folders of a game folder.
const (
	resources         = release.ResourcesFolder
	platformResources = release.PlatformResourcesFolder
	binaries          = release.BinariesFolder
	notes             = "notes"
)

// File is one file of a game's folder.
type File struct {
	Name string         // in the folder
	Path string         // in the set
	Info fs.FileInfo    // as it was when the folder was read
	Sum  release.Digest // the caller's to fill in

	use  release.Use
	mode uint32 // 0 follows from the use
}

// Folder is what a game's folder holds.
type Folder struct {
	FS            platform.FS
	Notes         map[string][]byte   // release notes by language
	Compatibility map[string]string   // what descriptions of programs say, by target
	Programs      map[string][]string // the executables of descriptions, by target, but for those that something else starts
	Ignored       []string            // names that do not belong to a release, with the reason if it is not the name

	top     string             // subfolder with the game; empty: the folder itself
	common  []*File            // resources
	targets map[string][]*File // by target; none is empty
	unfit   []error            // what can't be in a release, for each file its name and the reason
}

// maxUnfit is how many files an error names.
const maxUnfit = 20

// unfitError names the files that can't be in a release, one a line.
func (g *Folder) unfitError() error {
	list := g.unfit
	if more := len(list) - maxUnfit; more > 0 {
		list = append(list[:maxUnfit:maxUnfit], fmt.Errorf("and %d more", more))
	}
	return errors.Join(list...)
}

// takes reports whether a file may be in a release under a path, and remembers it otherwise.
func (g *Folder) takes(name, rel string) bool {
	err := release.CheckPath(rel)
	if err != nil {
		g.unfit = append(g.unfit, advice.Because(err, "rename or remove it", "%s can't be in a release", g.FS.Path(name)))
	}
	return err == nil
}

// twins remembers the files of a target's set that are one file on some systems.
func (g *Folder) twins(target string) {
	seen := map[string]*File{}
	for _, f := range g.Files(target) {
		folded := release.Fold(f.Path)
		if other := seen[folded]; other != nil {
			g.unfit = append(g.unfit, advice.Wrong("rename or remove one of them", "%s can't be in a release: it is the same file as %s on some systems", g.FS.Path(f.Name), g.FS.Path(other.Name)))
		}
		seen[folded] = f
	}
}

// Read lists a game's folder. It accepts the layout of a server package, with PlatformBinaries/<target>, and, if target is set, that of an
// install: the module and the files named after it beside Resources. If target is set, other targets are left out. fsys stays the caller's.
func Read(fsys platform.FS, target string) (*Folder, error) {
	g := &Folder{FS: fsys, targets: map[string][]*File{}, Notes: map[string][]byte{}, Compatibility: map[string]string{}, Programs: map[string][]string{}}
	if err := errors.Join(g.readResources(), g.readBinaries(), g.readPlatformResources()); err != nil {
		return nil, err
	}
	if err := g.unfitError(); err != nil {
		return nil, err
	}
	switch {
	case target != "" && len(g.targets) == 0:
		if err := g.readInstall(target); err != nil {
			return nil, err
		}
	case target != "":
		if g.targets[target] == nil {
			return nil, advice.Wrong("it has "+strings.Join(g.Targets(), ", "), "%s has no %s/%s", fsys.Path("."), binaries, target)
		}
		g.targets = map[string][]*File{target: g.targets[target]}
		if err := g.findStray(); err != nil {
			return nil, err
		}
	case len(g.targets) == 0:
		return nil, advice.Wrong("name the target of an install with --target, for example "+string(product.TargetFor(runtime.GOOS, runtime.GOARCH)),
			"%s has no %s", fsys.Path("."), binaries)
	default:
		if err := g.findStray(); err != nil {
			return nil, err
		}
	}
	if err := g.checkSizes(); err != nil {
		return nil, err
	}
	if err := g.markExecutables(); err != nil {
		return nil, err
	}
	return g, g.readNotes()
}

// checkSizes returns an error that names the files that may not fit into an object. It comes before hours of hashing and packing.
func (g *Folder) checkSizes() error {
	for _, f := range g.All() {
		if f.Info.Size() > release.MaxObject {
			g.unfit = append(g.unfit, advice.Wrong("split it into several files", "%s can't be in a release: it has %s, and a file may have at most %s",
				g.FS.Path(f.Name), text.Bytes(f.Info.Size()), text.Bytes(release.MaxObject)))
		}
	}
	return g.unfitError()
}

// Plain lists the plain files of a release folder. fsys stays the caller's.
func Plain(fsys platform.FS) ([]*File, error) {
	g := &Folder{FS: fsys, top: release.PlainFolder, targets: map[string][]*File{}}
	err := errors.Join(g.readResources(), g.readBinaries())
	return g.All(), err
}

// Targets returns the targets, sorted.
func (g *Folder) Targets() []string { return slices.Sorted(maps.Keys(g.targets)) }

// Files returns the files of a target's set.
func (g *Folder) Files(target string) []*File { return slices.Concat(g.common, g.targets[target]) }

// All returns the files of all targets, each once.
func (g *Folder) All() []*File {
	list := slices.Clone(g.common)
	for _, t := range g.Targets() {
		list = append(list, g.targets[t]...)
	}
	return list
}

// below visits the release's files below a folder. Names that begin with a dot belong to the system and are skipped, except the shipped
// forms of files that players keep: there a game may use any name.
func (g *Folder) below(folder string, visit func(name, rel string, info fs.FileInfo) error) error {
	return platform.Walk(g.FS, folder, func(name string, e fs.DirEntry) error {
		rel := strings.TrimPrefix(name, folder+"/")
		kept, isKept := strings.CutPrefix(rel, program.KeepFolder+"/")
		if isKept && isLeftover(kept) || !isKept && hidden(rel) {
			g.Ignored = append(g.Ignored, name)
			return nil
		}
		if !g.takes(name, rel) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return advice.Because(err, "", "look at %s", g.FS.Path(name))
		}
		return visit(name, rel, info)
	}, g.leaveOut)
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || path.Base(name) == "Thumbs.db"
}

func (g *Folder) readResources() error {
	return g.below(path.Join(g.top, resources), func(name, rel string, info fs.FileInfo) error {
		g.common = append(g.common, &File{Name: name, Path: rel, use: release.UseResource, Info: info})
		return nil
	})
}

func (g *Folder) readBinaries() error {
	err := g.below(path.Join(g.top, binaries), func(name, rel string, info fs.FileInfo) error {
		target, file, deep := strings.Cut(rel, "/")
		if !deep {
			g.Ignored = append(g.Ignored, name)
			return nil
		}
		g.targets[target] = append(g.targets[target], &File{Name: name, Path: file, use: release.UseOf(release.Binary, file), Info: info})
		return nil
	})
	for target := range g.targets {
		g.findHosts(target)
	}
	return err
}

// findHosts marks the host programs among a target's files: a host lies beside a module of its name.
func (g *Folder) findHosts(target string) {
	hosts := map[string]bool{}
	for _, f := range g.targets[target] {
		if name, ok := product.Target(target).HostOf(f.Path); ok {
			hosts[name] = true
		}
	}
	for _, f := range g.targets[target] {
		if hosts[f.Path] {
			f.use = release.UseHost
		}
	}
}

// readInstall reads the modules of an install folder and the files named after them.
func (g *Folder) readInstall(target string) error {
	entries, err := g.FS.ReadDir(".")
	if err != nil {
		return advice.Because(err, "", "list %s", g.FS.Path("."))
	}
	ext := product.Target(target).LibraryExt()
	var modules []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ext) && e.Type().IsRegular() && !hidden(e.Name()) {
			modules = append(modules, strings.TrimSuffix(e.Name(), ext))
		}
	}
	if len(modules) == 0 {
		return advice.Wrong("check the folder and --target", "%s has no native module *%s for %s", g.FS.Path("."), ext, target)
	}
	for _, e := range entries {
		use := release.UseCompanion
		if strings.HasSuffix(e.Name(), ext) {
			use = release.UseRuntime
		}
		info, err := e.Info()
		if err != nil {
			return advice.Because(err, "", "look at %s", g.FS.Path(e.Name()))
		}
		switch {
		case e.IsDir() && (e.Name() == resources || e.Name() == notes):
		case !e.Type().IsRegular():
			g.leaveOut(e.Name(), e)
		case hidden(e.Name()) || !belongs(e.Name(), ext, modules):
			g.Ignored = append(g.Ignored, e.Name())
		default:
			g.targets[target] = append(g.targets[target], &File{Name: e.Name(), Path: e.Name(), use: use, Info: info})
		}
	}
	return nil
}

// belongs reports whether a file of an install is a module or is named after one, as debug symbols are.
func belongs(name, ext string, modules []string) bool {
	for _, m := range modules {
		if name == m+ext || name == m+".pdb" || strings.HasPrefix(name, m+ext+".") {
			return !strings.HasSuffix(name, "-staging") && !strings.HasSuffix(name, ".bak")
		}
	}
	return false
}

// readNotes reads notes/<language>.md and notes/<language>.txt.
func (g *Folder) readNotes() error {
	return g.below(notes, func(name, rel string, _ fs.FileInfo) error {
		language, kind, _ := strings.Cut(rel, ".")
		if kind != "md" && kind != "txt" || strings.Contains(rel, "/") {
			g.Ignored = append(g.Ignored, name)
			return nil
		}
		note, err := platform.ReadFile(g.FS, name, release.MaxNote)
		if err != nil {
			return advice.Because(err, "", "read the release notes %s", g.FS.Path(name))
		}
		g.Notes[language] = note
		return nil
	})
}

// Set returns the listing of a target. Its files must have their digests. The error names the files that are one on some systems.
func (g *Folder) Set(target string) (release.Listing, error) {
	var files []release.ListedFile
	for _, f := range g.Files(target) {
		mode := uint32(release.PlainMode)
		if f.mode != 0 {
			mode = f.mode
		} else if f.use == release.UseRuntime || f.use == release.UseHost {
			mode = release.ProgramMode
		}
		files = append(files, release.ListedFile{Path: f.Path, Use: f.use, Size: f.Info.Size(), Mode: mode, Sum: f.Sum})
	}
	l := release.NewListing(files)
	if _, err := l.Digest(); err != nil {
		g.twins(target)
		return nil, cmp.Or(g.unfitError(), advice.Because(err, "rename or remove one of them", "the files for %s", target))
	}
	return l, nil
}

// leaveOut notes something in the game folder that is no plain file, and so does not belong to a release.
func (g *Folder) leaveOut(name string, e fs.DirEntry) {
	what := ", which is no plain file"
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		what = ", which is a link; copy what it leads to into its place (cp -RL) if players need it"
	case e.IsDir():
		what = ", a folder that releases do not have"
	}
	g.Ignored = append(g.Ignored, name+what)
}

// findStray notes what lies beside the folders of a release.
func (g *Folder) findStray() error {
	entries, err := g.FS.ReadDir(".")
	if err != nil {
		return advice.Because(err, "", "list %s", g.FS.Path("."))
	}
	for _, e := range entries {
		switch {
		case slices.Contains([]string{resources, platformResources, binaries, notes}, e.Name()):
		case e.Type().IsRegular():
			g.Ignored = append(g.Ignored, e.Name())
		default:
			g.leaveOut(e.Name(), e)
		}
	}
	return nil
}
