package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collet/app/install"
	"collet/app/install/inspect"
	"collet/build/qa/fileset"
	"collet/build/qa/report"
	"collet/platform/text"
)

// Save writes the report to send: JSON if the file's name ends in .json, otherwise text followed by the JSON form.
func (d *Diagnosis) Save(file string) error {
	return report.WriteFile(file, func(w io.Writer) error {
		if filepath.Ext(file) == ".json" {
			return d.JSON(w)
		}
		return d.Text(w)
	})
}

// JSON writes the whole diagnosis, indented.
func (d *Diagnosis) JSON(w io.Writer) error {
	e := json.NewEncoder(text.NewJSONWriter(w))
	e.SetIndent("", "  ")
	return e.Encode(d)
}

// Text writes the whole diagnosis: the summary, the details, the log, and the JSON form.
func (d *Diagnosis) Text(w io.Writer) error {
	p := &sheet{w: w, d: d}
	p.printLine("Report about an install, made %s by collet %s on %s", d.Time.Format(time.RFC3339), d.Version, d.Target)
	p.printLine("")
	p.summary()
	p.details()
	p.printLine("")
	p.printLine("The same for programs:")
	if p.err != nil {
		return p.err
	}
	return d.JSON(w)
}

// Summary writes the short form: state, next start, troubles.
func (d *Diagnosis) Summary(w io.Writer) error {
	p := &sheet{w: w, d: d}
	p.summary()
	return p.err
}

// sheet writes a diagnosis as lines until the first error. It escapes text from the disk.
type sheet struct {
	d   *Diagnosis
	w   io.Writer
	err error
}

func (p *sheet) printLine(format string, values ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(text.Line(fmt.Sprintf(format, values...)), " "))
	}
}

// item writes one line with a title.
func (p *sheet) item(title, format string, values ...any) {
	p.printLine("  %-11s "+format, append([]any{title}, values...)...)
}

func (p *sheet) summary() {
	i := &p.d.Install
	p.printLine("%s in %s", p.d.Host, p.d.Dir)
	if i.Base != "" {
		p.item("above", "%s", i.Base)
	}
	p.item("state", "%s", p.state())
	p.item("set", "%s", p.setText())
	if i.Pending {
		p.item("proof", "%s", p.proof())
	}
	if p.d.Program != nil {
		p.item("program", "%s", p.program())
	}
	p.item("running", "%s", p.running())
	room := text.Bytes(int64(i.Free)) + " free"
	if i.FreeUnknown {
		room = "unknown how much is free"
	}
	p.item("room", "%s on %s", room, p.d.Volume)
	for n, line := range p.nextStart() {
		p.item([]string{"next start", ""}[min(n, 1)], "%s", line)
	}
	if p.d.DataAt != "" && p.d.DataAt != p.d.Dir {
		p.item("data", "what changes is kept in %s; look there, too", p.d.DataAt)
	}
	troubles := slices.Concat(p.d.Faults(), i.Problems)
	if len(troubles) == 0 {
		p.item("troubles", "none")
	}
	for n, t := range troubles[:min(len(troubles), maxTroubles)] {
		p.item([]string{"troubles", ""}[min(n, 1)], "%s: %s", severityText(t.Severity), t.What)
		p.item("", "    %s", t.Then)
	}
	if more := len(troubles) - maxTroubles; more > 0 {
		p.item("", "and %d more; the report has them all", more)
	}
}

// severityText names an inspect.Severity for people.
func severityText(g inspect.Severity) string {
	return map[inspect.Severity]string{
		inspect.NeedsPlayer: "YOUR HELP", inspect.NeedsServer: "NEEDS THE SERVER", inspect.MendsItself: "mends itself", inspect.Note: "note",
	}[g]
}

// state describes the state of the install, and its reason.
func (p *sheet) state() string {
	i := &p.d.Install
	words := map[install.State]string{
		install.None:        "no update has taken place here",
		install.Staging:     "an update is on its way; what is live is untouched",
		install.Prepared:    "an update is complete and verified, and not yet live",
		install.Swapped:     "the newest update is live",
		install.Confirmed:   "the live set has proven itself",
		install.RollingBack: "on the way back to the last proven set",
		install.RolledBack:  "an update was taken back",
	}
	text := fmt.Sprintf("%s: %s", i.State, words[i.State])
	switch {
	case i.Empty:
		return "empty: nothing is installed here"
	case i.State == install.None && len(i.Problems) > 0 && i.Slots[0].Size+i.Slots[1].Size > 0:
		return "unknown: the journal is damaged"
	case i.State == install.None:
		return "unmanaged: " + words[install.None]
	case i.Pending && i.State != install.RollingBack:
		text += "; the live set is pending: it has not proven itself yet"
	}
	return fmt.Sprintf("%s (transaction %d)", text, i.Number)
}

