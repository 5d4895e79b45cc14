package pack

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"collet/build/advice"
	"collet/build/publish/check"
	"collet/netproto/product"
	"collet/netproto/release"
	launch "collet/runtime/program"
)

// hostName is the name of the client's program, without the extension of a system.
const hostName = "collet-client"

// launchChecker checks programs in place of modules: the tables [program] and [files], and what targets say of them.
type launchChecker struct {
	*fileChecker
	p     *Project
	hosts string                // folder of the program collet; empty if unknown
	files map[string][]gameFile // by the game's folder; nil for one with mistakes
	found map[string]bool       // hosts that are beside the program collet, and so outside of the project
}

// isProgram reports whether the game is a program of its own, in place of a native module.
func (p *Project) isProgram() bool {
	return slices.ContainsFunc(p.Targets, func(t Target) bool { return t.Program != "" })
}

// checkTables checks what targets share. It comes before the targets.
func (c *launchChecker) checkTables() {
	if !c.p.isProgram() {
		c.checkUnused()
		return
	}
	for i, t := range c.p.Targets {
		if t.Program == "" && t.Module != "" {
			c.add(element("target", i)+".module", "give all targets a program, or all of them a module", "names a module, and another target has a program")
		}
	}
	for key, patterns := range map[string][]string{"files.keep": c.p.Files.Keep, "files.keep-new": c.p.Files.KeepNew, "files.exclude": c.p.Files.Exclude} {
		c.checkCount(key, len(patterns), launch.MaxKeep)
		for i, pattern := range patterns {
			if err := checkPattern(pattern); err != nil {
				c.add(element(key, i), `want something like "config/*.ini" or "saves/**"`, "%q is no pattern: %v", pattern, err)
			}
		}
	}
	l := &c.p.Launch
	if l.CleanExits == nil {
		l.CleanExits = []int64{0}
	}
	slices.Sort(l.CleanExits)
	slices.Sort(l.ReloadExits)
}

// checkUnused refuses what only programs have.
func (c *launchChecker) checkUnused() {
	const want = "leave it out, or name the game's executable in target.program"
	l, f := c.p.Launch, c.p.Files
	if l.Args != nil || l.Env != nil || l.Folder != "" || l.Wrapper != nil || l.ReadyWindow != nil || l.ReadySeconds != nil || l.CleanExits != nil || l.ReloadExits != nil {
		c.add("program", want, "goes with target.program")
	}
	if f.Keep != nil || f.KeepNew != nil || f.Exclude != nil {
		c.add("files", want, "goes with target.program")
	}
	for i, t := range c.p.Targets {
		for key, there := range map[string]bool{".folder": t.Folder != "", ".args": t.Args != nil, ".env": t.Env != nil, ".wrapper": t.Wrapper != nil} {
			if there {
				c.add(element("target", i)+key, want, "goes with target.program")
			}
		}
	}
}

// checkTarget checks one target's program and its folder. Of a variant's own table the folder is that of the target.
func (c *launchChecker) checkTarget(key string, t *Target) {
	target := product.Target(t.Name)
	if t.Module != "" || t.ModulePDB != "" || t.NoSymbols {
		c.add(key+".program", "name one of the two, and leave out what belongs to a module", "goes without module, module-pdb and no-symbols")
		t.Module, t.ModulePDB, t.NoSymbols = "", "", false
		return
	}
	if t.Folder == "" {
		c.addMissing(key+".folder", `name the folder with all files of the game for `+t.Name+`; "." is the project's folder`)
		return
	}
	if !c.resolve(key+".folder", &t.Folder, aFolder) {
		return
	}
	if t.Host == "" {
		t.Host = c.findHost(target)
	}
	files, ok := c.listFolder(key+".folder", t.Folder)
	if ok {
		c.checkExecutable(key+".program", *t, files)
	}
}

// findHost returns the built client beside the program collet, or empty.
func (c *launchChecker) findHost(target product.Target) string {
	name := target.ProgramName(hostName)
	for _, file := range []string{filepath.Join(c.hosts, "hosts", string(target), name), filepath.Join(c.hosts, name)} {
		if c.hosts != "" && slices.Contains(builtFor(file), target) {
			c.found[file] = true
			return file
		}
	}
	return ""
}

