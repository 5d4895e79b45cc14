package qa

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collet/platform/text"
)

// CaseState is how one case ended. The words stand in reports and never change.
type CaseState string

const (
	// CaseOK is a case in which every promise was kept.
	CaseOK CaseState = "ok"
	// CaseViolation is a case in which a promise was broken.
	CaseViolation CaseState = "violation"
	// CaseSkipped is a case that could not be tried here; Detail says why.
	CaseSkipped CaseState = "skipped"
)

// Param is one thing that tells a case from its neighbours, for example {"kept", "50"}.
type Param struct{ Name, Value string }

// Case is one thing that was tried, and what became of it. It is a value.
type Case struct {
	Suite  string // which kit tried it, for example "net"
	Name   string // what was tried, for example "cut"; with Params it names the case within the suite
	Params []Param
	State  CaseState
	Detail string // what was seen; may have several lines and may hold anything, also what a peer sent
	Took   time.Duration
}

// Param is the value of a parameter, and whether the case has it.
func (c Case) Param(name string) (value string, has bool) {
	for _, p := range c.Params {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// Title is the name with its parameters, on one line.
func (c Case) Title() string {
	title := c.Name
	for _, p := range c.Params {
		title += " " + p.Name + "=" + p.Value
	}
	return title
}

// Report is what a run of the kit has to tell. The zero value is an empty report; fill it from one goroutine, then write
// it as often as needed. The order of Cases is kept wherever it means something, so that two runs can be compared.
type Report struct {
	Title    string // what was tried, for a person
	Product  string // what it was tried on, for example a client's name and version
	Target   string // where, for example "Linux-x64"
	Command  string // the command line that does it again
	Started  time.Time
	Took     time.Duration // wall time of the whole run; 0 is not told
	Cases    []Case
	Columns  []string // parameters that make the columns of the matrix, outermost first; nil: chosen for each suite
	Comments []string // what else a reader should know, one sentence each
}

// Count is how many cases ended in which way. A state that is none of the three counts as a violation: a case that does
// not say how it ended has proven nothing.
type Count struct{ OK, Violations, Skipped int }

// Cases is the sum.
func (n Count) Cases() int { return n.OK + n.Violations + n.Skipped }

// String is the summary line of a report.
func (n Count) String() string {
	return fmt.Sprintf("cases %d, violations %d, skipped %d", n.Cases(), n.Violations, n.Skipped)
}

func (n *Count) add(s CaseState) {
	switch s.known() {
	case CaseOK:
		n.OK++
	case CaseSkipped:
		n.Skipped++
	default:
		n.Violations++
	}
}

// worst is the state that stands for all counted cases; a count of nothing is skipped.
func (n Count) worst() CaseState {
	switch {
	case n.Violations > 0:
		return CaseViolation
	case n.OK > 0:
		return CaseOK
	default:
		return CaseSkipped
	}
}

// known maps a state that is none of the three to the one it counts as.
func (s CaseState) known() CaseState {
	if s == CaseOK || s == CaseSkipped {
		return s
	}
	return CaseViolation
}

// Count counts all cases.
func (r *Report) Count() Count { return count(r.Cases) }

func count(cases []Case) (n Count) {
	for _, c := range cases {
		n.add(c.State)
	}
	return n
}

// visible is a copy for writing: every text printable, every state one of the three.
func (r *Report) visible() *Report {
	v := *r
	v.Title, v.Product, v.Target, v.Command = text.Line(r.Title), text.Line(r.Product), text.Line(r.Target), text.Line(r.Command)
	v.Cases, v.Comments, v.Columns = slices.Clone(r.Cases), slices.Clone(r.Comments), slices.Clone(r.Columns)
	for i, c := range v.Comments {
		v.Comments[i] = text.Line(c)
	}
	for i, name := range v.Columns {
		v.Columns[i] = text.Line(name)
	}
	for i, c := range v.Cases {
		v.Cases[i] = c.visible()
	}
	return &v
}

func (c Case) visible() Case {
	if c.State != c.State.known() {
		c.Detail = fmt.Sprintf("ended as %q, which is none of the states\n%s", string(c.State), c.Detail)
		c.State = c.State.known()
	}
	c.Suite, c.Name, c.Params = text.Line(c.Suite), text.Line(c.Name), slices.Clone(c.Params)
	for i, p := range c.Params {
		c.Params[i] = Param{text.Line(p.Name), text.Line(p.Value)}
	}
	c.Detail = text.Lines(strings.TrimRight(c.Detail, "\n"))
	return c
}
