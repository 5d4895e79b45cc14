package wine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collet/build/lab/wine"
	"collet/platform/testlevel"
)

// suiteLimit is how long the tests of one package may take; it is three on an idle machine.
const suiteLimit = 20 * time.Minute

// suites are the packages whose own tests run on Windows, too, with what is left out and why.
// At least so many of their tests pass.
var suites = []struct {
	pkg    string
	passed int
	skip   []string
}{
	{"platform", 20, nil},
	{"platform/window", 2, nil},
	{"app/install", 20, []string{
		// No file can be exchanged for another in one step.
		"TestCompanionsAreBestEffort/exchange", "TestWayBackFromTheMiddle/exchange", "TestSwapThatHasBegunGoesForward/exchange",
		// Wine says that it made a link, and makes none.
		"TestLinksOutOfTheFolder", "TestLinkInPlaceOfTheModule",
		// Builds a program, for which the tests here have one of their own.
		"TestAProgramReplacesItself",
		// They pass, and take up to two minutes each.
		"TestUpToDateStartReadsNothing", "TestStopsOnARealDisk", "TestRepairSurvivesAStopAnywhere", "TestForgedModule",
		// In memory, and long.
		"TestPowerCuts", "TestInspectEverywhere", "TestCarelessInstallIsCaught", "TestProgramCrash",
		"TestLargestOfferIsBounded",
	}},
}

// TestSuites runs the tests of packages that speak to the operating system as Windows programs, on a disk of Windows.
func TestSuites(t *testing.T) {
	p := wine.For(t, wine.Options{Env: []string{testlevel.Variable + "="}}) // as in make test: whole enumerations would take hours
	for _, suite := range suites {
		t.Run(suite.pkg, func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "suite.exe")
			if err := wine.Build(t.Context(), ".", "collet/"+suite.pkg, exe, "test", "-c"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), suiteLimit)
			defer cancel()
			args := []string{"-test.v"}
			if suite.skip != nil {
				args = append(args, "-test.skip="+strings.Join(suite.skip, "|"))
			}
			said, err := p.RunIn(ctx, filepath.Join("..", "..", "..", filepath.FromSlash(suite.pkg)), exe, args...)
			passed := strings.Count("\n"+said, "\n--- PASS") + strings.Count(said, "\n    --- PASS")
			t.Logf("%d passed", passed)
			if err != nil || passed < suite.passed {
				t.Errorf("%v\n%s", err, failures(said))
			}
		})
	}
}

// failures are the lines about tests that failed, or the end where there are none.
func failures(said string) string {
	lines := strings.Split(said, "\n")
	var kept []string
	for i, line := range lines {
		if strings.Contains(line, "--- FAIL") || strings.Contains(line, "_test.go:") || strings.HasPrefix(line, "panic") {
			kept = append(kept, lines[i])
		}
	}
	if len(kept) == 0 {
		kept = lines[max(0, len(lines)-40):]
	}
	return strings.Join(kept, "\n")
}
