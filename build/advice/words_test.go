package advice

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"version", "nice-name", "name", "host", "host-pdb", "module-pdb", "zip"}
	for word, want := range map[string]string{
		"verison": "version", "Version": "version", "versoin": "version", "nicename": "nice-name", "nice_name": "nice-name", "nmae": "name",
		"hosts": "host", "hostpdb": "host-pdb", "modul-pdb": "module-pdb", "zpi": "zip", "zp": "zip", "quux": "", "": "", strings.Repeat("x", 10_000): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20q is taken for %q, want %q", word, got, want)
		}
	}
	if got := OneOf([]string{"a", "b", "c"}); got != "a, b or c" || OneOf(nil) != "" || OneOf([]string{"a"}) != "a" {
		t.Errorf("got %q", got)
	}
}
