package advice

import (
	"fmt"
	"strings"
)

// Nearest returns the known word most similar to a mistyped one, or empty: up to a third may differ.
func Nearest(word string, known []string) string {
	best, least := "", len(word)
	if len(word) > maxWord {
		return ""
	}
	for _, candidate := range known {
		d := distance(strings.ToLower(word), strings.ToLower(candidate))
		if d < least && 3*d <= max(len(word), len(candidate), 3) {
			best, least = candidate, d
		}
	}
	return best
}

// DidYouMean returns advice with the nearest word, or else the list of known words.
func DidYouMean(word string, known []string) string {
	return Suggest(word, known, "want "+OneOf(known))
}

// Suggest returns advice with the nearest word, or else otherwise.
func Suggest(word string, known []string, otherwise string) string {
	if best := Nearest(word, known); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return otherwise
}

// OneOf joins words with commas and "or".
func OneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// maxWord limits the compared words in bytes: names are shorter, and the work grows with the square.
const maxWord = 64

// distance returns the number of byte insertions, deletions, replacements and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	a, b = a[:min(len(a), maxWord)], b[:min(len(b), maxWord)]
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			same := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				same++
			}
			rows[i][j] = min(same, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
