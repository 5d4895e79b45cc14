package main

import (
	"bytes"
	"strings"
	"testing"

	"collet"
)

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args        []string
		code        int
		out, errors string // what must be printed there
	}{
		{[]string{"--help"}, 0, "Play a whole update through", ""},
		{[]string{"demo", "--help"}, 0, "--keep=DIR", ""},
		{[]string{"demo", "--help"}, 0, "Where it happens:", ""},
		{[]string{"--version"}, 0, "collet " + collet.Version(), ""},
		{nil, 2, "", "collet --help tells more"},
		{[]string{"nonsense"}, 2, "", "nonsense"},
		{[]string{"demo", "--screen", "wall"}, 2, "", "--screen"},
		{[]string{"release", "publish"}, 2, "", "there is no collet.toml: name the folder of the game"},
		{[]string{"release", "publish"}, 2, "", "\ncollet release publish --help tells more\n"},
		{[]string{"release"}, 2, "", "\ncollet release --help tells more\n"},
		{[]string{"release", "rollout", "3", "101"}, 2, "", "\ncollet release rollout --help tells more\n"},
		{[]string{"demo", "--rate", "fast"}, 2, "", "--rate"},
		{[]string{"demo", "--data", "100000"}, 1, "demo: failed: a large pack of 100000 MB: want 0 to 512", ""},
	} {
		if test.code == 1 {
			test.args = append(test.args, "--programs", needs(t))
		}
		var out, errs bytes.Buffer
		code := run(test.args, &out, &errs)
		if code != test.code || !strings.Contains(out.String(), test.out) || !strings.Contains(errs.String(), test.errors) {
			t.Errorf("collet %s: code %d, want %d\n%s%s", strings.Join(test.args, " "), code, test.code, out.String(), errs.String())
		}
	}
}
