package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Table writes what was done, what was wrong, and the verdict, for people.
func (r *Result) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "soak of %v, seed %d", r.Took.Round(time.Second), r.Options.Seed)
	if r.Early {
		fmt.Fprintf(&b, ", interrupted: %v were asked for", r.Options.Time)
	}
	fmt.Fprintf(&b, "\n\n%d downloads checked to the last byte: %d files, %.1f MB; %d more were ended by a publication between its renames and its reload\n",
		r.Downloads(), r.Files, float64(r.Bytes)/megabyte, r.Disturbed)
	fmt.Fprintf(&b, "%s\n", counted(r.Pairs))
	fmt.Fprintf(&b, "%d publications, and %d that could not be offered and were refused; %d idle connections\n", r.Published, r.Refused, r.Options.Idle)
	fmt.Fprintf(&b, "%s\n", counted(r.Done))
	fmt.Fprintf(&b, "the server used %.2f of a processor\n\n", r.CPU.Seconds()/max(r.Took.Seconds(), 1))
	r.verdict(&b)
	for _, fault := range r.Faults {
		fmt.Fprintf(&b, "WRONG: %s\n", fault)
	}
	if more := r.Faulty - len(r.Faults); more > 0 {
		fmt.Fprintf(&b, "and %d times more\n", more)
	}
	fmt.Fprintf(&b, "soak: %s\n", r.word())
	_, err := io.WriteString(w, b.String())
	return err
}

// word is the verdict in a word.
func (r *Result) word() string {
	switch {
	case r.Holds():
		return "holds"
	case r.NoRows != nil && r.Faulty == 0:
		return "no verdict"
	default:
		return "DOES NOT HOLD"
	}
}

// verdict is the table of numbers.
func (r *Result) verdict(w io.Writer) {
	if r.NoRows != nil {
		fmt.Fprintf(w, "%v\n", r.NoRows)
		return
	}
	fmt.Fprintf(w, "%d quiet moments; medians of the first and the last third\n", len(r.Samples))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tfirst\tlast\tgrowth\tbound\tpeak\t\t")
	for _, row := range r.Rows {
		word := "holds"
		if !row.Holds {
			word = "DOES NOT HOLD"
		}
		sign := "+"
		if row.Exact {
			sign = "±"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s%s\t%s\t%s\t\n", row.Name, row.text(row.First), row.text(row.Last),
			row.text(row.Last-row.First), sign, row.text(row.Allowed), row.text(row.of(r.Peak)), word)
	}
	table.Flush() // a strings.Builder takes everything
}

// text is a number in the bound's unit.
func (b Bound) text(value float64) string {
	if b.Bytes {
		return fmt.Sprintf("%.2f MB", value/megabyte)
	}
	return fmt.Sprintf("%g", value)
}

// lineWidth is how long the lines of a list get, in bytes.
const lineWidth = 110

// counted lists numbers by their names, over several lines.
func counted(all map[string]int) string {
	var lines []string
	line := " "
	for _, name := range slices.Sorted(maps.Keys(all)) {
		part := fmt.Sprintf(" %s: %d;", name, all[name])
		if len(line)+len(part) > lineWidth {
			lines, line = append(lines, line), " "
		}
		line += part
	}
	return strings.TrimSuffix(strings.Join(append(lines, line), "\n"), ";")
}
