package host

import (
	"fmt"
	"testing"

	"collet/app/supervise"
)

// TestForeign: which built-in clients a program may run, by what it was packaged as.
func TestForeign(t *testing.T) {
	for packaged, want := range map[string]bool{
		"":                        false, // it was not
		"Lathe":                   false,
		"Lathe_OpenGL":            false,
		"Lathe_Headless_Steam":    false,
		"Ember":                   true,
		"Lathe2":                  true,
		"lathe":                   true,
		"Ember_Lathe":             true,
		"Lathe_OpenGL_Profiling!": true,
	} {
		if got := isForeign("Lathe", packaged); got != want {
			t.Errorf("packaged as %q: foreign %v, want %v", packaged, got, want)
		}
	}
}

// TestBare: an update may deliver the module only if no module was chosen explicitly and the start is not offline.
func TestBare(t *testing.T) {
	foreign := fmt.Errorf("no module; and the built-in client: %w: it is Lathe", errForeign)
	for name, test := range map[string]struct {
		host *host
		err  error
		want bool
	}{
		"nothing of this game":   {hostWith(setup{}), foreign, true},
		"no fault":               {hostWith(setup{}), nil, false},
		"another fault":          {hostWith(setup{}), supervise.ErrTooLong, false},
		"offline":                {hostWith(setup{}, func(h *host) { h.offline = true }), foreign, false},
		"the built-in one alone": {hostWith(setup{opt: Options{ForceEmbeddedRuntime: true}}), foreign, false},
		"one module alone":       {hostWith(setup{opt: Options{ClientLibPath: "x"}}), foreign, false},
	} {
		if got := test.host.isBare(test.err); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
