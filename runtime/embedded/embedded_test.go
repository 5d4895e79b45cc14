//go:build cgo

package embedded_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"collet/platform/testlevel"
	"collet/runtime/abi"
	"collet/runtime/embedded"
	"collet/runtime/host"
	"collet/runtime/sample"
	"collet/runtime/sample/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// heard collects what a client says.
type heard struct {
	lines []string
	ready int
}

func (h *heard) services() abi.Services {
	return abi.Services{
		Ready: func() { h.ready++ },
		Log:   func(level int32, text string) { h.lines = append(h.lines, fmt.Sprintf("%d %s", level, text)) },
	}
}

func open(t *testing.T) *embedded.Module {
	t.Helper()
	if !embedded.Available() {
		t.Fatal("there is no built-in client in a program with cgo")
	}
	m, err := embedded.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestMetadata(t *testing.T) {
	want := abi.Metadata{
		ABIVersion: abi.HostABIVersion, RuntimeName: "Lathe", BuildHash: "unpublished", CompatibilityVersion: "lathe-2026.1",
	}
	got := open(t).Metadata()
	components := got.Components
	if got.Components = nil; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if components == nil || components.Set != protocol.CompatSet || components.Logic != protocol.CompatLogic || len(components.Entries) != 2 {
		t.Errorf("its components are %+v", components)
	}
}

func TestRun(t *testing.T) {
	folder, library := packs(t), map[string]string{"windows": ".dll", "darwin": ".dylib"}[runtime.GOOS]
	if library == "" {
		library = ".so"
	}
	tests := []struct {
		args  []string
		want  abi.Result
		ready int
		said  string
	}{
		{[]string{"--ClientResources", folder}, abi.Result{Success: true}, 1, "1 packs read, title Test"},
		{[]string{"--ClientResources", folder, "--never-ready"}, abi.Result{Success: true}, 0, "1 packs read, title Test"},
		{
			[]string{"--ask-reload", "--ClientResources", folder},
			abi.Result{
				Kind: abi.ReloadRequested, Success: true,
				RequestedRuntimePath: "/games/Lathe" + library, RequestedCompatibilityVersion: "lathe-2026.1",
			}, 1, "",
		},
		{[]string{"--fatal", "--ClientResources", folder}, abi.Result{Kind: abi.FatalError}, 1, "3 a fatal error was asked for"},
		{nil, abi.Result{Kind: abi.FatalError}, 0, "3 no packs: --ClientResources is missing"},
		{[]string{"--ClientResources", t.TempDir()}, abi.Result{Kind: abi.FatalError}, 0, ""},
	}
	m := open(t)
	for _, test := range tests {
		var h heard
		got, err := m.Run(append([]string{"/games/Lathe", "--headless"}, test.args...), h.services())
		if err != nil || got != test.want {
			t.Errorf("%q: got %+v, %v; want %+v", test.args, got, err, test.want)
		}
		if h.ready != test.ready || test.said != "" && !slices.Contains(h.lines, test.said) {
			t.Errorf("%q: heard %d times ready and %q", test.args, h.ready, h.lines)
		}
	}
}

// TestStopping plays the game without a display: it would go on for half an hour.
func TestStopping(t *testing.T) {
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"} {
		t.Setenv(name, "")
	}
	asked := 0
	got, err := open(t).Run([]string{"/games/Lathe", "--ClientResources", packs(t), "--frames", "100000"},
		abi.Services{Stopping: func() bool { asked++; return asked == 3 }})
	if err != nil || !got.Success || asked != 3 {
		t.Errorf("got %+v, %v after it asked %d times", got, err, asked)
	}
}

func TestZeroByteInArgument(t *testing.T) {
	if _, err := open(t).Run([]string{"a\x00b"}, abi.Services{}); !errors.Is(err, abi.ErrZeroByte) {
		t.Errorf("got %v", err)
	}
}

// TestRunningClient: a callback can't start it a second time, and it can be run again afterwards.
func TestRunningClient(t *testing.T) {
	m, folder := open(t), packs(t)
	args := []string{"/games/Lathe", "--headless", "--ClientResources", folder}
	var nested error
	for range 2 {
		_, err := m.Run(args, abi.Services{Ready: func() { _, nested = m.Run(args, abi.Services{}) }})
		if err != nil || !errors.Is(nested, embedded.ErrRunning) {
			t.Errorf("outer %v, inner %v", err, nested)
		}
	}
}

// TestModuleKeepsItsOwnState runs the same game twice at once, as a module and built in, one inside of the other's
// callback: neither loses its host or its result to the other.
func TestModuleKeepsItsOwnState(t *testing.T) {
	testlevel.Slow(t)
	path := filepath.Join(t.TempDir(), "Other.module")
	err := sample.Build(t.Context(), sample.Options{Release: 7, Compatibility: "other-7", BuildHash: "b7", Output: path})
	if errors.Is(err, sample.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	module, err := host.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close()
	folder, builtin := packs(t), open(t)
	var outer, inner heard
	var innerResult abi.Result
	var innerErr error
	services := outer.services()
	services.Ready = func() {
		innerResult, innerErr = builtin.Run(
			[]string{"/inner/Lathe", "--headless", "--ask-reload", "--ClientResources", folder}, inner.services())
	}
	result, err := module.Run([]string{"/outer/Other", "--headless", "--ask-reload", "--fatal", "--ClientResources", folder}, services)
	if err = errors.Join(err, innerErr); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(result.RequestedRuntimePath, "/outer/Other.") || result.RequestedCompatibilityVersion != "other-7" {
		t.Errorf("the module's result is %+v", result)
	}
	if !strings.HasPrefix(innerResult.RequestedRuntimePath, "/inner/Lathe.") || innerResult.RequestedCompatibilityVersion != "lathe-2026.1" {
		t.Errorf("the built-in client's result is %+v", innerResult)
	}
	if want := []string{"1 packs read, title Test", "3 a fatal error was asked for"}; !slices.Equal(outer.lines, want) {
		t.Errorf("the module's host heard %q, want %q", outer.lines, want)
	}
	if want := []string{"1 packs read, title Test"}; !slices.Equal(inner.lines, want) || inner.ready != 1 {
		t.Errorf("the built-in client's host heard %d times ready and %q", inner.ready, inner.lines)
	}
}
