package install

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"collet/netproto/release"
)

// Gravity says what it takes to solve a problem. Reports contain these words.
type Gravity string

const (
	// You is a problem that only the player can solve.
	You Gravity = "you"
	// Network is a problem that the next start solves if it reaches the server.
	Network Gravity = "network"
	// Mends is a problem that the next start solves without a server.
	Mends Gravity = "mends"
	// Note is a harmless anomaly.
	Note Gravity = "note"
)

// rank is the position of g in the order of problems.
func (g Gravity) rank() int { return slices.Index([]Gravity{You, Network, Mends, Note}, g) }

// Trouble is one problem of an install.
type Trouble struct {
	Gravity Gravity `json:"gravity"`
	What    string  `json:"what"`
	Then    string  `json:"then"` // what happens next, or what the player can do
}

// NeedsAttention reports whether there is a problem that the next start does not solve without a server.
func (i *Inspection) NeedsAttention() bool {
	return slices.ContainsFunc(i.Troubles, func(t Trouble) bool { return t.Gravity == You || t.Gravity == Network })
}

func (i *inspector) trouble(g Gravity, what, then string) {
	i.found.Troubles = append(i.found.Troubles, Trouble{g, what, then})
}

// judge derives the problems from the findings.
func (i *inspector) judge() {
	for _, look := range []func(){
		i.judgeFolders, i.judgeJournal, i.judgeNext, i.judgeModule, i.judgeDamage, i.judgeBackups, i.judgeTries, i.judgeRest,
	} {
		look()
	}
	slices.SortStableFunc(i.found.Troubles, func(a, b Trouble) int { return cmp.Compare(a.Gravity.rank(), b.Gravity.rank()) })
}

func (i *inspector) judgeJournal() {
	there, lost := 0, 0
	for n, s := range i.found.Slots {
		if s.Size < 0 {
			continue
		}
		there++
		switch {
		case len(s.Records) == 0:
			lost++
			i.trouble(Note, fmt.Sprintf("%s holds no valid record (%d bytes, %s)", s.Name, s.Size, cmp.Or(s.Torn, "empty")),
				"it counts as absent, as after a power cut at the beginning of an update; the next update writes it anew")
		case s.Torn != "":
			i.trouble(Note, fmt.Sprintf("%s: behind byte %d stands %s", s.Name, s.Valid, s.Torn),
				"it is ignored; the next record is written over it")
		}
		if n == i.found.Slot && !s.Lists.Right() {
			i.trouble(Network, s.Lists.Name+" is not the file that its journal names", "the set counts as unknown; the next "+
				"update compares all files with the server's")
		}
	}
	if i.sane && i.found.Slot < 0 && there > 0 && lost > 0 {
		i.trouble(Network, "no slot of the journal is valid", "what is installed, what was kept and what was on its way is "+
			"not known any more; the next update compares all files with the server's")
	}
}

func (i *inspector) judgeNext() {
	next := i.found.Next
	switch {
	case next.Error != "" && i.inTheWay(StateDir): // judgeFolders reports that
	case next.Error != "":
		i.trouble(You, "the next start stops: "+next.Error, "the game is not started until this is settled")
	case i.found.State == Prepared:
		i.trouble(Mends, "an update was stopped before or while it was made live", "the next start finishes it, or takes it back")
	case i.found.State == RollingBack:
		i.trouble(Mends, "the way back to the last proven set was stopped in the middle", "the next start finishes it")
	}
	if !i.found.Opened.IsZero() && i.found.Running != LockHeld {
		i.trouble(Mends, "the last client did not end cleanly: it was killed, or the machine stopped", "the next start "+
			"verifies every file")
	}
}

// inTheWay reports whether something other than a folder, or a link to a folder inside the install, has the name of a
// folder.
func (i *inspector) inTheWay(folder string) bool {
	info, err := i.dir.fs.Lstat(folder)
	if err != nil || info.IsDir() {
		return false
	}
	info, err = i.dir.fs.Stat(folder)
	return err != nil || !info.IsDir()
}

func (i *inspector) judgeModule() {
	live := i.found.Names.Library()
	switch {
	case i.found.Empty:
		i.trouble(Network, "nothing is installed here", "the next start fetches everything; until then the built-in client stands in")
	case !i.found.Next.Module && i.found.Next.Error == "":
		i.trouble(Network, "there is no "+live+", and nothing to restore it from", "the built-in client stands in until the "+
			"server sends it")
	case !i.found.Module && i.found.Next.Module:
		i.trouble(Mends, "there is no "+live, "the next start restores it")
	}
}