// setText describes the live set, and whether it is proven.
func (p *sheet) setText() string {
	i := &p.d.Install
	var size int64
	found := map[string]int{}
	for _, f := range i.Files {
		size += f.Size
		if f.Wrong() {
			found["wrong"]++
		} else {
			found[f.Found]++
		}
	}
	if len(i.Files) == 0 {
		return fmt.Sprintf("not known, and not checked; the file %s is %s", i.Names.Library(), map[bool]string{true: "there", false: "missing"}[i.Module])
	}
	id := "of no release" // what a package brought along is recorded without one
	if i.Set != "" {
		id = "id " + fileset.ShortDigest(i.Set)
	}
	text := fmt.Sprintf("%d files, %s, %s: %d right, %d wrong", len(i.Files), text.Bytes(size), id, found["right"], found["wrong"])
	if n := found["unchecked"]; n > 0 {
		text += fmt.Sprintf(", %d of the right size (--hash reads them)", n)
	}
	return text
}

// proof describes what a pending set waits for, and the consequence of a failure.
func (p *sheet) proof() string {
	i := &p.d.Install
	right, kept := 0, 0
	for _, f := range i.Backups {
		if f.At != "" {
			if kept++; !f.Wrong() {
				right++
			}
		}
	}
	text := fmt.Sprintf("comes with the first good start; until then %d files of set %s are kept, %d of them right", kept, fileset.ShortDigest(i.Last), right)
	for _, t := range i.Tries {
		if t.Set.String() == i.Set && t.Failed+t.Begun > 0 {
			text += fmt.Sprintf("; failed starts: %d, starts without a result: %d", t.Failed, t.Begun)
		}
	}
	return text
}

// running describes the running clients.
func (p *sheet) running() string {
	text := map[inspect.LockState]string{
		inspect.LockFree: "no client", inspect.LockHeld: "a client has this install open; a second start brings its window forward, or says that the game is running",
		inspect.LockUnknown: "can't be told",
	}[p.d.Install.Running]
	if p.d.Install.InUse == inspect.LockHeld {
		text += "; another process uses the files of the set"
	}
	for _, u := range p.d.Users {
		text += fmt.Sprintf("; %s is open in %s (process %d)", u.File, u.Name, u.PID)
	}
	return text
}

// program describes the state of program updates.
func (p *sheet) program() string {
	words := []string{"updates itself"}
	if name := p.d.Program.Waiting; name != "" {
		words = append(words, name+" waits for its trial")
	}
	if name := p.d.Program.Before; name != "" {
		words = append(words, name+" was the one before, and goes with the next start")
	}
	for _, t := range p.d.Program.Tries {
		switch {
		case t.Blocked:
			words = append(words, fmt.Sprintf("%s is not tried again: %s", fileset.ShortDigest(t.Set.String()), t.Cause))
		case t.Failed > 0:
			words = append(words, fmt.Sprintf("%s failed once: %s", fileset.ShortDigest(t.Set.String()), t.Cause))
		}
	}
	return strings.Join(words, "; ")
}

// maxTroubles is the number of troubles in the short form.
const maxTroubles = 12

// maxSteps is the number of next steps in the short form.
const maxSteps = 12

// nextStart describes the next start.
func (p *sheet) nextStart() (lines []string) {
	next := &p.d.Install.Next
	for n, step := range next.Actions {
		if n == maxSteps {
			lines = append(lines, fmt.Sprintf("and %d more steps", len(next.Actions)-n))
			break
		}
		lines = append(lines, stepText(step))
	}
	if next.Error != "" {
		return append(append(lines, "stops: "+next.Error), p.d.endingLines()...)
	}
	if len(lines) == 0 {
		lines = append(lines, "has nothing to finish")
	}
	text := "then asks the server"
	switch {
	case len(next.Mixed) > 0:
		text = "then verifies every file, because the set is no release, and asks the server; without one it asks the player before it starts"
	case next.Verify:
		text = "then verifies every file, because the last end was unclean, and asks the server"
		if p.d.Install.Running == inspect.LockHeld {
			text = "then asks the server; unless the client that has this install open ends cleanly, it verifies every file before"
		}
	}
	if next.Set != p.d.Install.Set {
		text = fmt.Sprintf("leads to set %s (%s); %s", fileset.ShortDigest(next.Set), next.State, text)
	}
	return append(append(lines, text), p.d.endingLines()...)
}

func stepText(d inspect.Action) string {
	switch {
	case d.Do == "":
		return d.Says
	case d.To == "":
		return d.Do + " " + d.From
	default:
		return d.Do + " " + d.From + " → " + d.To
	}
}
