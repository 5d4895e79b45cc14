package inspect

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"collet/app/install"
	"collet/netproto/release"
	"collet/platform"
)

// Severity says what it takes to solve a problem. Reports contain these words.
type Severity string

const (
	// NeedsPlayer is a problem that only the player can solve.
	NeedsPlayer Severity = "you"
	// NeedsServer is a problem that the next start solves if it reaches the server.
	NeedsServer Severity = "network"
	// MendsItself is a problem that the next start solves without a server.
	MendsItself Severity = "mends"
	// Note is a harmless anomaly.
	Note Severity = "note"
)

// rank is the position of s in the order of problems.
func (s Severity) rank() int {
	return slices.Index([]Severity{NeedsPlayer, NeedsServer, MendsItself, Note}, s)
}

// Problem is one problem of an install.
type Problem struct {
	Severity Severity `json:"gravity"`
	What     string   `json:"what"`
	Then     string   `json:"then"` // what happens next, or what the player can do
}

// NeedsAttention reports whether there is a problem that the next start does not solve without a server.
func (r *Report) NeedsAttention() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Severity == NeedsPlayer || p.Severity == NeedsServer })
}

func (r *Report) add(s Severity, what, then string) {
	r.Problems = append(r.Problems, Problem{s, what, then})
}

// diagnosis derives the problems from the findings of a report.
type diagnosis struct {
	*Report
	fs   platform.FS
	sane bool // the journal was read
}

func (d *diagnosis) run() {
	for _, check := range []func(){
		d.checkFolders, d.checkJournal, d.checkNextStart, d.checkModule, d.checkDamage, d.checkBackups, d.checkTries, d.checkRest,
	} {
		check()
	}
	slices.SortStableFunc(d.Problems, func(a, b Problem) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
}

func (d *diagnosis) checkJournal() {
	there, lost := 0, 0
	for n, s := range d.Slots {
		if s.Size < 0 {
			continue
		}
		there++
		switch {
		case len(s.Records) == 0:
			lost++
			d.add(Note, fmt.Sprintf("%s holds no valid record (%d bytes, %s)", s.Name, s.Size, cmp.Or(s.Torn, "empty")),
				"it counts as absent, as after a power cut at the beginning of an update; the next update writes it anew")
		case s.Torn != "":
			d.add(Note, fmt.Sprintf("%s: behind byte %d stands %s", s.Name, s.Valid, s.Torn),
				"it is ignored; the next record is written over it")
		}
		if n == d.Slot && !s.Lists.Right() {
			d.add(NeedsServer, s.Lists.Name+" is not the file that its journal names", "the set counts as unknown; the next "+
				"update compares all files with the server's")
		}
	}
	if d.sane && d.Slot < 0 && there > 0 && lost > 0 {
		d.add(NeedsServer, "no slot of the journal is valid", "what is installed, what was kept and what was on its way is "+
			"not known any more; the next update compares all files with the server's")
	}
}

func (d *diagnosis) checkNextStart() {
	next := d.Next
	switch {
	case next.Error != "" && inTheWay(d.fs, install.StateDir): // checkFolders reports that
	case next.Error != "":
		d.add(NeedsPlayer, "the next start stops: "+next.Error, "the game is not started until this is settled")
	case d.State == install.Prepared:
		d.add(MendsItself, "an update was stopped before or while it was made live", "the next start finishes it, or takes it back")
	case d.State == install.RollingBack:
		d.add(MendsItself, "the way back to the last proven set was stopped in the middle", "the next start finishes it")
	}
	if !d.Opened.IsZero() && d.Running != LockHeld {
		d.add(MendsItself, "the last client did not end cleanly: it was killed, or the machine stopped", "the next start "+
			"verifies every file")
	}
}

// inTheWay reports whether something other than a folder, or a link to a folder inside the install, has the name of a
// folder.
func inTheWay(fsys platform.FS, folder string) bool {
	info, err := fsys.Lstat(folder)
	if err != nil || info.IsDir() {
		return false
	}
	info, err = fsys.Stat(folder)
	return err != nil || !info.IsDir()
}

func (d *diagnosis) checkModule() {
	live := d.Names.Library()
	switch {
	case d.Empty:
		d.add(NeedsServer, "nothing is installed here", "the next start fetches everything; until then the built-in client stands in")
	case !d.Next.Module && d.Next.Error == "":
		d.add(NeedsServer, "there is no "+live+", and nothing to restore it from", "the built-in client stands in until the "+
			"server sends it")
	case !d.Module && d.Next.Module:
		d.add(MendsItself, "there is no "+live, "the next start restores it")
	case d.sane && d.State == install.None && len(d.Files) == 0 && d.Slots[0].Size < 0 && d.Slots[1].Size < 0:
		d.add(Note, "no start has compared these files with a release, so what they should be is not known here, and damage can't be seen",
			"the first start that reaches the server reads all of them and fetches what differs; --verify of the client does so at any time")
	}
}

// checkDamage reports damaged files: those that the next start repairs without a server, and those that it does not.
func (d *diagnosis) checkDamage() {
	if mixed := d.Next.Mixed; len(mixed) > 0 {
		d.add(NeedsServer, fmt.Sprintf("the set is no release: %d files are missing or another release's, such as %s", len(mixed), mixed[0]),
			"the next start verifies every file and fetches what is not right; without a server it asks before it plays, and a headless one refuses")
	}
	damaged := map[string]bool{}
	for _, f := range d.Next.Damaged {
		damaged[f.Name] = true
		if f.Found == foundFolder && !d.isEmpty(f.Name) {
			d.add(NeedsPlayer, f.Name+" is a folder with other files where a file of the game belongs", "the next update stops there; move it away")
			continue
		}
		if f.unreadable() {
			d.add(NeedsPlayer, fmt.Sprintf("%s: %s", f.Name, f.reason()), "check its permissions, and the disk")
			continue
		}
		d.add(NeedsServer, fmt.Sprintf("%s: %s", f.Name, f.reason()), "the next start fetches it again")
	}
	for _, f := range d.Files {
		if f.Wrong() && !damaged[f.Name] {
			g, then := MendsItself, "the next start mends it"
			if f.Kind == install.Companion {
				g, then = Note, "debug symbols are not needed to play; the next update of the module fetches it again"
			}
			d.add(g, fmt.Sprintf("%s: %s", f.Name, f.reason()), then)
		}
	}
}

// isEmpty reports whether a folder contains only empty folders.
func (d *diagnosis) isEmpty(folder string) bool {
	entries, err := d.fs.ReadDir(folder)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() || !d.isEmpty(path.Join(folder, e.Name()))
	})
}

