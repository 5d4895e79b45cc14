package text

import "strings"

// Nearest returns the known word that is most similar to a mistyped one, or empty: up to a share of the longer word, a half for 2 or a
// third for 3, may differ. Case does not count.
func Nearest(word string, known []string, share int) string {
	best, least := "", len(word)
	if len(word) > maxWord {
		return ""
	}
	for _, candidate := range known {
		d := distance(strings.ToLower(word), strings.ToLower(candidate))
		if d < least && share*d <= max(len(word), len(candidate), share) {
			best, least = candidate, d
		}
	}
	return best
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
