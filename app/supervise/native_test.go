//go:build linux || darwin

package supervise_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"collet/app/supervise"
	"collet/platform/testlevel"
	"collet/runtime/abi"
)

// nativeModule is a real library; its only function acts as Run.
var _ = func() bool {
	fakes["native"] = func(args []string) (supervise.Module, error) {
		library, err := purego.Dlopen(args[0], purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			return nil, &supervise.LoadError{Stage: "open", Text: err.Error()}
		}
		var run func(what string) int32
		purego.RegisterLibFunc(&run, library, "module_run")
		return &fake{
			meta:  goodMeta,
			run:   func(args []string, s abi.Services) (abi.Result, error) { s.Ready(); run(args[0]); return success, nil },
			close: func() { purego.Dlclose(library) },
		}, nil
	}
	return true
}()

// compile builds testdata/module.c. It skips the test without a C compiler.
func compile(t *testing.T) (library string) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	library = filepath.Join(t.TempDir(), "module.so")
	out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", library, "testdata/module.c", "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return library
}

func TestNativeModule(t *testing.T) {
	testlevel.Slow(t)
	library := compile(t)
	tests := []struct {
		what, want string // the beginning of the description, or several with " | " between them
		end        supervise.End
	}{
		{"return", "shut down", supervise.CleanShutdown},
		{"crash", "ended by signal SIGSEGV (segmentation violation)", supervise.Crash},
		{"thread", "ended by signal SIGSEGV (segmentation fault)", supervise.Crash},
		{"abort", "ended by signal SIGABRT (abort)", supervise.Crash},
		{"exit", "exited with code 42 without reporting a result", supervise.Crash},
		{"print", "shut down", supervise.CleanShutdown},
		{"close", "", supervise.Crash},
		// A child that waits for the host's next message does not see that its end was closed. One that is about to wait does.
		{"cut", "broke the control protocol and was stopped: control pipe closed: did not end within 3s" +
			" | exited with code 102 without reporting a result", supervise.Crash},
		{"copy", "exited with code 0 without reporting a result", supervise.Crash},
		{"hang", "was stopped", supervise.Killed},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			begin := time.Now()
			var said recorder
			c := start(t, supervise.Options{Output: said.add}, "native", library)
			load(t, c)
			if err := c.Run([]string{test.what}); err != nil {
				t.Fatal(err)
			}
			if test.what == "hang" {
				<-c.Ready()
				c.Kill()
			}
			e := exit(t, c)
			if out := said.of(supervise.StreamOut); test.what == "copy" && len(out) == 1 {
				syscall.Kill(number(out[0]), syscall.SIGKILL)
			}
			begins := func(want string) bool { return strings.HasPrefix(e.String(), want) }
			if !slices.ContainsFunc(strings.Split(test.want, " | "), begins) {
				t.Errorf("got %s, want %s; %q", e, test.want, e.Tail)
			}
			if got := supervise.Classify(e, e.Ready, e.Ran); got != test.end {
				t.Errorf("classified as %s, want %s", got, test.end)
			}
			t.Logf("%s after %s", e, time.Since(begin).Round(time.Millisecond))
		})
	}
}

func TestNativeModuleThatIsNone(t *testing.T) {
	_, err := start(t, supervise.Options{}, "native", "/nowhere/module.so").Metadata(t.Context())
	if load, is := err.(*supervise.LoadError); !is || load.Stage != "open" {
		t.Errorf("got %v", err)
	}
}
