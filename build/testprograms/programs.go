// Package testprograms builds the real programs for tests: once for all packages and runs, into bin/test/ of the repository.
// A program is built again only when one of its source files has changed. Only tests import this package.
//
// Go keeps the result of a test until a file changes that the test looked at; it does not see what a program that the test
// starts was made of. So each call here looks at every source file of the program, which makes a changed program run its
// tests again. `go build` alone would not do: it touches the file of a program that is up to date, and with it every result.
package testprograms

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"

	"collet/platform/testlevel"
)

// module is the first line of the go.mod that marks the repository's root.
const module = "module collet\n"

// Client returns the path of collet-client, the client of players. `make check` skips the test.
func Client(t testing.TB) string {
	t.Helper()
	return program(t, "collet-client", "collet/app")
}

// CrashClient returns the path of a client that dies where it is told, for tests of crashes. `make check` skips the test.
func CrashClient(t testing.TB) string {
	t.Helper()
	return program(t, "collet-client-crashpoints", "collet/app", "crashpoints")
}

// Server returns the path of collet-server. `make check` skips the test.
func Server(t testing.TB) string {
	t.Helper()
	return program(t, "collet-server", "collet/netproto/cmd/collet-server")
}

// ServerAlone returns the path of collet-server without the engine of clusters. `make check` skips the test.
func ServerAlone(t testing.TB) string {
	t.Helper()
	return program(t, "collet-server-alone", "collet/netproto/cmd/collet-server", "nocluster")
}

// Collet returns the path of collet, the tool of developers. `make check` skips the test.
func Collet(t testing.TB) string {
	t.Helper()
	return program(t, "collet", "collet/build/cmd/collet")
}

// Compatgen returns the path of compatgen. `make check` skips the test.
func Compatgen(t testing.TB) string {
	t.Helper()
	return program(t, "compatgen", "collet/build/compatgen")
}

// Modules returns the folder of the sample game's modules, as collet compiles them. `make check` skips the test.
func Modules(t testing.TB) string {
	t.Helper()
	program := Collet(t)
	dir := filepath.Join(filepath.Dir(program), "modules")
	if err := ensureModules(program, dir); err != nil {
		t.Fatalf("build the sample game's modules for tests: %v", err)
	}
	return dir
}

