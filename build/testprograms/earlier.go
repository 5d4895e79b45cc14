package testprograms

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Earlier returns a folder with programs of an earlier commit, given by name with their packages, such as "./app". They are built once, into
// bin/compatible of the repository. The test is skipped where the repository does not have the commit, as in a shallow clone.
func Earlier(t testing.TB, commit string, programs map[string]string) string {
	t.Helper()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		t.Skipf("commit %.12s is not in this repository (git: %v); git fetch --unshallow brings it", commit, err)
	}
	folder := filepath.Join(root, "bin", "compatible", commit[:12])
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(folder, "lock")).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	complete := filepath.Join(folder, "complete") // names the compiler of complete programs
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	}
	names := slices.Sorted(maps.Keys(programs))
	if compiler, err := os.ReadFile(complete); err == nil && string(compiler) == runtime.Version() && !slices.ContainsFunc(names, func(name string) bool { return !there(name) }) {
		return folder
	}
	if err := buildEarlier(root, folder, commit, names, programs); err != nil {
		t.Fatalf("build the programs of commit %.12s: %v", commit, err)
	}
	if err := os.WriteFile(complete, []byte(runtime.Version()), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// buildEarlier builds the programs in a folder from a copy of the commit, which it removes.
func buildEarlier(root, folder, commit string, names []string, programs map[string]string) error {
	source, archive := filepath.Join(folder, "source"), filepath.Join(folder, "source.tar")
	defer os.RemoveAll(source)
	defer os.Remove(archive)
	if err := os.MkdirAll(source, 0o755); err != nil {
		return err
	}
	err := errors.Join(
		RunIn(root, "git", "archive", "--format=tar", "-o", archive, commit),
		RunIn(source, "tar", "-xf", archive),
	)
	for _, name := range names {
		if err == nil {
			err = Build(source, filepath.Join(folder, name), programs[name])
		}
	}
	return err
}

// Build builds a program from a copy of the sources, with the tags of the Makefile.
func Build(source, file, pkg string, flags ...string) error {
	command := append([]string{"go", "build", "-buildvcs=false"}, flags...)
	if runtime.GOOS == "linux" {
		command = append(command, "-tags", "gles")
	}
	return RunIn(source, append(command, "-o", file, pkg)...)
}

// RunIn runs a command in a folder. The error has what it printed.
func RunIn(dir string, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	if printed, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command[0], err, printed)
	}
	return nil
}
