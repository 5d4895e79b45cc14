//go:build unix

package containers

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// program finds a program, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	testlevel.Lab(t)
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("NOT TESTED: there is no %s on this machine; install it, make setup does", name)
	}
	return path
}

// TestScripts plays releases through a registry.
func TestScripts(t *testing.T) {
	exe := program(t, "docker-registry")
	s := testscripts.NewStage(t)
	commands := s.Commands()
	registries := registries{exe: exe}
	commands["registry"] = registries.command
	testscript.Run(t, testscript.Params{
		Dir:  filepath.Join("testdata", "script"),
		Cmds: commands,
		Setup: func(e *testscript.Env) error {
			e.Setenv("DOCKER_CONFIG", e.WorkDir) // no credentials
			return s.Setup(e)
		},
	})
}

// registries finds the registry of a script by its work folder.
type registries struct {
	exe  string
	here sync.Map
}

// registry is a running docker-registry.
type registry struct {
	exe, dir, address string
	cmd               *exec.Cmd
	log               *os.File
}

func (r *registries) command(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) > 0 {
		found, _ := r.here.Load(ts.Getenv("WORK"))
		found.(*registry).collect(ts)
		return
	}
	here := &registry{exe: r.exe, dir: ts.MkAbs("registry"), address: testwait.FreeAddress(ts)}
	testscripts.Check(ts, os.MkdirAll(here.dir, 0o755))
	text := fmt.Sprintf("version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: %q\nhttp:\n  addr: %q\n", filepath.Join(here.dir, "data"), here.address)
	testscripts.Check(ts, os.WriteFile(here.config(), []byte(text), 0o644))
	var err error
	here.log, err = os.Create(filepath.Join(here.dir, "log"))
	testscripts.Check(ts, err)
	here.start(ts)
	ts.Defer(func() {
		here.stop()
		here.log.Close()
	})
	r.here.Store(ts.Getenv("WORK"), here)
	ts.Setenv("REGISTRY", here.address)
}

func (r *registry) config() string { return filepath.Join(r.dir, "config.yml") }

func (r *registry) start(ts *testscript.TestScript) {
	r.cmd = exec.Command(r.exe, "serve", r.config())
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	testscripts.Check(ts, r.cmd.Start())
	testscripts.Wait(ts, "the registry does not answer", func() bool {
		answer, err := http.Get("http://" + r.address + "/v2/")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil
	})
}

func (r *registry) stop() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait() // it was killed
}

// blobs counts the blobs on the registry's disk.
func (r *registry) blobs(ts *testscript.TestScript) (n int) {
	testscripts.Check(ts, filepath.WalkDir(filepath.Join(r.dir, "data", "docker", "registry", "v2", "blobs"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "data" {
			n++
		}
		return err
	}))
	return n
}

func (r *registry) collect(ts *testscript.TestScript) {
	before := r.blobs(ts)
	r.stop()
	said, err := exec.Command(r.exe, "garbage-collect", "--delete-untagged", r.config()).CombinedOutput()
	if err != nil {
		ts.Fatalf("garbage-collect: %v\n%s", err, said)
	}
	after := r.blobs(ts)
	if ts.Logf("%d blobs, then %d", before, after); after >= before || after == 0 {
		ts.Fatalf("the registry had %d blobs and has %d", before, after)
	}
	r.start(ts)
}