// ensureModules lets collet compile the modules, whose sources are in it, unless it has done so since it was built.
func ensureModules(program, dir string) error {
	unlock, err := lockedfile.MutexAt(filepath.Join(filepath.Dir(program), "lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	of, stamp := program+".sources", dir+".sources"
	want, err := os.ReadFile(of)
	if err != nil {
		return err
	}
	if made, err := os.ReadFile(stamp); err == nil && bytes.Equal(made, want) {
		return nil
	}
	if said, err := exec.Command(program, "modules", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("collet modules: %w\n%s", err, said)
	}
	return os.WriteFile(stamp, want, 0o644)
}

func program(t testing.TB, name, pkg string, tags ...string) string {
	t.Helper()
	testlevel.Slow(t)
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		tags = append([]string{"gles"}, tags...) // as in the Makefile
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	b := &build{root: root, dir: filepath.Join(root, "bin", "test"), name: name, pkg: pkg, tags: strings.Join(tags, ",")}
	if err := b.ensure(); err != nil {
		t.Fatalf("build %s for tests: %v", name, err)
	}
	return b.path()
}

// findRoot is the folder of this module, above the package whose test runs.
func findRoot() (string, error) {
	here, err := os.Getwd()
	for dir := here; err == nil; dir = filepath.Dir(dir) {
		if text, readErr := os.ReadFile(filepath.Join(dir, "go.mod")); readErr == nil && strings.HasPrefix(string(text), module) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = fmt.Errorf("no go.mod of collet in %s or above: run the test in its package's folder", here)
		}
	}
	return "", err
}

// build is one program and how it is made.
type build struct {
	root string
	dir  string // of the programs
	name string
	pkg  string
	tags string
}

func (b *build) path() string { return filepath.Join(b.dir, b.name) }

// stamp is the file that says of which sources the program was made.
func (b *build) stamp() string { return b.path() + ".sources" }

// ensure builds the program unless it is up to date. Tests of several packages run at once: one of them builds.
func (b *build) ensure() error {
	if b.fresh() {
		return nil
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(b.dir, "lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if b.fresh() {
		return nil
	}
	return b.buildOnce()
}

// fresh reports whether the stamp is that of the sources as they are now.
func (b *build) fresh() bool {
	kept, err := os.ReadFile(b.stamp())
	if err != nil {
		return false
	}
	var sources []string
	lines := bufio.NewScanner(bytes.NewReader(kept))
	lines.Scan() // how it was built
	for lines.Scan() {
		source, _, _ := strings.Cut(lines.Text(), "\t")
		sources = append(sources, source)
	}
	now, err := b.describe(sources)
	if err != nil || now != string(kept) {
		return false
	}
	_, err = os.Stat(b.path())
	return err == nil
}

// describe is the text of a stamp: how the program is built, then size and time of each source. A folder's time says that a
// file came or went.
func (b *build) describe(sources []string) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s", runtime.Version(), b.tags)
	for _, name := range []string{"GOFLAGS", "CGO_ENABLED", "CC", "CGO_CFLAGS", "CGO_LDFLAGS", "GOAMD64", "GOARM64"} {
		fmt.Fprintf(&text, " %s=%q", name, os.Getenv(name))
	}
	text.WriteByte('\n')
	for _, source := range sources {
		info, err := os.Stat(filepath.Join(b.root, source))
		if err != nil {
			return "", err
		}
		size := info.Size()
		if info.IsDir() {
			size = 0 // some file systems change it without need
		}
		fmt.Fprintf(&text, "%s\t%d\t%d\n", source, size, info.ModTime().UnixNano())
	}
	return text.String(), nil
}

// sourcesOf prints the folders and files of this repository that a program is made of.
const sourcesOf = `{{if .Module}}{{if .Module.Main}}{{$dir := .Dir}}{{$dir}}
{{range .GoFiles}}{{$dir}}/{{.}}
{{end}}{{range .CgoFiles}}{{$dir}}/{{.}}
{{end}}{{range .CFiles}}{{$dir}}/{{.}}
{{end}}{{range .HFiles}}{{$dir}}/{{.}}
{{end}}{{range .SysoFiles}}{{$dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}{{end}}`

// sources are the files and folders that the program is made of, from the repository's root.
func (b *build) sources() ([]string, error) {
	out, err := b.runGo("list", "-deps", "-tags", b.tags, "-f", sourcesOf, b.pkg)
	if err != nil {
		return nil, err
	}
	all := []string{"go.mod", "go.sum"}
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		source, err := filepath.Rel(b.root, filepath.FromSlash(line))
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	return all, nil
}

// buildOnce builds the program and leaves its stamp. The stamp is of the sources before the build: what changes meanwhile is built
// the next time. A program that a test runs stays as it is: the new one has a file of its own.
func (b *build) buildOnce() error {
	sources, err := b.sources()
	if err != nil {
		return err
	}
	text, err := b.describe(sources)
	if err != nil {
		return err
	}
	if err := os.Remove(b.stamp()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := b.path() + ".new"
	// Without what only debuggers read: less to link, copy, hash and pack.
	if _, err := b.runGo("build", "-buildvcs=false", "-ldflags=-s -w", "-tags", b.tags, "-o", made, b.pkg); err != nil {
		return err
	}
	if err := os.Rename(made, b.path()); err != nil {
		return err
	}
	if err := os.WriteFile(b.stamp()+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(b.stamp()+".new", b.stamp())
}

func (b *build) runGo(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = b.root
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, &said)
	}
	return string(out), nil
}