// listFolder lists a game's folder once, and checks which of its files are the players' own.
func (c *launchChecker) listFolder(key, folder string) ([]gameFile, bool) {
	if files, known := c.files[folder]; known {
		return files, files != nil
	}
	c.files[folder] = nil
	files, err := c.p.Files.gameFiles(c.dir, folder)
	var faults folderErrors
	switch {
	case errors.As(err, &faults):
		c.addFolder(key, faults)
		return nil, false
	case err != nil:
		c.add(key, "", "can't be read: %v", err)
		return nil, false
	}
	for _, f := range files {
		if f.keep != "" && f.code {
			c.add(c.keepKey(f.keep), "make the pattern fit only files that players change", "%q fits %s, which is code: players would keep the old one for ever", f.keep, f.path)
		}
	}
	c.files[folder] = files
	return files, true
}

// maxFaults is how many faults of a folder are told.
const maxFaults = 20

// addFolder records the faults of a game's folder, each as a mistake of its own.
func (c *launchChecker) addFolder(key string, faults folderErrors) {
	for i, f := range faults {
		delete(c.broken, key)
		if i == maxFaults {
			c.add(key, "", "%d more of its files can't be in a release", len(faults)-i)
			return
		}
		c.add(key, f.want, "%s", f.what)
	}
}

// keepKey is the key of a pattern.
func (c *launchChecker) keepKey(pattern string) string {
	if i := slices.Index(c.p.Files.KeepNew, pattern); i >= 0 {
		return element("files.keep-new", i)
	}
	return element("files.keep", slices.Index(c.p.Files.Keep, pattern))
}

// maxSuggested is how many executables advice names.
const maxSuggested = 3

// checkExecutable checks that a target's program can be started.
func (c *launchChecker) checkExecutable(key string, t Target, files []gameFile) {
	if err := release.CheckPath(t.Program); err != nil {
		c.add(key, "want a path in the game's folder, with slashes", "%v", err)
		return
	}
	i, there := slices.BinarySearchFunc(files, t.Program, func(f gameFile, name string) int { return strings.Compare(f.path, name) })
	wrapper := t.Wrapper
	if wrapper == nil {
		wrapper = c.p.Launch.Wrapper
	}
	switch full := filepath.Join(t.Folder, filepath.FromSlash(t.Program)); {
	case !there && c.p.Files.leavesOut(c.dir, t.Folder, t.Program):
		c.add(key, "change files.exclude, or name another file", "players don't get %s", t.Program)
	case !there:
		c.add(key, suggestPrograms(files, product.Target(t.Name), c.suggestSibling(t.Program, full)), "there is no executable %s in the game's folder", t.Program)
	case files[i].keep != "" && c.isBroken(c.keepKey(files[i].keep)): // reported already
	case files[i].keep != "":
		c.add(key, "take it out of "+c.keepKey(files[i].keep), "%s is both the executable and a file that players keep", t.Program)
	case len(wrapper) > 0 && !builtForSystem(files[i].from, product.Target(t.Name)): // it starts what the system can't
	case !files[i].code:
		c.add(key, "begin a script with a line such as #!/bin/sh, name the program of this system, or name what starts it in wrapper",
			"%s can't be started: it is neither a program nor a script with #! in its first line", t.Program)
	case t.Name != "" && isWindows(t.Name) && strings.HasPrefix(string(headOf(files[i].from)), "#!"):
		c.add(key, "name a program for Windows", "%s is a script, which Windows does not start", t.Program)
	default:
		c.checkTargetOf(key, files, files[i], product.Target(t.Name))
	}
}

// builtForSystem reports whether a file is a program of a target's system, for any processor.
func builtForSystem(file string, target product.Target) bool {
	return slices.ContainsFunc(builtFor(file), func(is product.Target) bool { return is.System() == target.System() })
}

// checkTargetOf refuses a program that was built for another system or processor.
func (c *launchChecker) checkTargetOf(key string, files []gameFile, f gameFile, target product.Target) {
	if fault := check.Program(f.path, programHead(f.from), target); fault != nil {
		c.add(key, suggestPrograms(files, target, fault.Want), "%s", fault.What)
	}
}

// headOf is the beginning of a file, empty if it can't be read.
func headOf(name string) []byte {
	head, err := readHead(name)
	if err != nil {
		return nil
	}
	return head
}

// suggestPrograms is advice with the programs of a folder that a target could start; otherwise if there are none.
func suggestPrograms(files []gameFile, target product.Target, otherwise string) string {
	var names []string
	for _, f := range files {
		if ext := path.Ext(f.path); f.code && ext != target.LibraryExt() && slices.Contains(builtFor(f.from), target) {
			names = append(names, f.path)
		}
	}
	if len(names) == 0 {
		return otherwise
	}
	return "did you mean " + advice.OneOf(names[:min(len(names), maxSuggested)]) + "?"
}

