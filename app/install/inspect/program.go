package inspect

import (
	"collet/app/install"
	"collet/platform"
)

// ProgramReport is the state of updates of the program itself, for people and for JSON.
type ProgramReport struct {
	State   install.State `json:"state"`             // of the newest transaction
	Waiting string        `json:"waiting,omitempty"` // name of a complete program that waits for its trial
	Before  string        `json:"before,omitempty"`  // name of the replaced program; the next start removes it
	Tries   []install.Try `json:"tries,omitempty"`   // unproven programs, including blocked ones
	names   []string      // that files of updates can have
}

// Program reports the state of updates of the program base+ext and changes nothing. found is false if it never had an
// update. The error is that of the disk.
func Program(fsys platform.FS, base, ext string) (p ProgramReport, found bool, err error) {
	fsys, names := install.ProgramView(fsys), install.ProgramNames(base, "", ext)
	view := install.NewView(fsys, nil, names)
	err = view.LoadJournal()
	s := view.Status()
	if install.IsAbsent(err) || err == nil && s.Number == 0 {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	module := names.ModuleFile()
	p = ProgramReport{State: s.State, Tries: s.Tries, names: []string{module.Part, module.Staged, module.Backup}}
	isFile := func(name string) bool {
		info, err := fsys.Lstat(name)
		return err == nil && info.Mode().IsRegular()
	}
	blocked := false
	for _, t := range s.Tries {
		blocked = blocked || t.Set == s.LeadsTo && !t.MayInstall()
	}
	if s.State == install.Prepared && isFile(module.Staged) && !blocked {
		p.Waiting = module.Staged
	}
	if isFile(module.Backup) {
		p.Before = module.Backup
	}
	return p, true, nil
}

// programNames are the names of files that belong to updates of the program.
func programNames(fsys platform.FS, base string) (names []string) {
	for _, ext := range []string{"", install.ProgramExt} {
		if p, found, err := Program(fsys, base, ext); err == nil && found {
			names = append(names, p.names...)
		}
	}
	return names
}
