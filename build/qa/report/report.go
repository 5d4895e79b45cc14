// Package report holds the results of tests and writes them: as a table for a terminal, as one HTML page, and as JUnit XML.
//
// A Case is one test with its parameters and its state: ok, violation or skipped. Any other state counts as a violation, because an unknown
// result proves nothing. The page shows each suite as a matrix whose columns are parameters. Spread runs cases concurrently and delivers
// them in order.
//
// Cases may contain untrusted text; all writers escape it. Report files are replaced atomically. The words of states and the element names of
// JUnit never change.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"collet/platform/text"
)

// State is the result of one case. The words stand in reports and never change.
type State string

const (
	// OK is a case without a violation.
	OK State = "ok"
	// Violation is a case with a broken promise.
	Violation State = "violation"
	// Skipped is a case that could not run here; Detail has the reason.
	Skipped State = "skipped"
)

// Param is one parameter of a case, for example {"kept", "50"}.
type Param struct{ Name, Value string }

// Case is one test and its result. It is a value.
type Case struct {
	Suite  string // its kit, for example "net"
	Name   string // the test, for example "cut"; with Params it names the case within the suite
	Params []Param
	State  State
	Detail string // observations; may have several lines and contain untrusted text
	Took   time.Duration
}

// Param returns the value of a parameter, and whether the case has it.
func (c Case) Param(name string) (value string, has bool) {
	for _, p := range c.Params {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// Title returns the name with its parameters, on one line.
func (c Case) Title() string {
	title := c.Name
	for _, p := range c.Params {
		title += " " + p.Name + "=" + p.Value
	}
	return title
}

// Report is the result of a run of the kit. The zero value is an empty report. One goroutine fills it; then it can be written several
// times. The order of Cases is kept wherever it matters, so that two runs can be compared.
type Report struct {
	Title    string // the subject, for a person
	Product  string // the tested product, for example a client's name and version
	Target   string // the system, for example "Linux-x64"
	Command  string // the command line that repeats the run
	Started  time.Time
	Took     time.Duration // wall time of the whole run; 0 is omitted
	Cases    []Case
	Columns  []string // parameters that form the matrix's columns, outermost first; nil: chosen for each suite
	Comments []string // further remarks, one sentence each
}

// Count counts the cases by state. Any other state counts as a violation: a case without a known result has proven nothing.
type Count struct{ OK, Violations, Skipped int }

// Cases returns the sum.
func (n Count) Cases() int { return n.OK + n.Violations + n.Skipped }

// String returns the summary line of a report.
func (n Count) String() string {
	return fmt.Sprintf("cases %d, violations %d, skipped %d", n.Cases(), n.Violations, n.Skipped)
}

func (n *Count) addState(s State) {
	switch s.known() {
	case OK:
		n.OK++
	case Skipped:
		n.Skipped++
	default:
		n.Violations++
	}
}

// worst returns the worst counted state; an empty count is skipped.
func (n Count) worst() State {
	switch {
	case n.Violations > 0:
		return Violation
	case n.OK > 0:
		return OK
	default:
		return Skipped
	}
}

// known maps an unknown state to the one it counts as.
func (s State) known() State {
	if s == OK || s == Skipped {
		return s
	}
	return Violation
}

// Count counts all cases.
func (r *Report) Count() Count { return count(r.Cases) }

func count(cases []Case) (n Count) {
	for _, c := range cases {
		n.addState(c.State)
	}
	return n
}

// visible returns a copy for writing, with printable texts and known states.
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
