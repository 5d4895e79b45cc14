package text

import "testing"

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		word  string
		share int
		want  string
	}{{"Port", 3, "port"}, {"prot", 3, "port"}, {"hostname", 3, ""}, {"hostname", 2, "host"}, {"", 2, ""}, {"x", 2, ""}} {
		if got := Nearest(test.word, []string{"host", "port", "name_of_it"}, test.share); got != test.want {
			t.Errorf("%q is taken for %q, want %q", test.word, got, test.want)
		}
	}
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "badc", 2}} {
		if got, back := distance(test.a, test.b), distance(test.b, test.a); got != test.want || back != test.want {
			t.Errorf("%q and %q are %d and %d apart, want %d", test.a, test.b, got, back, test.want)
		}
	}
}
