package config

import (
	"fmt"
	"strings"
)

// DidYouMean suggests the known name that is nearest to a mistyped one, as the end of a sentence; empty if none is near. Half of
// the longer name may differ, so a name under the wrong table is still found.
func DidYouMean(name string, known []string) string {
	nearest, least := "", len(name)
	for _, candidate := range known {
		d := distance(strings.ToLower(name), strings.ToLower(candidate))
		if d < least && 2*d <= max(len(name), len(candidate)) {
			nearest, least = candidate, d
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", nearest)
}

// distance counts the bytes to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
