package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"collet/build/advice"
	"collet/build/publish/memory"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/platform"
	"collet/runtime/program"
)

// Folders of a game folder.
const (
	resources         = release.ResourcesFolder
	platformResources = release.PlatformResourcesFolder
	binaries          = release.BinariesFolder
	notes             = "notes"
)

// hashBuffer is the read size for hashing in bytes: the data stays in the core's cache between reading and hashing.
const hashBuffer = 128 << 10

// pageFor returns a read buffer for a file of a size. Packs have thousands of files much smaller than hashBuffer.
func pageFor(size int64) []byte { return make([]byte, min(max(size, 0)+1, hashBuffer)) }

// found is one file of a game folder.
type found struct {
	name string // in the game folder
	path string // in the set
	use  release.Use
	mode uint32 // 0 follows from the use
	info fs.FileInfo
	sum  release.Digest
}

// game is the parsed content of a game folder.
type game struct {
	fs      platform.FS
	top     string              // subfolder with the game; empty: the game folder itself
	common  []*found            // resources
	targets map[string][]*found // binaries by target
	notes   map[string][]byte   // text by language

	compatibility map[string]string   // what descriptions of programs say, by target
	programs      map[string][]string // the executables of descriptions, by target, but for those that something else starts
	ignored       []string            // names that do not belong to a release
	unfit         []error             // what can't be in a release, for each file its name and the reason
}

// maxUnfit is how many files an error names.
const maxUnfit = 20

// unfitError names the files that can't be in a release, one a line.
func (g *game) unfitError() error {
	list := g.unfit
	if more := len(list) - maxUnfit; more > 0 {
		list = append(list[:maxUnfit:maxUnfit], fmt.Errorf("and %d more", more))
	}
	return errors.Join(list...)
}

// takes reports whether a file may be in a release under a path, and remembers it otherwise.
func (g *game) takes(name, rel string) bool {
	err := release.CheckPath(rel)
	if err != nil {
		g.unfit = append(g.unfit, advice.Because(err, "rename or remove it", "%s can't be in a release", g.fs.Path(name)))
	}
	return err == nil
}

// twins remembers the files of a target's set that are one file on some systems.
func (g *game) twins(target string) {
	seen := map[string]*found{}
	for _, f := range g.files(target) {
		folded := release.Fold(f.path)
		if other := seen[folded]; other != nil {
			g.unfit = append(g.unfit, advice.Wrong("rename or remove one of them", "%s can't be in a release: it is the same file as %s on some systems", g.fs.Path(f.name), g.fs.Path(other.name)))
		}
		seen[folded] = f
	}
}

// readGame lists a game folder. It accepts the layout of a server package, with PlatformBinaries/<target>, and, if target is set, that of
// an install: the module and the files named after it beside Resources.
func readGame(fsys platform.FS, target string) (*game, error) {
	g := &game{fs: fsys, targets: map[string][]*found{}, notes: map[string][]byte{}, compatibility: map[string]string{}, programs: map[string][]string{}}
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
			return nil, advice.Wrong("it has "+strings.Join(g.names(), ", "), "%s has no %s/%s", fsys.Path("."), binaries, target)
		}
		g.targets = map[string][]*found{target: g.targets[target]}
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
	if err := g.markExecutables(); err != nil {
		return nil, err
	}
	return g, g.readNotes()
}

// names returns the targets, sorted.
func (g *game) names() []string { return slices.Sorted(maps.Keys(g.targets)) }

// files returns the files of a target's set.
func (g *game) files(target string) []*found { return slices.Concat(g.common, g.targets[target]) }

// allFiles returns the files of all targets, each once.
func (g *game) allFiles() []*found {
	list := slices.Clone(g.common)
	for _, t := range g.names() {
		list = append(list, g.targets[t]...)
	}
	return list
}

// below visits the release's files below a folder. Names that begin with a dot belong to the system and are skipped, except the shipped
// forms of files that players keep: there a game may use any name.
func (g *game) below(folder string, visit func(name, rel string, info fs.FileInfo) error) error {
	return walkAll(g.fs, folder, func(name string, e fs.DirEntry) error {
		rel := strings.TrimPrefix(name, folder+"/")
		kept, isKept := strings.CutPrefix(rel, program.KeepFolder+"/")
		if isKept && isLeftover(kept) || !isKept && hidden(rel) {
			g.ignored = append(g.ignored, name)
			return nil
		}
		if !g.takes(name, rel) {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return advice.Because(err, "", "look at %s", g.fs.Path(name))
		}
		return visit(name, rel, info)
	}, g.leaveOut)
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || path.Base(name) == "Thumbs.db"
}

func (g *game) readResources() error {
	return g.below(path.Join(g.top, resources), func(name, rel string, info fs.FileInfo) error {
		g.common = append(g.common, &found{name: name, path: rel, use: release.UseResource, info: info})
		return nil
	})
}

func (g *game) readBinaries() error {
	err := g.below(path.Join(g.top, binaries), func(name, rel string, info fs.FileInfo) error {
		target, file, deep := strings.Cut(rel, "/")
		if !deep {
			g.ignored = append(g.ignored, name)
			return nil
		}
		g.targets[target] = append(g.targets[target], &found{name: name, path: file, use: release.UseOf(release.Binary, file), info: info})
		return nil
	})
	g.findHosts()
	return err
}

