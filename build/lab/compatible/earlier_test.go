//go:build unix

package compatible

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// earlier is the commit of the earlier programs: the last one before the packages were restructured.
const earlier = "086cdaac3afe4fc4c886e3ceeb20fba05936a820"

// root is the repository, from the folder of this package.
const root = "../../.."

// earlierPrograms returns the folder with the earlier collet-client, collet-server and collet. It builds them unless they are there.
func earlierPrograms(t *testing.T) string {
	t.Helper()
	if err := exec.Command("git", "-C", root, "cat-file", "-e", earlier+"^{commit}").Run(); err != nil {
		t.Skipf("commit %.12s is not in this repository (git: %v); git fetch --unshallow brings it", earlier, err)
	}
	folder, err := filepath.Abs(filepath.Join(root, "bin", "compatible", earlier[:12]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(folder, "lock")).Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	complete := filepath.Join(folder, "complete") // names the compiler of complete programs
	if compiler, err := os.ReadFile(complete); err == nil && string(compiler) == runtime.Version() {
		return folder
	}
	if err := buildEarlier(folder); err != nil {
		t.Fatalf("build the programs of commit %.12s: %v", earlier, err)
	}
	if err := os.WriteFile(complete, []byte(runtime.Version()), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// buildEarlier builds the programs in a folder from a copy of the commit, which it removes.
func buildEarlier(folder string) error {
	source, archive := filepath.Join(folder, "source"), filepath.Join(folder, "source.tar")
	defer os.RemoveAll(source)
	defer os.Remove(archive)
	if err := os.MkdirAll(source, 0o755); err != nil {
		return err
	}
	tags := []string{}
	if runtime.GOOS == "linux" {
		tags = []string{"-tags", "gles"} // as in the Makefile
	}
	build := append([]string{"go", "build", "-buildvcs=false"}, tags...)
	return errors.Join(
		run(root, "git", "archive", "--format=tar", "-o", archive, earlier),
		run(source, "tar", "-xf", archive),
		run(source, append(build[:len(build):len(build)], "-o", filepath.Join(folder, "collet-client"), "./app")...),
		run(source, append(build[:len(build):len(build)], "-o", folder, "./netproto/cmd/collet-server", "./build/cmd/collet")...),
	)
}

func run(dir string, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command[0], err, &printed)
	}
	return nil
}
