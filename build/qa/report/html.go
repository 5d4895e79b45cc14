package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

// maxListedOK is how many passed cases of each suite the page lists individually. All have a square in the matrix, but browsers are slow
// with a hundred thousand lines. Violations and skipped cases are always listed.
const maxListedOK = 2000

//go:embed report.html
var pageSource string

// page is the template's data.
type page struct {
	*Report
	Count Count
	Verdict,
	Summary string
	Bars     []bar
	Grids    []grid
	Listed   []listed
	Unlisted int // passed cases that only have a square
	isListed map[int]bool
}

// bar is one segment of the overview bar.
type bar struct {
	State   State
	Count   int
	Percent string
}

// listed is a case with its number, from 1.
type listed struct {
	Number int
	Case
}

// HTML writes the report as one self-contained page: without other files and without network (its own policy forbids it). It works without
// scripts, which only add the filter and the panel. It has a matrix for each suite with a square for each case, and the list of cases,
// worst first. All text of cases is escaped. The error is w's.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"seconds": seconds, "date": date, "worst": Count.worst, "add": func(a, b int) int { return a + b },
	}).Parse(pageSource)
	if err != nil {
		return err
	}
	return t.Execute(w, r.visible().page())
}

func (r *Report) page() *page {
	n := r.Count()
	p := &page{Report: r, Count: n, Verdict: "Every promise was kept", Summary: n.String(), Grids: r.grids(), isListed: map[int]bool{}}
	switch {
	case n.Violations == 1:
		p.Verdict = "One promise was broken"
	case n.Violations > 1:
		p.Verdict = fmt.Sprintf("Promises were broken in %d cases", n.Violations)
	case n.OK == 0:
		p.Verdict = "Nothing was proven"
	}
	for _, b := range []bar{{Violation, n.Violations, ""}, {Skipped, n.Skipped, ""}, {OK, n.OK, ""}} {
		b.Percent = fmt.Sprintf("%.3f", 100*float64(b.Count)/float64(max(n.Cases(), 1)))
		p.Bars = append(p.Bars, b)
	}
	p.list()
	return p
}

// list selects the listed cases, worst first.
func (p *page) list() {
	order := map[State]int{Violation: 0, Skipped: 1, OK: 2}
	ok := map[string]int{}
	for i, c := range p.Cases {
		if c.State == OK {
			if ok[c.Suite]++; ok[c.Suite] > maxListedOK {
				p.Unlisted++
				continue
			}
		}
		p.Listed = append(p.Listed, listed{i + 1, c})
		p.isListed[i] = true
	}
	slices.SortStableFunc(p.Listed, func(a, b listed) int { return order[a.State] - order[b.State] })
}

// IsListed reports whether a case has a line to link to.
func (p *page) IsListed(index int) bool { return p.isListed[index] }

// StateOf returns the state of a case, for its square.
func (p *page) StateOf(index int) State { return p.Cases[index].State }

// Grouped reports whether the rows are grouped.
func (g grid) Grouped() bool { return len(g.Groups) > 1 }

// Width returns the number of columns.
func (g grid) Width() int {
	if len(g.Groups) == 0 {
		return 0
	}
	return len(g.Groups[0].Cells)
}

// Tall reports whether a line of heads should be written vertically.
func (g grid) Tall(line []head) bool {
	return slices.ContainsFunc(line, func(h head) bool { return h.Span*4 < len([]rune(h.Value)) })
}

// Open reports whether the rows of a group are expanded at first: it has a violation or no title.
func (g group) Open() bool { return g.Count.Violations > 0 || g.Title == "" }

func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2 January 2006, 15:04:05 MST")
}
