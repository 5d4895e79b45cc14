package qa

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

// maxListedOK is how many cases of each suite that are ok the page lists one by one. All of them have their square in the matrix, but a
// browser is slow with a hundred thousand lines of text. Violations and skips are always listed.
const maxListedOK = 2000

//go:embed report.html
var pageSource string

// page is everything that the template sees.
type page struct {
	*Report
	Count Count
	Verdict,
	Summary string
	Bars     []bar
	Grids    []grid
	Listed   []listed
	Unlisted int // cases that are ok and have only a square
	isListed map[int]bool
}

// bar is one part of the picture of the whole.
type bar struct {
	State   CaseState
	Count   int
	Percent string
}

// listed is a case with its number, from 1.
type listed struct {
	Number int
	Case
}

// HTML writes the report as one page that needs nothing else: no other file, no network (its own policy forbids it), and
// no scripts, which only add the filter and the panel. It has a matrix for each suite with a square for each case, and the
// list of cases, worst first. Everything that a case holds is escaped. The error is w's.
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
	for _, b := range []bar{{CaseViolation, n.Violations, ""}, {CaseSkipped, n.Skipped, ""}, {CaseOK, n.OK, ""}} {
		b.Percent = fmt.Sprintf("%.3f", 100*float64(b.Count)/float64(max(n.Cases(), 1)))
		p.Bars = append(p.Bars, b)
	}
	p.list()
	return p
}

// list chooses the cases that are listed, worst first.
func (p *page) list() {
	order := map[CaseState]int{CaseViolation: 0, CaseSkipped: 1, CaseOK: 2}
	ok := map[string]int{}
	for i, c := range p.Cases {
		if c.State == CaseOK {
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

// IsListed reports whether a case has a line that its square can lead to.
func (p *page) IsListed(index int) bool { return p.isListed[index] }

// StateOf is the state of a case, for its square.
func (p *page) StateOf(index int) CaseState { return p.Cases[index].State }

// Grouped reports whether the rows were gathered.
func (g grid) Grouped() bool { return len(g.Groups) > 1 }

// Width is the number of columns.
func (g grid) Width() int {
	if len(g.Groups) == 0 {
		return 0
	}
	return len(g.Groups[0].Cells)
}

// Tall reports whether a line of heads is better written upright.
func (g grid) Tall(line []head) bool {
	return slices.ContainsFunc(line, func(h head) bool { return h.Span*4 < len([]rune(h.Value)) })
}

// Open reports whether the rows of a group are shown at once: something in them wants to be looked at.
func (g group) Open() bool { return g.Count.Violations > 0 || g.Title == "" }

func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2 January 2006, 15:04:05 MST")
}
