package config

import "collet/platform/text"

// DidYouMean suggests the known name that is nearest to a mistyped one, as the end of a sentence; empty if none is near. Half of
// the longer name may differ, so a name under the wrong table is still found.
func DidYouMean(name string, known []string) string {
	if nearest := text.Nearest(name, known, 2); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}
