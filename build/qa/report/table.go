package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"collet/platform/text"
)

// maxDetailLines is how many lines of a violation's detail the terminal shows; other reports have all lines.
const maxDetailLines = 30

const (
	// tableWidth is the default width of a terminal in characters. The table is wider if names would be ambiguous otherwise.
	tableWidth = 80
	// suiteWidth is the maximum width of the suite's column.
	suiteWidth = 10
	// numbersWidth is the width of the number columns, with the spaces before them.
	numbersWidth = 2 + 6 + 2 + 6 + 2 + 10 + 2 + 7 + 2 + 8
)

// Colours of a terminal, as ECMA-48 numbers them.
const (
	plain = ""
	red   = "\x1b[31m"
	green = "\x1b[32m"
	grey  = "\x1b[90m"
	bold  = "\x1b[1m"
	reset = "\x1b[0m"
)

// Table writes the report for a terminal: one line for each name with its counts, every violation in full, the skipped cases with their
// reasons, and the summary on the last line: "cases 1234, violations 0, skipped 3". It is coloured if w is a terminal and the environment
// allows it (NO_COLOR, TERM=dumb). Control characters of cases are escaped. The error is w's.
func (r *Report) Table(w io.Writer) error {
	r = r.visible()
	if harmless, is := w.(*text.Writer); is {
		w = harmless.Raw() // visible has escaped all foreign text, and the colours are ours
	}
	t := &table{out: bufio.NewWriter(w), colours: takesColours(w)}
	t.overview(r.Cases)
	t.violations(r.Cases)
	t.skips(r.Cases)
	for _, c := range r.Comments {
		t.printLine(plain, "%s", c)
	}
	t.summary(r)
	return t.out.Flush()
}

// takesColours reports whether w is a terminal that supports colours.
func takesColours(w io.Writer) bool {
	f, is := w.(*os.File)
	if !is || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// table writes lines; out keeps the first error.
type table struct {
	out     *bufio.Writer
	colours bool
}

func (t *table) printLine(colour, format string, values ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, values...), " ")
	if t.colours && colour != plain && text != "" {
		text = colour + text + reset
	}
	fmt.Fprintln(t.out, text)
}

// overview writes one line for each suite and name.
func (t *table) overview(cases []Case) {
	type subject struct{ suite, name string }
	type sum struct {
		Count
		took time.Duration
	}
	var subjects []subject
	sums := map[subject]*sum{}
	for _, c := range cases {
		s := subject{c.Suite, c.Name}
		if sums[s] == nil {
			subjects, sums[s] = append(subjects, s), &sum{}
		}
		sums[s].addState(c.State)
		sums[s].took += c.Took
	}
	suites, names := make([]string, len(subjects)), make([]string, len(subjects))
	for i, s := range subjects {
		suites[i], names[i] = s.suite, s.name
	}
	suite := columnWidth(suites, "SUITE", suiteWidth)
	name := columnWidth(names, "NAME", tableWidth-numbersWidth-suite-2)
	t.printLine(bold, "%-*s  %-*s  %6s  %6s  %10s  %7s  %8s", suite, "SUITE", name, "NAME", "CASES", "OK", "VIOLATIONS", "SKIPPED", "TIME")
	for _, s := range subjects {
		n := sums[s]
		t.printLine(shade(n.worst()), "%-*s  %-*s  %6d  %6d  %10d  %7d  %8s", suite, shortened(s.suite, suite), name, shortened(s.name, name),
			n.Cases(), n.OK, n.Violations, n.Skipped, seconds(n.took))
	}
}

// columnWidth returns a column's width: that of its longest text, at most most, but wide enough to distinguish all texts.
func columnWidth(texts []string, title string, most int) int {
	longest, different := len(title), map[string]bool{}
	for _, text := range texts {
		longest, different[text] = max(longest, utf8.RuneCountInString(text)), true
	}
	for width := min(longest, max(most, len(title))); ; width++ {
		seen := map[string]bool{}
		for text := range different {
			seen[shortened(text, width)] = true
		}
		if len(seen) == len(different) || width >= longest {
			return width
		}
	}
}

// shortened cuts out the middle of a text that is too long, because related names often begin alike.
func shortened(text string, width int) string {
	c := []rune(text)
	if len(c) <= width {
		return text
	}
	head := width / 2
	return string(c[:head]) + "…" + string(c[len(c)-(width-head-1):])
}

// shade returns the colour of a state.
func shade(s State) string {
	return map[State]string{OK: green, Violation: red, Skipped: grey}[s]
}

// violations writes each violation in full.
func (t *table) violations(cases []Case) {
	for _, c := range cases {
		if c.State != Violation {
			continue
		}
		t.printLine(plain, "")
		t.printLine(red, "violation: %s %s", c.Suite, c.Title())
		lines := strings.Split(strings.TrimRight(c.Detail, "\n"), "\n")
		for i, line := range lines {
			if i == maxDetailLines {
				t.printLine(plain, "  … %d more lines, see the other reports", len(lines)-i)
				break
			}
			t.printLine(plain, "  %s", line)
		}
	}
}

// skips writes each reason once, the most frequent first.
func (t *table) skips(cases []Case) {
	reasons := map[string]int{}
	for _, c := range cases {
		if c.State == Skipped {
			reasons[c.Detail]++
		}
	}
	sorted := make([]string, 0, len(reasons))
	for reason := range reasons {
		sorted = append(sorted, reason)
	}
	slices.SortFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	if len(sorted) > 0 {
		t.printLine(plain, "")
	}
	for _, reason := range sorted {
		t.printLine(grey, "skipped %d: %s", reasons[reason], strings.ReplaceAll(strings.TrimSpace(reason), "\n", "; "))
	}
}

func (t *table) summary(r *Report) {
	n := r.Count()
	text := n.String()
	if r.Took > 0 {
		text += fmt.Sprintf(" (%s)", seconds(r.Took))
	}
	t.printLine(plain, "")
	t.printLine(shade(n.worst()), "%s", text)
}

// seconds formats a duration in seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
