package wrap

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"collet/build/pack"
	"collet/netproto/product"
)

// Options is what the caller knows of a folder.
type Options struct {
	Folder   string            // the folder's own name, for a game that has no better one
	Above    string            // the name of the folder that it lies in, for a Folder such as build
	Programs []string          // executables that are the game, as paths in the folder; they win over what is detected
	Keep     []string          // more patterns of files that players own
	Exclude  []string          // more patterns of files that players don't get
	Default  product.Target    // the target of a game without any native program, such as a script
	Skip     func(string) bool // names that don't belong to the game; nil for none
}

// Game is what was found.
type Game struct {
	Engine    string
	Advice    string // how packs of the engine become small updates; may be empty
	Name      string // base name of programs and packages
	NiceName  string
	NameFrom  string // where the name comes from
	Publisher string // may be empty
	Version   string // two to four numbers
	Summary   string // may be empty
	Targets   []Target
	Keep      []string // patterns and paths
	Exclude   []string
	Unfit     []pack.Unfit // what Prepare left out
	Copies    int          // files that Prepare found by links to folders
	Packs     int          // number of large data files
	PackBytes int64        // their size
	Icon      string       // path of a PNG in the folder that can be used as it is; else empty
	IconPNG   []byte       // the icon to write, if Icon is empty; nil if none was found
	IconFrom  string       // where it comes from
}

// Target is the game for one system and processor.
type Target struct {
	Name    product.Target
	Folder  string   // the game's folder for it, relative to the one that was given; "." is that folder
	Program string   // its executable, relative to Folder
	Wrapper []string // the command that starts it; nil for none
	Why     string   // what decided
}