// judgeDamage reports damaged files: those that the next start repairs without a server, and those that it does not.
func (i *inspector) judgeDamage() {
	if mixed := i.found.Next.Mixed; len(mixed) > 0 {
		i.trouble(Network, fmt.Sprintf("the set is no release: %d files are missing or another release's, such as %s", len(mixed), mixed[0]),
			"the next start verifies every file and fetches what is not right; without a server it asks before it plays, and a headless one refuses")
	}
	damaged := map[string]bool{}
	for _, f := range i.found.Next.Damaged {
		damaged[f.Name] = true
		if f.Found == foundFolder && !i.empty(f.Name) {
			i.trouble(You, f.Name+" is a folder with other files where a file of the game belongs", "the next update stops there; move it away")
			continue
		}
		if f.unreadable() {
			i.trouble(You, fmt.Sprintf("%s: %s", f.Name, f.reason()), "check its permissions, and the disk")
			continue
		}
		i.trouble(Network, fmt.Sprintf("%s: %s", f.Name, f.reason()), "the next start fetches it again")
	}
	for _, f := range i.found.Files {
		if f.Wrong() && !damaged[f.Name] {
			g, then := Mends, "the next start mends it"
			if f.Kind == string(companion) {
				g, then = Note, "debug symbols are not needed to play; the next update of the module fetches it again"
			}
			i.trouble(g, fmt.Sprintf("%s: %s", f.Name, f.reason()), then)
		}
	}
}

// empty reports whether a folder contains only empty folders.
func (i *inspector) empty(folder string) bool {
	entries, err := i.dir.fs.ReadDir(folder)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() || !i.empty(path.Join(folder, e.Name()))
	})
}

// judgeFolders reports files in place of the install's folders. A link to a folder inside the install counts as a folder.
// Only updates of signed releases require the cache; Foretell considers that.
func (i *inspector) judgeFolders() {
	for _, folder := range []string{StateDir, i.found.Names.Resources, i.found.Names.Cache} {
		for at := folder; at != "."; at = path.Dir(at) {
			info, err := i.dir.fs.Lstat(at)
			if err != nil || info.IsDir() {
				continue
			}
			what := "a file"
			if !info.Mode().IsRegular() {
				what = "a link, or no file at all,"
			}
			grave, then := You, "the next start, or its update, stops there; move it away"
			if folder == i.found.Names.Cache {
				grave, then = Note, "what was hashed is not remembered, so each start reads every file; move it away"
			}
			if !i.inTheWay(at) {
				grave, then = Note, "it leads to a folder inside of the install, which is used"
			}
			i.trouble(grave, at+" is "+what+" where a folder of the game belongs", then)
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

func (i *inspector) judgeBackups() {
	for _, f := range i.found.Backups {
		if f.At != "" && f.Wrong() && !f.Proven && f.Found != foundAbsent {
			i.trouble(Note, fmt.Sprintf("%s, which the last proven set had: %s", f.At, f.reason()),
				"if the live set fails there is no way back")
		}
		if f.At != "" && f.Found == foundAbsent && !f.Proven && !f.Going && i.found.State != Prepared {
			i.trouble(Note, fmt.Sprintf("%s, which the last proven set had, is missing", f.At), "if the live set fails there is no way back")
		}
	}
}

func (i *inspector) judgeTries() {
	for _, t := range i.found.Tries {
		switch {
		case t.refused():
			i.trouble(Note, fmt.Sprintf("set %s is held back: %s", short(t.Set.String()), t.history()),
				"it is not installed again by itself; a newer one is")
		case t.Failed > 0 || t.Begun > 0:
			i.trouble(Note, fmt.Sprintf("set %s has not proven itself: %s", short(t.Set.String()), t.history()),
				fmt.Sprintf("after %d failed starts the last proven set takes its place", maxFailed))
		}
	}
}

// history describes the past starts of a set.
func (t Try) history() string {
	said := []string{"made live " + times(t.Swaps)}
	if t.Failed > 0 {
		said = append(said, "failed "+times(t.Failed))
	}
	if t.Begun > 0 {
		said = append(said, "started "+times(t.Begun)+" without a word")
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

func (i *inspector) judgeRest() {
	if i.found.Cache.State == "damaged" {
		i.trouble(Note, i.found.Cache.Name+" is damaged", "it counts as empty: the next start hashes every file once")
	}
	for _, s := range i.found.Strays {
		switch s.What {
		case "link", "device":
			i.trouble(Note, s.Name+" is a symbolic link, or no file at all", "nothing follows it; where a file of the game belongs it is moved away")
		case "part", "staging":
			i.trouble(Note, s.Name+" is not known to the journal", "it is never used; it goes when its name is needed")
		}
	}
}

// deeds collects the log lines of a rehearsal.
type deeds struct{ list []Deed }

// Write implements io.Writer; zerolog calls it once for each line.
func (d *deeds) Write(line []byte) (int, error) {
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return 0, err
	}
	said := func(key string) string {
		value, _ := fields[key].(string)
		return value
	}
	if step := said("step"); step != "" {
		d.list = append(d.list, Deed{Do: step, From: said("from"), To: said("to")})
		return len(line), nil
	}
	text := said("message")
	for _, key := range []string{"file", "from", "to", "set", "error"} {
		if said(key) != "" {
			text += ", " + key + " " + brief(said(key))
		}
	}
	d.list = append(d.list, Deed{Says: text})
	return len(line), nil
}
