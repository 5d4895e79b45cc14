package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/platform/testlevel"
)

// root is the product's module, seen from this package.
const root = "../../.."

// atOnce is how many mutants are tried at a time: the Go tool and the tests have goroutines of their own.
const atOnce = 2

// limit is how long the tests of one package may take, of go test. An idle machine needs a tenth of it.
const limit = "6m"

// TestTable holds the table to the tree.
func TestTable(t *testing.T) {
	t.Parallel()
	ids, packages := map[string]bool{}, map[string]int{}
	for _, m := range table() {
		if ids[m.id] {
			t.Errorf("two mutants are called %s", m.id)
		}
		ids[m.id] = true
		packages[m.pkg]++
		if m.why == "" {
			t.Errorf("%s does not say why it matters", m.id)
		}
		changed, err := m.apply()
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, changed, 0); err != nil {
			t.Errorf("%s is no Go: %v", m.id, err)
		}
	}
	for _, core := range []string{"app/update", "app/install", "netproto", "netproto/release/trust", "netproto/chunk", "netproto/compat"} {
		if packages[core] < 6 {
			t.Errorf("%s has %d mutants, want at least 6", core, packages[core])
		}
	}
	if len(ids) < 42 {
		t.Errorf("the table has %d mutants, want at least 42", len(ids))
	}
}

// TestMutants tries every mutant.
func TestMutants(t *testing.T) {
	testlevel.Lab(t)
	var mu sync.Mutex
	caught := map[string]int{}
	healthy, turns := &health{}, make(chan struct{}, atOnce)
	t.Cleanup(func() { // when all have ended
		t.Logf("make check catches %d mutants, make test %d more, nothing %d", caught[check], caught[test], caught[none])
	})
	for _, m := range table() {
		t.Run(m.id, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			by, name := try(t, m, healthy)
			t.Logf("%s, caught by %s: %s", m.pkg, by, name)
			mu.Lock()
			defer mu.Unlock()
			caught[by]++
		})
	}
}

// The two levels, and what a mutant gets that both leave alone.
const (
	check = "make check"
	test  = "make test"
	none  = "nothing"
)

// try says which level catches a mutant, and which test of it.
func try(t *testing.T, m mutant, healthy *health) (by, name string) {
	overlay := m.overlay(t)
	for _, level := range []string{check, test} {
		for _, pkg := range m.packages() {
			if err := healthy.check(t.Context(), pkg, level); err != nil {
				t.Fatal(err)
			}
			out, err := run(t.Context(), pkg, level, overlay)
			switch {
			case t.Context().Err() != nil:
				t.Fatal(t.Context().Err())
			case broken.Match(out):
				t.Fatalf("it does not compile:\n%s", out)
			case err != nil:
				return level, failure(out)
			}
		}
	}
	t.Errorf("SURVIVED: %s/%s without %q goes unnoticed; missing is a test of: %s", m.pkg, m.file, m.old, m.why)
	return none, "no test"
}

var (
	broken = regexp.MustCompile(`(?m)\[(build|setup) failed\]$`)
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
)

// failure names the test that failed, the innermost first where the output has several.
func failure(out []byte) string {
	switch found := failed.FindAllSubmatch(out, -1); {
	case bytes.Contains(out, []byte("panic: test timed out")):
		return "the limit of time"
	case len(found) > 0:
		return string(found[len(found)-1][1])
	case bytes.Contains(out, []byte("panic:")):
		return "a panic"
	default:
		return strings.TrimSpace(string(out[max(0, len(out)-200):]))
	}
}

// run runs the whole tests of a package up to the first failure. overlay may be empty.
func run(ctx context.Context, pkg, level, overlay string) ([]byte, error) {
	args := []string{"test", "-vet=off", "-buildvcs=false", "-failfast", "-timeout=" + limit}
	if runtime.GOOS == "linux" {
		args = append(args, "-tags=gles")
	}
	if level == check {
		args = append(args, "-short")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	cmd.Dir = root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, testlevel.Variable+"=") })
	if overlay != "" {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOFLAGS=%s '-overlay=%s'", os.Getenv("GOFLAGS"), overlay))
	}
	return cmd.CombinedOutput()
}

// health knows which packages are green without a mutant: Go's test cache has most of them.
type health struct {
	mu    sync.Mutex
	known map[string]error
}

func (h *health) check(ctx context.Context, pkg, level string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := pkg + " " + level
	if err, known := h.known[key]; known {
		return err
	}
	out, err := run(ctx, pkg, level, "")
	if err != nil {
		err = fmt.Errorf("the tests of %s fail without a mutant, at the level of %s: %w\n%s", pkg, level, err, out)
	}
	if h.known == nil {
		h.known = map[string]error{}
	}
	h.known[key] = err
	return err
}

// mutant is one change of one file.
type mutant struct {
	id       string
	pkg      string // below the product's module
	file     string // in the package
	old, new string // the old text stands once in the file
	why      string
	further  []string // packages whose tests may catch it, beside its own
}

func (m mutant) packages() []string { return append([]string{m.pkg}, m.further...) }

// apply is the changed file.
func (m mutant) apply() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, m.pkg, m.file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.id, err)
	}
	if n := bytes.Count(data, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s: %s/%s has %q %d times, want once: correct the table", m.id, m.pkg, m.file, m.old, n)
	}
	if m.old == m.new {
		return nil, errors.New(m.id + " changes nothing")
	}
	return bytes.Replace(data, []byte(m.old), []byte(m.new), 1), nil
}

// overlay writes the changed file, and the file that tells the Go tool of it, into a folder of the test.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	changed, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.Abs(filepath.Join(root, m.pkg, m.file))
	if err != nil {
		t.Fatal(err)
	}
	copied, overlay := filepath.Join(t.TempDir(), m.file), filepath.Join(t.TempDir(), "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {real: copied}})
	if err == nil {
		err = errors.Join(os.WriteFile(copied, changed, 0o600), os.WriteFile(overlay, list, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return overlay
}
