package sample_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"collet/platform/testlevel"
	"collet/runtime/sample"
)

// options are those of a build that works, but for where the module goes.
func options(output string) sample.Options {
	return sample.Options{Release: 3, Compatibility: "test-3", BuildHash: "0123abcd", Output: output}
}

func TestBuildRefuses(t *testing.T) {
	output := filepath.Join(t.TempDir(), "x")
	for _, spoil := range []func(*sample.Options){
		func(o *sample.Options) { o.Release = 0 },
		func(o *sample.Options) { o.Release = -1 },
		func(o *sample.Options) { o.Compatibility = `a"b` },
		func(o *sample.Options) { o.BuildHash = `a\b` },
		func(o *sample.Options) { o.Compatibility = "a\nb" },
	} {
		o := options(output)
		spoil(&o)
		if err := sample.Build(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "build the sample game: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := os.Stat(output); err == nil {
		t.Error("something was built")
	}
}

func TestNoCompiler(t *testing.T) {
	t.Setenv("CC", "")
	t.Setenv("PATH", t.TempDir())
	if err := sample.Build(t.Context(), options("x")); !errors.Is(err, sample.ErrNoCompiler) {
		t.Errorf("got %v", err)
	}
}

func TestCompilerOfTheEnvironment(t *testing.T) {
	t.Setenv("CC", "no-such-compiler --with arguments")
	if err := sample.Build(t.Context(), options("x")); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "no-such-compiler") {
		t.Errorf("got %v", err)
	}
}

func TestCompileErrorHasTheCompilersWords(t *testing.T) {
	testlevel.Slow(t)
	output := filepath.Join(t.TempDir(), "x")
	err := sample.BuildText(t.Context(), "int nonsense = missing_name;\n", output)
	if errors.Is(err, sample.ErrNoCompiler) {
		t.Skip(err)
	}
	var failed *sample.CompileError
	var exit *exec.ExitError
	if !errors.As(err, &failed) || !errors.As(err, &exit) || failed.Output != output {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(failed.Said, "missing_name") || !strings.Contains(err.Error(), failed.Said) {
		t.Errorf("the compiler's words are missing: %v", err)
	}
}

func TestUnknownFixture(t *testing.T) {
	err := sample.BuildFault(t.Context(), "no_such_fixture", filepath.Join(t.TempDir(), "x"))
	if errors.Is(err, sample.ErrNoCompiler) {
		t.Skip(err)
	}
	if err == nil || !strings.Contains(err.Error(), "no_such_fixture") {
		t.Errorf("got %v", err)
	}
}

func TestMissingOutputFolder(t *testing.T) {
	testlevel.Slow(t)
	err := sample.BuildFault(t.Context(), "echo", filepath.Join(t.TempDir(), "missing", "x"))
	if errors.Is(err, sample.ErrNoCompiler) {
		t.Skip(err)
	}
	if err == nil {
		t.Error("no error")
	}
}

// TestFaults looks for fixtures by name.
func TestFaults(t *testing.T) {
	got := sample.Faults()
	for _, name := range []string{
		"no_symbol", "query_refuses", "short_struct", "wrong_abi", "null_strings", "crash_in_constructor", "crash_in_run",
		"hang", "never_unloads", "bad_kind", "reload_without_path", "old_abi", "writes_beyond",
	} {
		if !slices.Contains(got, name) {
			t.Errorf("no fixture %s in %q", name, got)
		}
	}
	if !slices.IsSorted(got) {
		t.Errorf("not sorted: %q", got)
	}
}

// TestNoWarnings compiles everything so that a warning is an error, for this system and, where there is a compiler for
// it, for Windows. The compiler is named with an argument.
func TestNoWarnings(t *testing.T) {
	testlevel.Lab(t)
	for _, compiler := range []string{"cc -Werror", "clang -Werror", "x86_64-w64-mingw32-gcc -Werror"} {
		name, _, _ := strings.Cut(compiler, " ")
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip(err)
			}
			o := options(filepath.Join(t.TempDir(), "module"))
			o.Compiler = compiler
			if err := sample.Build(t.Context(), o); err != nil {
				t.Error(err)
			}
			t.Setenv("CC", compiler)
			for _, fault := range sample.Faults() {
				if err := sample.BuildFault(t.Context(), fault, o.Output); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestFlagsOfSystems: a module is linked as the system wants it that its compiler makes programs for.
func TestFlagsOfSystems(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the compiler is a shell script")
	}
	for machine, want := range map[string]string{
		"x86_64-w64-mingw32": " -lws2_32 -lgdi32", "x86_64-pc-windows-msvc": "-static-libgcc", "arm64-apple-darwin25": " -fPIC", "x86_64-linux-gnu": "-Wl,-Bsymbolic",
	} {
		dir := t.TempDir()
		compiler, said := filepath.Join(dir, "a compiler"), filepath.Join(dir, "said")
		script := "#!/bin/sh\n[ \"$1\" = -dumpmachine ] && exec echo " + machine + "\necho \"$@\" >'" + said + "'\n"
		if err := os.WriteFile(compiler, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		o := options(filepath.Join(dir, "module"))
		o.Compiler = compiler
		if err := sample.Build(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(said)
		if err != nil || !strings.Contains(string(got), want) || strings.Contains(string(got), "-Bsymbolic") != strings.Contains(machine, "linux") {
			t.Errorf("%s: %v, %s", machine, err, got)
		}
	}
}

// TestSameBytes: the same options give the same module, wherever it is built, and nothing of this machine is in it.
func TestSameBytes(t *testing.T) {
	first, err := os.ReadFile(build(t))
	if err != nil {
		t.Fatal(err)
	}
	temp, o := t.TempDir(), madeOptions
	t.Setenv("TMPDIR", temp)
	o.Output = filepath.Join(t.TempDir(), "module")
	compiled(t, sample.Build(t.Context(), o))
	second, err := os.ReadFile(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{temp, filepath.Dir(o.Output), madeFolder, "collet-sample-"} {
		if bytes.Contains(first, []byte(folder)) || bytes.Contains(second, []byte(folder)) {
			t.Errorf("the module contains %s", folder)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two builds differ")
	}
	if !bytes.Contains(first, []byte("test-7")) || !bytes.Contains(first, []byte("0123abcd")) {
		t.Error("the module does not say what it is")
	}
}
