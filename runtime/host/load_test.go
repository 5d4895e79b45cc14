package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/runtime/abi"
	"collet/runtime/host"
	"collet/runtime/sample"
)

// loadable is a module that has nothing wrong with it until it runs.
const loadable host.Stage = "loadable"

// faults says of every fixture at which stage it fails to load, and why.
var faults = map[string]struct {
	stage host.Stage
	err   error // nil: whatever the system says
}{
	"missing_function":     {host.StageOpen, nil},
	"no_symbol":            {host.StageSymbol, host.ErrNoSymbol},
	"query_refuses":        {host.StageQuery, abi.ErrRefused},
	"short_struct":         {host.StageABI, abi.ErrStructSize},
	"long_struct":          {host.StageABI, abi.ErrStructSize},
	"short_metadata":       {host.StageABI, abi.ErrStructSize},
	"wrong_abi":            {host.StageABI, abi.ErrWrongABI},
	"no_abi":               {host.StageABI, abi.ErrZeroABI},
	"null_run":             {host.StageABI, abi.ErrNullRun},
	"null_strings":         {host.StageMetadata, abi.ErrNullString},
	"endless_string":       {host.StageMetadata, abi.ErrUnterminated},
	"bad_components":       {host.StageComponents, abi.ErrComponents},
	"crash_in_constructor": {host.StageOpen, nil}, // takes the process with it: TestChild

	"bad_kind": {stage: loadable}, "calls_exit": {stage: loadable}, "crash_in_run": {stage: loadable},
	"echo": {stage: loadable}, "hang": {stage: loadable}, "leaves_thread": {stage: loadable},
	"never_unloads": {stage: loadable}, "old_abi": {stage: loadable}, "reload_without_path": {stage: loadable},
	"silent_components": {stage: loadable}, "replaces_handlers": {stage: loadable}, "resized_result": {stage: loadable}, "writes_beyond": {stage: loadable},
}

func TestEveryFixtureHasARow(t *testing.T) {
	for _, name := range sample.Faults() {
		if _, there := faults[name]; !there {
			t.Errorf("fixture %s has no row", name)
		}
	}
	for name := range faults {
		if !slices.Contains(sample.Faults(), name) {
			t.Errorf("row %s has no fixture", name)
		}
	}
}

func TestLoad(t *testing.T) {
	for name, want := range faults {
		if name == "crash_in_constructor" || name == "missing_function" && runtime.GOOS == "darwin" {
			continue // macOS's linker does not make a library that lacks a function
		}
		t.Run(name, func(t *testing.T) {
			path := fixture(t, name)
			if want.stage != loadable {
				if err := refused(t, path, want.stage); want.err != nil && !errors.Is(err, want.err) {
					t.Errorf("got %v, want %v", err, want.err)
				}
				return
			}
			if name == "never_unloads" && runtime.GOOS == "windows" {
				t.Skip("its file could not be removed while it is mapped")
			}
			meta := abi.Metadata{
				ABIVersion: abi.HostABIVersion, RuntimeName: "fixture", BuildHash: "fixture-build", CompatibilityVersion: "fixture-1",
			}
			switch name {
			case "old_abi":
				meta.ABIVersion = abi.OldestHostABIVersion
			case "never_unloads":
				meta.BuildHash = "asked 1"
			}
			if got := load(t, path).Metadata(); got != meta {
				t.Errorf("got %+v, want %+v", got, meta)
			}
		})
	}
}

func TestFilesThatAreNoModules(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		path string
		err  error
	}{
		{filepath.Join(dir, "absent.so"), fs.ErrNotExist},
		{"libc.so.6", fs.ErrNotExist}, // the system has one; it is not searched
		{dir, nil},
		{"", nil},
		{write("empty.so", ""), nil},
		{write("text.so", "I am no library.\n"), nil},
		{write("cut.so", "\x7fELF\x02\x01\x01\x00"), nil},
	}
	for _, test := range tests {
		if err := refused(t, test.path, host.StageOpen); test.err != nil && !errors.Is(err, test.err) {
			t.Errorf("%s: got %v, want %v", test.path, err, test.err)
		}
	}
}

// TestBrokenFileMayBeTriedAgain: nothing was loaded, so nothing is refused.
func TestBrokenFileMayBeTriedAgain(t *testing.T) {
	good := fixture(t, "echo")
	path := filepath.Join(t.TempDir(), library("module"))
	if err := os.WriteFile(path, []byte("cut off in the middle"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := refused(t, path, host.StageOpen); errors.Is(err, host.ErrResident) {
			t.Errorf("a file that was never loaded: %v", err)
		}
	}
	if err := os.Rename(good, path); err != nil {
		t.Fatal(err)
	}
	load(t, path)
}

// TestRejectedModuleIsResident: its code was here, so it counts.
func TestRejectedModuleIsResident(t *testing.T) {
	path := fixture(t, "query_refuses")
	refused(t, path, host.StageQuery)
	if err := refused(t, path, host.StageOpen); !errors.Is(err, host.ErrResident) {
		t.Errorf("got %v, want ErrResident", err)
	}
}

func TestRelativePathIsOfTheWorkingFolder(t *testing.T) {
	path := fixture(t, "echo")
	t.Chdir(filepath.Dir(path))
	load(t, filepath.Base(path))
	if err := refused(t, path, host.StageOpen); !errors.Is(err, host.ErrResident) {
		t.Errorf("absolute, after relative: %v", err)
	}
}

// TestUTF8Path: nothing between here and the system's loader knows only ASCII.
func TestUTF8Path(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Игра 游戏 ä", library("модуль"))
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fixture(t, "echo"), path); err != nil {
		t.Fatal(err)
	}
	load(t, path)
}

func TestLoadErrorText(t *testing.T) {
	err := &host.LoadError{Path: "a b.so", Stage: host.StageQuery, Err: abi.ErrRefused}
	if got := err.Error(); !strings.HasPrefix(got, `load module "a b.so": query: `) {
		t.Error(got)
	}
}
