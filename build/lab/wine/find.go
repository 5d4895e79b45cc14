package wine

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// ErrMissing says that something is not installed without which no Windows program can be built or run here.
var ErrMissing = errors.New("can't run Windows programs")

// tools are the programs that this package calls, and the Debian packages that they come with.
var tools = []struct{ command, debian string }{
	{"wine", "wine wine64 wine64-preloader"},
	{"wineserver", "wine wine64 wine64-preloader"},
	{Compiler, "gcc-mingw-w64-x86-64"},
}

// Compiler is the C compiler for Windows programs.
const Compiler = "x86_64-w64-mingw32-gcc"

// Missing is nil where Windows programs can be built and run, otherwise it wraps ErrMissing and says what to install.
func Missing() error {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		return fmt.Errorf("%w: they are for amd64 and tried on Linux only, this is %s/%s", ErrMissing, runtime.GOOS, runtime.GOARCH)
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool.command); err != nil {
			return fmt.Errorf("%w: no %s; on Debian: apt-get install %s", ErrMissing, tool.command, tool.debian)
		}
	}
	return nil
}

// Need skips a test that runs Windows programs where none can be run.
func Need(t testing.TB) {
	t.Helper()
	if err := Missing(); err != nil {
		t.Skipf("SKIPPED, AND NOTHING IS KNOWN ABOUT WINDOWS: %v", err)
	}
}

// For is Open for a test: it skips where Windows programs can't be run, and the prefix ends with the test.
func For(t testing.TB, o Options) *Prefix {
	t.Helper()
	Need(t)
	p, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Windows is what a file of this machine is called by programs in a prefix: an absolute path begins with Z: there. A
// relative one keeps its folders.
func Windows(path string) string {
	if strings.HasPrefix(path, "/") {
		path = "Z:" + path
	}
	return strings.ReplaceAll(path, "/", `\`)
}
