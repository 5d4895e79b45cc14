package pack

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tool is an external program that a format needs.
type tool struct {
	program string
	debian  string // the Debian package that contains it
}

// tools lists the tools of each format by name.
var tools = map[string][]tool{
	"nsis":     {{"makensis", "nsis"}},
	"msi":      {{"wixl", "wixl"}, {"msibuild", "msitools"}, {"msiinfo", "msitools"}},
	"appimage": {{"mksquashfs", "squashfs-tools"}},
}

// possible reports all jobs that can't run here, before the first one starts: unknown formats and missing tools.
func possible(jobs []job) error {
	var faults []error
	told := map[string]bool{}
	for _, j := range jobs {
		if j.all || told[j.pattern()] {
			continue
		}
		told[j.pattern()] = true
		if _, err := formatOf(j.target, j.format); err != nil {
			faults = append(faults, err)
		}
		for _, t := range tools[j.format] {
			if _, err := exec.LookPath(t.program); err != nil {
				faults = append(faults, fmt.Errorf("%s needs %s: install it (Debian: apt-get install %s), or choose other packages with --only", j.pattern(), t.program, t.debian))
			}
		}
	}
	return errors.Join(faults...)
}

// outside refuses an output folder inside a source folder of the packs, because the next run would pack it.
func (p *Project) outside(out string) error {
	full, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	for _, k := range p.Resources.Packs {
		if rel, err := filepath.Rel(k.From, full); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%s lies in %s, of which the pack %s is made; choose another folder for packages with --out", out, k.From, k.Name)
		}
	}
	for _, t := range p.Targets {
		rel, err := filepath.Rel(t.Folder, full)
		if t.Folder != "" && err == nil && filepath.IsLocal(rel) && !p.Files.leavesOut(p.Dir, t.Folder, filepath.ToSlash(rel)) {
			return fmt.Errorf("%s lies in %s, whose files players get; choose another folder for packages with --out, or leave it out with files.exclude", out, t.Folder)
		}
	}
	return nil
}

// stopped returns the error that ended Make.
func (m *making) stopped(ctx context.Context, err error) error {
	if err == ctx.Err() { // a cancellation with a cause has its own text
		err = fmt.Errorf("interrupted: %w", err)
	}
	if len(m.made) == 0 {
		return fmt.Errorf("%w\nnothing was made", err)
	}
	var names []string
	for _, a := range m.made {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return fmt.Errorf("%w\ncomplete in %s: %s; %s was not written", err, m.out, strings.Join(names, ", "), SumsFile)
}
