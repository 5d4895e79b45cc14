package compat

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"collet/platform/text"
)

// maxRows is how many differences a popup lists; the log has all of them (docs/COMPATIBILITY.md).
const maxRows = 12

// Meeting is a judgement with all that a log line says of it.
type Meeting struct {
	Judgement   Judgement
	Peer        string // the other end's address
	Target      string
	Differences Differences
}

// Line is the one line of the log for a meeting: key=value pairs, values quoted where they need it, in an order that never
// changes. What a peer said can't break out of its value.
func (m Meeting) Line() string {
	d := m.Differences
	var line strings.Builder
	line.WriteString("compat")
	for _, pair := range [...][2]string{
		{"verdict", m.Judgement.Verdict.String()},
		{"rule", strconv.Itoa(int(m.Judgement.Rule))},
		{"peer", m.Peer},
		{"target", m.Target},
		{"client", Derived(d.Client.Logic, d.Client.Components)},
		{"server", Derived(d.Server.Logic, d.Server.Components)},
		{"age", d.Age.String()},
		{"client_build", d.Client.stamp()},
		{"server_build", d.Server.stamp()},
		{"rev", strconv.FormatUint(m.Judgement.Revision, 10)},
		{"only_server", strings.Join(d.Names(onlyServer), ",")},
		{"only_client", strings.Join(d.Names(onlyClient), ",")},
		{"differs", strings.Join(d.Names(modified), ",")},
		{"renumbered", strings.Join(d.Names(renumbered), ",")},
	} {
		line.WriteString(" " + pair[0] + "=" + quoted(pair[1]))
	}
	return line.String()
}

// quoted is a value of a log line: as it is where nothing in it could be taken for something else.
func quoted(value string) string {
	if strings.ContainsFunc(value, func(r rune) bool {
		return r == '"' || r == '=' || r == '\\' || r == unicode.ReplacementChar || unicode.IsSpace(r) || !unicode.IsPrint(r)
	}) {
		return strconv.Quote(value)
	}
	return value
}

// stamp is a build as logs name it: "2026-02-11T09:30Z#812". What is unknown is left out.
func (b Build) stamp() (s string) {
	if b.Time != 0 {
		s = time.Unix(b.Time, 0).UTC().Format("2006-01-02T15:04Z")
	}
	if b.Seq != 0 {
		s += "#" + strconv.FormatUint(b.Seq, 10)
	}
	return s
}

// By is how much older the older build is. It is 0 if a time is unknown, if it is unknown which is older, and if the times
// say the opposite of the numbers that decided it: then they measure nothing.
func (d Differences) By() time.Duration {
	older, newer := d.Client.Time, d.Server.Time
	if d.Age == ClientNewer {
		older, newer = newer, older
	}
	if older == 0 || newer == 0 || older >= newer || d.Age != ClientOlder && d.Age != ClientNewer {
		return 0
	}
	if span := newer - older; span >= 0 && span <= int64(maxSpan/time.Second) {
		return time.Duration(span) * time.Second
	}
	return maxSpan
}

// maxSpan is what an age is cut to: a peer may claim any time, and a Duration ends at 292 years.
const maxSpan = 100 * 365 * 24 * time.Hour

// Sentence says which end has to act, in English.
func (d Differences) Sentence() string {
	by := ""
	if span := d.By(); span > 0 {
		by = " by " + inWords(span)
	}
	switch d.Age {
	case ClientOlder:
		return "Client is older" + by + ", rebuild the client."
	case ClientNewer:
		return "Server is older" + by + ", rebuild the server."
	default:
		return "Cannot tell which side is older."
	}
}

// inWords is a span of at least a second in its largest whole unit.
func inWords(span time.Duration) string {
	unit, size := "second", time.Second
	for _, larger := range [...]struct {
		name string
		size time.Duration
	}{{"minute", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour}} {
		if span >= larger.size {
			unit, size = larger.name, larger.size
		}
	}
	n := int64(span / size)
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// Body is the text for a developer, in English: which build is older, both builds, at most 12 differences, how many more there are. It
// is what the popup P-DEV shows, what its copy button copies, and what a client without a window prints.
func (d Differences) Body() string {
	lines := []string{d.Sentence(), "client " + d.Client.words() + ", server " + d.Server.words()}
	for i, item := range d.Items {
		if i == maxRows {
			lines = append(lines, fmt.Sprintf("and %d more, see log", len(d.Items)-maxRows))
			break
		}
		lines = append(lines, item.Row())
	}
	if d.Untold {
		lines = append(lines, "The server does not tell its components.")
	}
	return strings.Join(lines, "\n")
}

// words is a build as a developer reads it.
func (b Build) words() string {
	s := []string{Derived(b.Logic, b.Components)}
	for _, word := range []string{b.ID, b.Branch, b.stamp()} {
		if word != "" {
			s = append(s, text.Line(word))
		}
	}
	return strings.Join(s, " ")
}

// Row is one line of a list of differences: a sign, the name, and what to know. "+" is only on the server, "-" only on the
// client, "~" differs, "#" has another id.
func (i Difference) Row() string {
	name := text.Line(i.Name)
	switch i.Class {
	case ClassModified:
		row := "~ " + name
		if i.Client.ChangedAt != 0 && i.Server.ChangedAt != 0 {
			row += fmt.Sprintf(" (client %s, server %s)", day(i.Client.ChangedAt), day(i.Server.ChangedAt))
		}
		return row
	case ClassRenumbered:
		return fmt.Sprintf("# %s (client id %d, server id %d)", name, i.Client.WireID, i.Server.WireID)
	}
	sign := "+ "
	if i.Side == OnClient {
		sign = "- "
	}
	return sign + name + map[Class]string{ClassAdded: " (new there)", ClassRemoved: " (removed in the newer build)"}[i.Class]
}

func day(at int64) string { return time.Unix(at, 0).UTC().Format(time.DateOnly) }

// Counts are the four numbers of a toast and of logs.
func (d Differences) Counts() (onServer, onClient, differ, renumber int) {
	return len(d.Names(onlyServer)), len(d.Names(onlyClient)), len(d.Names(modified)), len(d.Names(renumbered))
}

// Toast is the one line of the warn policy, in English, and how long it has to be read: 2 s and 0.3 s for each word.
func (d Differences) Toast() (text string, shown time.Duration) {
	s, c, m, r := d.Counts()
	text = fmt.Sprintf("Client and server differ: %d only on the server, %d only on the client, %d changed, %d renumbered.", s, c, m, r)
	return text, 2*time.Second + time.Duration(len(strings.Fields(text)))*300*time.Millisecond
}
