package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"collet/build/qa/report"
)

// TestTableTellsNamesApart checks that rows have 80 columns if possible, and that no two look equal.
func TestTableTellsNamesApart(t *testing.T) {
	const long = "die at rename Resources/deep/folder/~%s.zip Resources/deep/folder/%s.zip, and so on"
	for _, test := range []struct {
		title string
		names []string
		fits  bool
	}{
		{"short", []string{"a", "b"}, true},
		{"one long name", []string{fmt.Sprintf(long, "Core", "Core")}, true},
		{"different ends", []string{"die at rename Resources/~Core.zip", "die at rename Resources/~Levels.zip"}, true},
		{"different beginnings", []string{"sync Resources/deep/folder/Core.zip", "write Resources/deep/folder/Core.zip"}, true},
		{"different middles", []string{fmt.Sprintf(long, "Core", "Core"), fmt.Sprintf(long, "Corf", "Core"), fmt.Sprintf(long, "Core", "Corf")}, false},
		{"letters of several bytes", []string{strings.Repeat("ä", 100), strings.Repeat("ä", 50) + "ö" + strings.Repeat("ä", 49)}, false},
	} {
		r := &report.Report{}
		for _, name := range test.names {
			r.Cases = append(r.Cases, report.Case{Suite: "crash real", Name: name, State: report.OK})
		}
		rows, widest := map[string]bool{}, 0
		for line := range strings.Lines(string(written(t, r.Table))) {
			if strings.HasPrefix(line, "crash real") {
				rows[line] = true
				widest = max(widest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
			}
		}
		if len(rows) != len(test.names) || test.fits != (widest <= 80) {
			t.Errorf("%s: %d columns, %d different rows:\n%s", test.title, widest, len(rows), written(t, r.Table))
		}
	}
}
