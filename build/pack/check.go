package pack

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkProject checks a description, fills in its defaults and resolves its paths. Each subject has a checker with the part of the
// description that it changes. Their order is that of their dependencies.
func checkProject(p *Project, l *ledger, getenv func(string) string) {
	root, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		root = p.Dir
	}
	values := &valueChecker{l}
	files := &fileChecker{valueChecker: values, dir: p.Dir, root: root}
	rooms := &roomChecker{ledger: l, game: &p.Game, rooms: map[string]room{}}
	launches := &launchChecker{fileChecker: files, p: p, hosts: hostsFolder(), files: map[string][]gameFile{}, found: map[string]bool{}}
	targets := &targetChecker{fileChecker: files, rooms: rooms, launches: launches}
	p.time = (&gameChecker{files, &p.Game}).check(getenv)
	p.root = (&clientChecker{files, &p.Client}).check(p.Game.Homepage, p.time)
	(&packChecker{files}).check(p.Resources.Packs)
	launches.checkTables()
	targets.check(p.Targets)
	variants := &variantChecker{valueChecker: values, p: p, files: targets, rooms: rooms}
	variants.check()
	systems := &systemChecker{files, p}
	systems.checkWindows()
	systems.checkLinux()
	systems.checkMacOS()
	(&serverChecker{files, &p.Server, p.isProgram()}).check()
	(&signingChecker{files, &p.Signing}).check()
	p.builds = variants.combine()
}

// hostsFolder is the folder of this program, beside which hosts are looked for; empty if unknown.
func hostsFolder() string {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return ""
	}
	return filepath.Dir(program)
}

// folded maps names to one spelling that are equal on systems that ignore case.
func folded(name string) string { return strings.ToLower(name) }

// hasTarget reports whether targets has one of a name.
func hasTarget(targets []Target, name string) bool {
	return slices.ContainsFunc(targets, func(t Target) bool { return t.Name == name })
}

// targetNames returns the names of targets.
func targetNames(targets []Target) (names []string) {
	for _, t := range targets {
		names = append(names, t.Name)
	}
	return names
}