// checkFolders reports files in place of the install's folders. A link to a folder inside the install counts as a folder.
// Only updates of signed releases require the cache; Predict considers that.
func (d *diagnosis) checkFolders() {
	for _, folder := range []string{install.StateDir, d.Names.Resources, d.Names.Cache} {
		for at := folder; at != "."; at = path.Dir(at) {
			info, err := d.fs.Lstat(at)
			if err != nil || info.IsDir() {
				continue
			}
			what := "a file"
			if !info.Mode().IsRegular() {
				what = "a link, or no file at all,"
			}
			severity, then := NeedsPlayer, "the next start, or its update, stops there; move it away"
			if folder == d.Names.Cache {
				severity, then = Note, "what was hashed is not remembered, so each start reads every file; move it away"
			}
			if !inTheWay(d.fs, at) {
				severity, then = Note, "it leads to a folder inside of the install, which is used"
			}
			d.add(severity, at+" is "+what+" where a folder of the game belongs", then)
		}
	}
}

// unreadable reports whether Found is an error.
func (f FileState) unreadable() bool {
	return !slices.Contains([]string{
		foundRight, foundUnchecked, foundAbsent, foundPrevious, foundOther, foundFolder, foundLink, foundSize, foundDamaged,
	}, f.Found)
}

// reason describes the problem of a file.
func (f FileState) reason() string {
	switch f.Found {
	case foundAbsent:
		return "is missing"
	case foundFolder:
		return "is a folder"
	case foundLink:
		return "is a symbolic link, or no file at all"
	case foundSize:
		return fmt.Sprintf("has another size than the %d bytes of the set", f.Size)
	case foundDamaged, foundOther:
		return "has other content than the set"
	case foundPrevious:
		return "still has its old content"
	default:
		return f.Found
	}
}

func (d *diagnosis) checkBackups() {
	for _, f := range d.Backups {
		if f.At != "" && f.Wrong() && !f.Proven && f.Found != foundAbsent {
			d.add(Note, fmt.Sprintf("%s, which the last proven set had: %s", f.At, f.reason()),
				"if the live set fails there is no way back")
		}
		if f.At != "" && f.Found == foundAbsent && !f.Proven && !f.Reverting && d.State != install.Prepared {
			d.add(Note, fmt.Sprintf("%s, which the last proven set had, is missing", f.At), "if the live set fails there is no way back")
		}
	}
}

func (d *diagnosis) checkTries() {
	for _, t := range d.Tries {
		switch {
		case !t.MayInstall():
			d.add(Note, fmt.Sprintf("set %s is held back: %s", short(t.Set.String()), history(t)),
				"it is not installed again by itself; a newer one is")
		case t.Failed > 0 || t.Begun > 0:
			d.add(Note, fmt.Sprintf("set %s has not proven itself: %s", short(t.Set.String()), history(t)),
				fmt.Sprintf("after %d failed starts the last proven set takes its place", install.MaxFailed))
		}
	}
}

// history describes the past starts of a set.
func history(t install.Try) string {
	said := []string{"made live " + times(t.Swaps)}
	if t.Failed > 0 {
		said = append(said, "failed "+times(t.Failed))
	}
	if t.Begun > 0 {
		said = append(said, "started "+times(t.Begun)+" without a report")
	}
	if t.Cause != "" {
		said = append(said, "last cause: "+t.Cause)
	}
	return strings.Join(said, ", ")
}

// brief shortens a text that is a digest.
func brief(text string) string {
	if _, err := release.ParseDigest(text); err == nil {
		return short(text)
	}
	return text
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// short is a prefix of a digest that is long enough to identify a set.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

func (d *diagnosis) checkRest() {
	if d.Cache.State == "damaged" {
		d.add(Note, d.Cache.Name+" is damaged", "it counts as empty: the next start hashes every file once")
	}
	for _, s := range d.Strays {
		switch s.What {
		case "link", "device":
			d.add(Note, s.Name+" is a symbolic link, or no file at all", "nothing follows it; where a file of the game belongs it is moved away")
		case "part", "staging":
			d.add(Note, s.Name+" is not known to the journal", "it is never used; it goes when its name is needed")
		}
	}
}
