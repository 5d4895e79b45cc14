package commandlinetest

import (
	"reflect"
	"testing"
)

// TestSplit is the table of command lines.
func TestSplit(t *testing.T) {
	for line, want := range map[string][][]string{
		"a":                              {{"a"}},
		"a b  c":                         {{"a", "b", "c"}},
		`a "b c" 'd "e'`:                 {{"a", "b c", `d "e`}},
		"a b && c; d | e":                {{"a", "b"}, {"c"}, {"d"}, {"e"}},
		"a b > file c":                   {{"a", "b", "c"}},
		"a b   a comment with 'one mark": {{"a", "b"}},
		"a b  # a comment":               {{"a", "b"}},
		"a ''":                           {{"a", ""}},
		"a --x='y z'":                    {{"a", "--x=y z"}},
		"a file#1":                       {{"a", "file#1"}},
	} {
		if got, err := Split(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
	if _, err := Split("a 'b"); err == nil {
		t.Error("an open quotation mark is taken")
	}
}