// findHosts marks the host programs among the binaries: a host lies beside a module of its name.
func (g *game) findHosts() {
	for target, files := range g.targets {
		hosts := map[string]bool{}
		for _, f := range files {
			if name, ok := product.Target(target).HostOf(f.path); ok {
				hosts[name] = true
			}
		}
		for _, f := range files {
			if hosts[f.path] {
				f.use = release.UseHost
			}
		}
	}
}

// readInstall reads the modules of an install folder and the files named after them.
func (g *game) readInstall(target string) error {
	entries, err := g.fs.ReadDir(".")
	if err != nil {
		return advice.Because(err, "", "list %s", g.fs.Path("."))
	}
	ext := product.Target(target).LibraryExt()
	var modules []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ext) && e.Type().IsRegular() && !hidden(e.Name()) {
			modules = append(modules, strings.TrimSuffix(e.Name(), ext))
		}
	}
	if len(modules) == 0 {
		return advice.Wrong("check the folder and --target", "%s has no native module *%s for %s", g.fs.Path("."), ext, target)
	}
	for _, e := range entries {
		use := release.UseCompanion
		if strings.HasSuffix(e.Name(), ext) {
			use = release.UseRuntime
		}
		info, err := e.Info()
		if err != nil {
			return advice.Because(err, "", "look at %s", g.fs.Path(e.Name()))
		}
		switch {
		case e.IsDir() && (e.Name() == resources || e.Name() == notes):
		case !e.Type().IsRegular():
			g.leaveOut(e.Name(), e)
		case hidden(e.Name()) || !belongs(e.Name(), ext, modules):
			g.ignored = append(g.ignored, e.Name())
		default:
			g.targets[target] = append(g.targets[target], &found{name: e.Name(), path: e.Name(), use: use, info: info})
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
func (g *game) readNotes() error {
	return g.below(notes, func(name, rel string, _ fs.FileInfo) error {
		language, kind, _ := strings.Cut(rel, ".")
		if kind != "md" && kind != "txt" || strings.Contains(rel, "/") {
			g.ignored = append(g.ignored, name)
			return nil
		}
		text, err := platform.ReadFile(g.fs, name, release.MaxNote)
		if err != nil {
			return advice.Because(err, "", "read the release notes %s", g.fs.Path(name))
		}
		g.notes[language] = text
		return nil
	})
}

// digester computes digests of files, and keeps a cache of them in the release folder.
type digester struct {
	fs      platform.FS // the release folder
	meter   *meter
	workers int
	now     func() time.Time
}

// addDigests computes the digest of every file. Unchanged files come from the cache.
func (d *digester) addDigests(ctx context.Context, g *game) error {
	cache := memory.LoadDigests(d.fs, g.fs.Path(cmp.Or(g.top, ".")))
	var missing []*found
	total := int64(0)
	for _, file := range g.allFiles() {
		sum, known := cache.Find(g.fs.Path(file.name), file.info)
		if file.sum = sum; !known {
			missing = append(missing, file)
			total += file.info.Size()
		}
	}
	// Large files first, so that no single core ends with a large one.
	slices.SortStableFunc(missing, func(a, b *found) int { return int(max(-1, min(1, b.info.Size()-a.info.Size()))) })
	d.meter.startStep("hash", "", total)
	now := d.now()
	var mu sync.Mutex
	err := spread(ctx, d.workers, len(missing), func(ctx context.Context, i int) error {
		sum, err := d.digestOf(ctx, g.fs, missing[i])
		mu.Lock()
		defer mu.Unlock()
		if missing[i].sum = sum; err == nil {
			cache.Add(g.fs.Path(missing[i].name), missing[i].info, sum, now)
		}
		return err
	})
	if len(missing) == 0 {
		return err
	}
	return errors.Join(err, cache.Save(d.fs))
}

func (d *digester) digestOf(ctx context.Context, fsys platform.FS, file *found) (release.Digest, error) {
	in, err := openFile(fsys, file.name)
	if err != nil {
		return release.Digest{}, advice.Because(err, "", "read %s", fsys.Path(file.name))
	}
	defer in.Close()
	sum, h, buf := int64(0), release.SHA256.NewHash(), pageFor(file.info.Size())
	for {
		n, err := in.Read(buf)
		h.Write(buf[:n])
		sum += int64(n)
		d.meter.addBytes(int64(n), file.path)
		switch {
		case err == io.EOF && sum != file.info.Size():
			return release.Digest{}, advice.Wrong("publish when nothing writes there", "%s changed while it was read", fsys.Path(file.name))
		case err == io.EOF:
			return release.SHA256.SumOf(h), nil
		case err != nil:
			return release.Digest{}, advice.Because(err, "", "read %s", fsys.Path(file.name))
		case ctx.Err() != nil:
			return release.Digest{}, ctx.Err()
		}
	}
}

// setOf returns the listing of a target.
func (g *game) setOf(target string) (release.Listing, error) {
	var files []release.ListedFile
	for _, f := range g.files(target) {
		mode := uint32(release.PlainMode)
		if f.mode != 0 {
			mode = f.mode
		} else if f.use == release.UseRuntime || f.use == release.UseHost {
			mode = release.ProgramMode
		}
		files = append(files, release.ListedFile{Path: f.path, Use: f.use, Size: f.info.Size(), Mode: mode, Sum: f.sum})
	}
	l := release.NewListing(files)
	if _, err := l.Digest(); err != nil {
		g.twins(target)
		return nil, cmp.Or(g.unfitError(), advice.Because(err, "rename or remove one of them", "the files for %s", target))
	}
	return l, nil
}
