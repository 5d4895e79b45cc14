package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/build/publish/check"
)

// TestReviewer: what may be meant is asked on a terminal and wants --yes elsewhere; what can't be right is refused in any case.
func TestReviewer(t *testing.T) {
	t.Parallel()
	asked := check.Finding{Fault: check.Fault{What: "no packs", Want: "add some"}}
	refused := check.Finding{Fault: check.Fault{What: "no module"}, Refused: true}
	for _, test := range []struct {
		name     string
		v        reviewer
		findings []check.Finding
		said     string
		err      string
	}{
		{"nothing", reviewer{}, nil, "", ""},
		{"yes", reviewer{answers: strings.NewReader("y\n")}, []check.Finding{asked}, "no packs; add some\nIs this meant? [y/N] ", ""},
		{"the whole word", reviewer{answers: strings.NewReader(" YES\r\n")}, []check.Finding{asked}, "Is this meant?", ""},
		{"no", reviewer{answers: strings.NewReader("\n")}, []check.Finding{asked}, "Is this meant?", "nothing was published"},
		{"a terminal that ends", reviewer{answers: strings.NewReader("")}, []check.Finding{asked}, "Is this meant?", "nothing was published"},
		{"no terminal", reviewer{}, []check.Finding{asked}, "", "no packs; add some\nnothing was published: say --yes if this is meant"},
		{"--yes", reviewer{yes: true, answers: strings.NewReader("")}, []check.Finding{asked}, "note: no packs; add some\n", ""},
		{"--dry-run", reviewer{dryRun: true, command: "publish"}, []check.Finding{asked}, "publish will ask: no packs; add some\n", ""},
		{"--dry-run --yes", reviewer{dryRun: true, yes: true}, []check.Finding{asked}, "note: no packs; add some\n", ""},
		{"refused", reviewer{yes: true, dryRun: true}, []check.Finding{refused, asked}, "", "this can't be right for any player: no module"},
	} {
		var said strings.Builder
		test.v.console = console.Console{Out: io.Discard, Err: &said}
		err := test.v.review(t.Context(), publish.Review{Findings: test.findings})
		if err != nil && err.Error() != test.err || err == nil && test.err != "" || !strings.Contains(said.String(), test.said) || test.said == "" && said.String() != "" {
			t.Errorf("%s: %v, and it said %q", test.name, err, said.String())
		}
		if err := test.v.refusal(); (err != nil) != (test.name == "--dry-run") {
			t.Errorf("%s: a dry run ends with %v", test.name, err)
		}
		if test.name == "no" && !errors.Is(err, errUnconfirmed) {
			t.Errorf("%v", err)
		}
	}
	var said strings.Builder
	v := reviewer{console: console.Console{Err: &said}}
	names := make([]string, maxLeftOut+3)
	for i := range names {
		names[i] = "name"
	}
	if err := v.review(t.Context(), publish.Review{Ignored: names}); err != nil || strings.Count(said.String(), "\n") != maxLeftOut+1 || !strings.HasSuffix(said.String(), "not in the release: 3 more files and folders\n") {
		t.Errorf("%v, %s", err, said.String())
	}
}