// checkVariant checks what a variant's own table says of the program of a target.
func (c *launchChecker) checkVariant(key string, p *Project, b *Target) {
	i := slices.IndexFunc(p.Targets, func(t Target) bool { return t.Name == b.Name })
	switch {
	case b.Folder != "":
		c.add(key+".folder", "name the variant's own executable in program; it lies in the folder of the target", "all variants of a target share its folder")
	case b.Module != "" || b.ModulePDB != "" || b.NoSymbols:
		c.add(key+".module", "name the variant's own executable in program", "names a module, and the target has a program")
	case b.Program != "" && i >= 0 && c.files[p.Targets[i].Folder] != nil:
		own := *b
		own.Folder = p.Targets[i].Folder
		c.checkExecutable(key+".program", own, c.files[own.Folder])
	}
}

// checkBuild checks the description of a build with the rules of the client.
func (c *launchChecker) checkBuild(key string, b Build) {
	if len(c.list) > 0 {
		return // reported already
	}
	files, ok := c.files[b.Folder]
	if !ok {
		return
	}
	d, err := c.p.launchOf(b)
	if err != nil {
		c.add("program.env", `want texts: NAME = "value"`, "%v", err)
		return
	}
	d.Build = "00"
	set := []release.File{{Path: b.ModuleName()}}
	for _, f := range files {
		set = append(set, release.File{Path: f.entry().Path})
	}
	for _, k := range c.p.Resources.Packs {
		set = append(set, release.File{Path: k.Name + packExt})
	}
	var fault *launch.FieldError
	switch err := d.Check(); {
	case errors.As(err, &fault):
		c.add(c.fieldKey(key, fault.Field), "", "%s", fault.Reason)
	case err != nil:
		c.add(key, "", "%v", err)
	}
	if err := release.CheckSet(set); err != nil {
		c.add(key+".folder", "rename one of them, or leave it out with files.exclude", "%v", err)
	}
	if work := b.Launch.workFolder(); work != "" {
		if info, err := os.Stat(filepath.Join(b.Folder, filepath.FromSlash(work))); err != nil || !info.IsDir() {
			c.add("program.folder", `name a folder in the game's folder; "." is that folder itself`, "there is no folder %s in %s", work, b.Folder)
		}
	}
}

// workFolder is the working folder below the game's folder that has to be there, or empty.
func (l Launch) workFolder() string {
	if l.Folder == launch.ResourcesFolder {
		return ""
	}
	return l.Folder
}

// fieldKey is the key of the description for a field of the program's.
func (c *launchChecker) fieldKey(target, field string) string {
	switch field, _, _ = strings.Cut(field, "."); field {
	case "name":
		return "game.nice-name"
	case "compatibility":
		return "server.compatibility"
	case "program":
		return target + ".program"
	case "keep":
		return "files.keep"
	case "ready":
		return "program.ready-seconds"
	case "exit":
		return "program.clean-exits"
	default:
		return "program." + field
	}
}

// launchOf returns the description of a build's program, without the digest over its files.
func (p *Project) launchOf(b Build) (launch.Description, error) {
	l := b.Launch
	d := launch.Description{
		Name: p.Game.NiceName, Compatibility: p.Server.Compatibility, Program: b.Program, Args: l.Args, Folder: l.Folder, Wrapper: l.Wrapper,
		Ready: launch.Ready{Window: l.ReadyWindow == nil || *l.ReadyWindow, Seconds: launch.DefaultReadySeconds},
		Exit:  launch.Exit{Clean: l.CleanExits, Reload: l.ReloadExits},
	}
	if l.ReadySeconds != nil {
		d.Ready.Seconds = int(min(max(*l.ReadySeconds, -1), 1<<20))
	}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		value, is := l.Env[name].(string)
		if !is {
			return d, fmt.Errorf("the variable %s is %s", name, kindOf(l.Env[name]))
		}
		if d.Env == nil {
			d.Env = map[string]string{}
		}
		d.Env[name] = value
	}
	for _, f := range b.files {
		if f.keep != "" {
			d.Keep = append(d.Keep, launch.Kept{Path: f.path, New: f.isNew})
		}
	}
	return d, nil
}

// over returns the launch of a target: its own keys over those of the game.
func (l Launch) over(t Target) Launch {
	if t.Args != nil {
		l.Args = t.Args
	}
	if t.Wrapper != nil {
		l.Wrapper = t.Wrapper
	}
	if t.Env != nil {
		env := maps.Clone(l.Env)
		if env == nil {
			env = map[string]any{}
		}
		maps.Copy(env, t.Env)
		l.Env = env
	}
	return l
}
