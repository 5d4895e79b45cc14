package demo

import (
	"fmt"
	"slices"
	"strings"
)

// module is what a line of the log says about a loaded module.
type module struct{ Role, Runtime, Build, Compatibility string }

// facts are what the client's log has said so far.
type facts struct {
	hosts   []int    // process ids of every start of the host
	modules []module // in the order of loading
	phases  []string // without repetitions in a row
	swaps   int
	ready   bool   // the module loaded last has said that its first frame is on the screen
	end     string // how the last start ended, as the log names it
}

// readLine adds one line and says whether, and how, to tell it.
func (f *facts) readLine(l line) (text string, worth bool) {
	switch {
	case l.Message == "collet-client starts":
		f.hosts = append(f.hosts, l.PID)
		return fmt.Sprintf("the host is up, process %d", l.PID), true
	case l.Runtime != "":
		m := module{l.Role, l.Runtime, l.Build, l.Compat}
		f.modules, f.ready = append(f.modules, m), false
		return fmt.Sprintf("%s module loaded: %s, build %s, compatibility %s", m.Role, m.Runtime, m.Build, m.Compatibility), true
	case l.Phase != "":
		return f.phase(l)
	case l.Message == "module swapped":
		f.swaps++
		return "new module swapped in", true
	case l.Message == "runtime ready":
		f.ready = true
		return "the game says that its first frame is on the screen", true
	case l.Message == "start ended":
		f.end = l.Outcome
		return "start ended: " + l.Outcome, l.Outcome != "ResourcesReady"
	case l.Message == "game ended":
		return "the game has ended: " + l.Exit, true
	}
	return l.Message + " " + l.Error, l.Level == "warn" || l.Level == "error"
}

func (f *facts) phase(l line) (string, bool) {
	name := l.Phase
	if l.Mode == "resources" || l.Mode == "binaries" {
		name += " " + l.Mode
	}
	if len(f.phases) > 0 && f.phases[len(f.phases)-1] == name {
		return "", false
	}
	f.phases = append(f.phases, name)
	return name, true
}

// fetching reports whether the client is fetching something just now: the packs come with the module, as one set.
func (f *facts) fetching() bool {
	return len(f.phases) > 0 && strings.HasPrefix(f.phases[len(f.phases)-1], "fetching ")
}

// oneHost checks that the host was started once, as the process that we started.
func (f *facts) oneHost(pid int) error {
	if !slices.Equal(f.hosts, []int{pid}) {
		return fmt.Errorf("the log names the hosts %v, want only process %d", f.hosts, pid)
	}
	return nil
}

// oneSwap checks that a module of the first release was loaded, swapped once, and one of the second loaded after it.
func (f *facts) oneSwap(first, second string) error {
	if len(f.modules) != 2 || f.swaps != 1 {
		return fmt.Errorf("%d modules were loaded and %d swapped in, want 2 and 1: %v", len(f.modules), f.swaps, f.modules)
	}
	for i, want := range []string{first, second} {
		if m := f.modules[i]; m.Compatibility != want || m.Role != "runtime" {
			return fmt.Errorf("module %d is %+v, want one of compatibility %q beside the host", i+1, m, want)
		}
	}
	return nil
}