// Detect looks at a game's folder. Errors are *Error, *Choice and those of the disk.
func Detect(fsys fs.FS, o Options) (Game, error) {
	if o.Skip == nil {
		o.Skip = func(string) bool { return false }
	}
	t, err := scan(fsys, o.Skip)
	if err != nil {
		return Game{}, err
	}
	for _, name := range o.Programs {
		if !slices.ContainsFunc(t.files, func(f file) bool { return f.path == name }) {
			return Game{}, &Error{File: name, Key: "target.program", What: "is not there", Want: t.similar(name)}
		}
	}
	var g Game
	keep, exclude := map[string]bool{}, map[string]bool{"*.log": true}
	for _, folder := range t.roots() {
		root := t.sub(folder)
		e := engineOf(root)
		if g.Engine == "" {
			g.Engine, g.Advice = e.name, e.advice
		}
		targets, err := root.programs(folder, o)
		if err != nil {
			return Game{}, err
		}
		if len(targets) > 0 && g.Name == "" {
			root.identify(&g, e, targets, o)
		}
		g.Targets = append(g.Targets, targets...)
		root.addRoles(e, targets, keep, exclude)
		for _, f := range root.files {
			if f.kind == data && f.size >= packSize {
				g.Packs, g.PackBytes = g.Packs+1, g.PackBytes+f.size
			}
		}
	}
	if len(g.Targets) == 0 {
		return Game{}, t.noProgram()
	}
	slices.SortFunc(g.Targets, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	for i, target := range g.Targets[1:] {
		if before := g.Targets[i]; before.Name == target.Name {
			return Game{}, &Choice{string(target.Name), []string{path.Join(before.Folder, before.Program), path.Join(target.Folder, target.Program)}}
		}
	}
	g.Keep, g.Exclude = patterns(keep, o.Keep), patterns(exclude, o.Exclude)
	return g, g.checkKeep(t)
}

// patterns are those that were found, sorted, and then the caller's others.
func patterns(found map[string]bool, named []string) []string {
	list := slices.Sorted(maps.Keys(found))
	for _, pattern := range named {
		if !slices.Contains(list, pattern) {
			list = append(list, pattern)
		}
	}
	return list
}

// similar says how to name a program that is not there: by the path of a file of its name, if there is just one.
func (t *tree) similar(name string) string {
	var found []string
	for _, f := range t.files {
		if path.Base(f.path) == path.Base(name) {
			found = append(found, f.path)
		}
	}
	if len(found) == 1 {
		return "name it with its path: --program " + found[0]
	}
	return "name a file in the game's folder with --program, with slashes"
}

// packSize is the size in bytes from which a data file counts as a pack.
const packSize = 1 << 20

// programs returns the targets of the tree, which is a folder of the game's.
func (t *tree) programs(folder string, o Options) (targets []Target, err error) {
	by := t.candidates(o)
	for _, named := range o.Programs {
		if rest, inside := cutFolder(named, folder); inside {
			f, names, err := t.named(rest, by, o)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				targets = append(targets, Target{Name: name, Folder: folder, Program: f.path, Why: "named with --program"})
				delete(by, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		program, why, err := t.choose(name, by[name], o)
		var choice *Choice
		if errors.As(err, &choice) {
			for i := range choice.Candidates {
				choice.Candidates[i] = path.Join(folder, choice.Candidates[i])
			}
		}
		if err != nil {
			return nil, err
		}
		targets = append(targets, Target{Name: name, Folder: folder, Program: program.path, Why: why})
	}
	if bare := t.match(`[^/]+\.love`); len(targets) == 0 && len(bare) == 1 {
		targets = []Target{{Name: o.Default, Folder: folder, Program: bare[0], Wrapper: []string{"love"}, Why: "started by the system's love"}}
	}
	return targets, nil
}

// cutFolder returns a path relative to a folder, if it lies in it.
func cutFolder(name, folder string) (rest string, inside bool) {
	if folder == "." {
		return name, true
	}
	return strings.CutPrefix(name, folder+"/")
}

// candidates returns for each target the files that could be the game: those that lie highest.
func (t *tree) candidates(o Options) map[product.Target][]file {
	least := -1
	for _, f := range t.files {
		if f.startable() && (f.kind == executable || depth(f.path) == 0) && (least < 0 || depth(f.path) < least) {
			least = depth(f.path)
		}
	}
	by := map[product.Target][]file{}
	var scripts []file
	native := map[product.Target]bool{} // of Unix, at any depth: what a script may start
	for _, f := range t.files {
		if f.kind == executable {
			for _, target := range f.targets {
				native[target] = native[target] || target.System() == product.Linux
			}
		}
		switch {
		case !f.startable() || depth(f.path) != least:
		case f.kind == script:
			scripts = append(scripts, f)
		default:
			for _, target := range f.forTargets() {
				by[target] = append(by[target], f)
			}
		}
	}
	for target := range native {
		if native[target] && len(scripts) > 0 {
			by[target] = append(by[target], scripts...)
		}
	}
	if len(scripts) > 0 && len(by) == 0 {
		by[o.Default] = scripts
	}
	return by
}

// choose returns the one of several candidates that is the game, and why. all is not empty.
func (t *tree) choose(target product.Target, all []file, o Options) (file, string, error) {
	slices.SortFunc(all, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	all = slices.CompactFunc(all, func(a, b file) bool { return a.path == b.path })
	only := func(why string, is func(file) bool) (file, string, bool) {
		i := slices.IndexFunc(all, is)
		if i < 0 || slices.ContainsFunc(all[i+1:], is) {
			return file{}, "", false
		}
		return all[i], why, true
	}
	entry := t.desktopEntry()
	// Beside scripts of another language that say so, a shell script starts them. One without an extension may be the game itself.
	onlyScripts := !slices.ContainsFunc(all, func(f file) bool { return f.kind != script || path.Ext(f.path) == "" })
	for _, rule := range []struct {
		why string
		is  func(file) bool
	}{
		{"the only executable", func(file) bool { return true }},
		{"starts the other one", func(f file) bool { return f.kind == script && t.mentions(f, all) }},
		{"has data of its own", t.hasData},
		{"the only shell script", func(f file) bool { return onlyScripts && path.Ext(f.path) == ".sh" }},
		{"named by " + entry.file, func(f file) bool { return entry.exec != "" && path.Base(f.path) == entry.exec }},
		{"named like the folder", func(f file) bool { return letters(stem(f.path)) == letters(o.Folder) }},
		{"the only one with a window", func(f file) bool { return f.window }},
	} {
		if f, why, ok := only(rule.why, rule.is); ok {
			return f, why, nil
		}
	}
	choice := &Choice{Target: string(target)}
	for _, f := range all {
		choice.Candidates = append(choice.Candidates, f.path)
	}
	return file{}, "", choice
}

// named returns a file that the caller named, and the targets whose program it is. by has the candidates of each.
func (t *tree) named(name string, by map[product.Target][]file, o Options) (f file, names []product.Target, err error) {
	f = t.files[slices.IndexFunc(t.files, func(f file) bool { return f.path == name })]
	switch f.kind {
	case badScript:
		return f, nil, noShebang(name)
	case foreign:
		return f, nil, otherMachine(name)
	case damaged:
		return f, nil, incomplete(name)
	case executable:
		return f, f.forTargets(), nil
	case script:
		for target := range by {
			if target.System() == product.Linux {
				names = append(names, target)
			}
		}
		if names == nil {
			names = []product.Target{o.Default}
		}
		return f, names, nil
	}
	return f, nil, &Error{File: name, Key: "target.program", What: "is neither a program nor a script", Want: "name what players start"}
}

// extension are the extensions of executables.
var extension = regexp.MustCompile(`(?i)\.(exe|sh|py|pl|bin|run|x86|x86_64|amd64|arm64|i[36]86|appimage|elf|love)$`)

// stem is the name of an executable without folders and extension.
func stem(name string) string { return extension.ReplaceAllString(path.Base(name), "") }

// letters is a name in lower case without anything but letters and digits.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// hasData reports whether there is a folder or pack that belongs to just this executable.
func (t *tree) hasData(f file) bool {
	own := regexp.QuoteMeta(path.Join(path.Dir(f.path), stem(f.path)))
	return t.has(own + `(_Data|\.pck|\.love|/Binaries|/Content)`)
}

// maxScript is how many bytes of a script are read.
const maxScript = 16 << 10

// mentions reports whether a script names another candidate, or has the name of one.
func (t *tree) mentions(script file, all []file) bool {
	text := string(readSome(t.fsys, script.path, maxScript))
	return slices.ContainsFunc(all, func(f file) bool {
		return f.kind == executable && (strings.Contains(text, path.Base(f.path)) || stem(f.path) == stem(script.path))
	})
}

// addRoles adds the patterns that fit a file of the tree, or that files will fit after the game has run.
func (t *tree) addRoles(e engine, targets []Target, keep, exclude map[string]bool) {
	isProgram := func(name string) bool {
		return slices.ContainsFunc(targets, func(one Target) bool { return one.Program == name })
	}
	for _, name := range t.match(settingsFiles) {
		if !isProgram(name) && t.kindOf(name) == data {
			keep[name] = true
		}
	}
	for _, name := range e.keep {
		if t.has(regexp.QuoteMeta(name)) {
			keep[name] = true
		}
	}
	for _, pattern := range e.exclude {
		exclude[pattern] = true
	}
	for _, one := range leftovers {
		if t.has(one.fits) {
			exclude[one.pattern] = true
		}
	}
}

// kindOf returns the kind of a file of the tree.
func (t *tree) kindOf(name string) kind {
	i, there := slices.BinarySearchFunc(t.files, name, func(f file, name string) int { return strings.Compare(f.path, name) })
	if !there {
		return data
	}
	return t.files[i].kind
}

// checkKeep refuses patterns that would make code the player's own.
func (g Game) checkKeep(t *tree) error {
	for i, pattern := range g.Keep {
		for _, target := range g.Targets {
			for _, f := range t.sub(target.Folder).files {
				isCode := f.kind == executable || f.kind == library || f.kind == script || f.path == target.Program
				if isCode && pack.Fits(pattern, f.path) {
					return &Error{File: path.Join(target.Folder, f.path), Key: fmt.Sprintf("files.keep[%d]", i), What: fmt.Sprintf("is code, and %q makes it a file that players keep", pattern),
						Want: "make the pattern fit only files that players change"}
				}
			}
		}
	}
	return nil
}

// noProgram explains why a folder has no game that can be started.
func (t *tree) noProgram() error {
	for _, f := range t.files {
		switch {
		case depth(f.path) > 0:
		case f.kind == badScript:
			return noShebang(f.path)
		case f.kind == foreign:
			return otherMachine(f.path)
		case f.kind == damaged:
			return incomplete(f.path)
		}
	}
	want := "name the folder of the built game, or its executable with --program"
	if t.has(`main\.lua`) {
		want = "zip the folder as NAME.love, and put that into a folder of its own"
	} else if t.has(`project\.godot|.*\.uproject|ProjectSettings|package\.json`) {
		want = "this looks like a project: export or build it, and name the folder of the result"
	}
	return &Error{File: ".", Key: "target.program", What: "there is no executable", Want: want}
}

func noShebang(name string) error {
	return &Error{File: name, Key: "target.program", What: "is a script without #! in its first line, which no system starts", Want: "begin it with #!/bin/sh"}
}

func otherMachine(name string) error {
	return &Error{File: name, Key: "target.program", What: "was built for a processor that no client has", Want: "build it for x86-64 or arm64"}
}

func incomplete(name string) error {
	return &Error{File: name, Key: "target.program", What: "is an incomplete or damaged program file", Want: "build or copy it anew"}
}
