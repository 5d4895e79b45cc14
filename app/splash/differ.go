package splash

import (
	"strconv"
	"strings"
	"time"

	"collet/assets"
	"collet/netproto/compat"
)

const (
	// maxRows is the largest number of differing components in a dialog; the report and the log list all.
	maxRows = 12
	// maxWords is the longest operator's text in a dialog, in bytes: a dozen lines.
	maxWords = 1000
	// toastLeast and toastWord determine how long a toast is shown: the former, plus the latter for each word.
	toastLeast = 2 * time.Second
	toastWord  = 300 * time.Millisecond
)

// operatorWords cleans an operator's text and removes empty lines; the result may be empty.
func operatorWords(text string) string {
	if len(text) > maxWords {
		text = text[:maxWords] + "…"
	}
	var lines []string
	for line := range strings.SplitSeq(cleanLines(text), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// differences are the lines for a developer: the older side, both builds, the differing components, and the number of
// further ones.
func differences(d compat.Differences, t assets.Texts) []string {
	lines := []string{
		sentence(d, t), t.Get("end.components.client", "build", buildWords(d.Client, t)), t.Get("end.components.server", "build", buildWords(d.Server, t)),
	}
	for i, item := range d.Items {
		if i == maxRows {
			lines = append(lines, t.Get("differ.more", "count", len(d.Items)-maxRows))
			break
		}
		lines = append(lines, row(item, t))
	}
	if d.Untold {
		lines = append(lines, t.Get("differ.untold"))
	}
	return lines
}

// sentence says which side has to be updated.
func sentence(d compat.Differences, t assets.Texts) string {
	key := "differ.client"
	switch d.Age {
	case compat.ClientOlder:
	case compat.ClientNewer:
		key = "differ.server"
	default:
		return t.Get("differ.unknown")
	}
	if by := d.By(); by > 0 {
		return t.Get(key+".by", "time", t.Age(by))
	}
	return t.Get(key)
}

// buildWords describes a build: its version, id, branch, number and time, as far as known.
func buildWords(b compat.Build, t assets.Texts) string {
	version := b.Compatibility
	if b.Logic > compat.NoLogic && b.Components != 0 {
		version = compat.Derived(b.Logic, b.Components)
	}
	words := []string{version, b.ID, b.Branch}
	if b.Seq != 0 {
		words = append(words, "#"+strconv.FormatUint(b.Seq, 10))
	}
	if b.Time != 0 {
		words = append(words, time.Unix(b.Time, 0).UTC().Format("2006-01-02 15:04Z"))
	}
	return orWord(strings.Join(words, " "), t.Get("word.unknown"))
}

// row describes one component: a mark, its name, and details.
func row(item compat.Difference, t assets.Texts) string {
	name := clean(item.Name, maxLine/2)
	switch item.Class {
	case compat.ClassModified:
		if item.Client.ChangedAt == 0 || item.Server.ChangedAt == 0 {
			return "~ " + name
		}
		return "~ " + name + " " + t.Get("differ.dates", "client", date(item.Client.ChangedAt), "server", date(item.Server.ChangedAt))
	case compat.ClassRenumbered:
		return "# " + name + " " + t.Get("differ.ids", "client", item.Client.WireID, "server", item.Server.WireID)
	}
	mark := "+ "
	if item.Side == compat.OnClient {
		mark = "- "
	}
	switch item.Class {
	case compat.ClassAdded:
		name += " " + t.Get("differ.added")
	case compat.ClassRemoved:
		name += " " + t.Get("differ.removed")
	}
	return mark + name
}

func date(at int64) string { return time.Unix(at, 0).UTC().Format(time.DateOnly) }

// Toast is the one-line message about a difference that the server tolerates.
type Toast struct {
	Text  string
	Shown time.Duration // minimum duration
	Label string        // of the button for details
}

// countWords counts the words of a text; two letters of East Asia are one.
func countWords(text string) (n int) {
	wide := 0
	for _, w := range words(text) {
		if isWide([]rune(w.text)[0]) {
			wide++
		} else {
			n++
		}
	}
	return n + (wide+1)/2
}

// ComposeToast composes the toast for d. It is pure.
func ComposeToast(d compat.Differences, t assets.Texts) Toast {
	server, client, changed, renumbered := d.Counts()
	text := t.Get("differ.toast", "server", server, "client", client, "changed", changed, "renumbered", renumbered)
	if d.Untold {
		text = t.Get("differ.toast.untold")
	}
	return Toast{Text: text, Shown: toastLeast + time.Duration(countWords(text))*toastWord, Label: t.Get("button.differences")}
}
