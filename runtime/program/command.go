package program

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"

	"collet/platform"
)

// Variables that the program gets: see docs/PROGRAMS.md, "Helper".
const (
	eventsVariable = "COLLET_EVENTS"
	stateVariable  = "COLLET_STATE"
)

// command is the command line of the program with the player's arguments. warn gets a sentence if the wrapper is missing.
func (m *Module) command(player []string, helper *helper, warn func(string)) *exec.Cmd {
	words := slices.Concat([]string{m.path(m.d.Program)}, m.d.Args, player)
	if len(m.d.Wrapper) > 0 {
		if wrapper, err := exec.LookPath(m.d.Wrapper[0]); err != nil {
			warn("the command " + m.d.Wrapper[0] + " is not installed; the game starts without it")
		} else {
			words = slices.Concat([]string{wrapper}, m.d.Wrapper[1:], words)
		}
	}
	env := os.Environ()
	for _, name := range slices.Sorted(maps.Keys(m.d.Env)) {
		env = platform.SetVariable(env, name, m.d.Env[name])
	}
	env = platform.SetVariable(env, eventsVariable, helper.events)
	env = platform.SetVariable(env, stateVariable, helper.state)
	return &exec.Cmd{Path: words[0], Args: words, Env: env, Dir: m.folder(), Stdout: os.Stdout, Stderr: os.Stderr}
}

// folder is the working folder.
func (m *Module) folder() string {
	switch m.d.Folder {
	case "":
		return m.path(path.Dir(m.d.Program))
	case ResourcesFolder:
		return filepath.Clean(m.o.Resources)
	}
	return m.path(m.d.Folder)
}

// makeExecutable gives the program the owner's right to run it, which an archive without modes loses. The start reports a failure.
func (m *Module) makeExecutable() {
	name := m.path(m.d.Program)
	if info, err := os.Stat(name); err == nil && info.Mode()&0o100 == 0 {
		_ = os.Chmod(name, info.Mode().Perm()|0o111)
	}
}
