package advice

import (
	"fmt"
	"strings"

	"collet/platform/text"
)

// Nearest returns the known word most similar to a mistyped one, or empty: up to a third may differ.
func Nearest(word string, known []string) string { return text.Nearest(word, known, 3) }

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
