package install

import (
	"path"
	"slices"

	"collet/platform"
)

// ProgramFound is the result of LookAtProgram, for people and for JSON.
type ProgramFound struct {
	State   State  `json:"state"`             // of the newest transaction
	Waiting string `json:"waiting,omitempty"` // name of a complete program that waits for its trial
	Before  string `json:"before,omitempty"`  // name of the replaced program; the next start removes it
	Tries   []Try  `json:"tries,omitempty"`   // unproven programs, including blocked ones
	names   []string
}

// LookAtProgram reports the state of updates of the program base+ext and changes nothing. found is false if it never had an
// update. The error is that of the disk.
func LookAtProgram(fsys platform.FS, base, ext string) (p ProgramFound, found bool, err error) {
	view, names := ProgramView(fsys), ProgramNames(base, "", ext)
	j, err := loadJournal(view, maxJournal)
	if isAbsent(err) || err == nil && j.Number == 0 {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	e := entry{Kind: module, Live: names.Library()}
	p = ProgramFound{State: j.State, Tries: j.Tries, names: []string{e.part(), e.staged(), e.backup()}}
	there := func(name string) bool {
		info, err := view.Lstat(name)
		return err == nil && info.Mode().IsRegular()
	}
	if j.State == Prepared && there(e.staged()) && !tryOf(j.Tries, j.Build).refused() {
		p.Waiting = e.staged()
	}
	if there(e.backup()) {
		p.Before = e.backup()
	}
	return p, true, nil
}

// isProgram reports whether a file belongs to updates of the program.
func isProgram(fsys platform.FS, base, name string) bool {
	if path.Dir(name) != "." {
		return false
	}
	for _, ext := range []string{"", programExt} {
		if p, found, err := LookAtProgram(fsys, base, ext); err == nil && found && slices.Contains(p.names, name) {
			return true
		}
	}
	return false
}
