package testscripts

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/demo"
	"collet/build/qa/process"
	"collet/build/testprograms"
	"collet/platform/testwait"
	"collet/runtime/sample"
)

const (
	// levels is the size of release 2's large pack in MB of 2^20 bytes: long enough to interrupt its download.
	levels = 4
	// patience limits the wait for an event that should come soon.
	patience = 2 * time.Minute
)

// Command is a command of scripts.
type Command = func(ts *testscript.TestScript, neg bool, args []string)

// Stage is what all scripts of a test share: the programs, and both releases of the sample game.
type Stage struct {
	Programs string // the folder of the programs
	Layout   *demo.Layout
}

// NewStage returns a stage with today's programs. Installs are hard links to a copy of the client.
func NewStage(t *testing.T) *Stage {
	t.Helper()
	s := &Stage{Programs: t.TempDir()}
	client := testprograms.Client(t)
	if err := copyFile(filepath.Join(s.Programs, filepath.Base(client)), client, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{testprograms.Server(t), testprograms.Collet(t), testprograms.Modules(t)} {
		if err := os.Symlink(made, filepath.Join(s.Programs, filepath.Base(made))); err != nil {
			t.Fatal(err)
		}
	}
	layout, err := demo.Prepare(t.Context(), t.TempDir(), s.Programs, levels)
	if err != nil {
		t.Fatal(err)
	}
	s.Layout = layout
	return s
}

// Setup sets the variables of a script.
func (s *Stage) Setup(e *testscript.Env) error {
	for name, value := range map[string]string{
		"EXT": s.Layout.Target.LibraryExt(), "TARGET": string(s.Layout.Target), "LANG": "C",
		"OLD_MODULE": s.Layout.Old.Module, "OLD_COMPAT": s.Layout.Old.Compatibility,
		"NEW_MODULE": s.Layout.New.Module, "NEW_COMPAT": s.Layout.New.Compatibility,
		"COLLET":        filepath.Join(s.Programs, "collet"),
		"COLLET_CLIENT": filepath.Join(s.Programs, "collet-client"), "COLLET_SERVER": filepath.Join(s.Programs, "collet-server"),
	} {
		e.Setenv(name, value)
	}
	return nil
}

// Commands returns the commands of the package comment.
func (s *Stage) Commands() map[string]Command {
	commands := map[string]Command{
		"install": s.install, "package": s.offer, "serve": serve, "link": link, "wire": traffic, "web": web, "feed": feed,
		"waitfor": waitFor, "waitsize": waitSize, "same": same, "damage": damage,
		"before": before, "origin": origin, "spy": spy,
	}
	maps.Copy(commands, map[string]Command{"games": s.games, "desk": desk, "waitdesk": waitDesk, "sametree": sameTree})
	return commands
}

// Check ends the script with an error.
func Check(ts *testscript.TestScript, err error) {
	if err != nil {
		ts.Fatalf("%v", err)
	}
}

// Wait waits until a condition holds. The script ends with the failure if it does not come true.
func Wait(ts *testscript.TestScript, failure string, reached func() bool) {
	testwait.Until(ts, reached, failure)
}

func (s *Stage) install(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	// A copy would be open for writing for a moment, and a program that another script starts meanwhile would inherit that:
	// the system does not start a program that is open for writing.
	Check(ts, os.MkdirAll(dir, 0o755))
	program := filepath.Join(dir, args[1])
	Check(ts, os.RemoveAll(program))
	Check(ts, os.Link(ts.Getenv("COLLET_CLIENT"), program))
	for _, part := range args[2:] {
		switch part {
		case "module":
			Check(ts, copyFile(filepath.Join(dir, s.Layout.Target.LibraryName(args[1])), s.Layout.Old.Module, 0o644))
		case "new-module":
			Check(ts, copyFile(filepath.Join(dir, s.Layout.Target.LibraryName(args[1])), s.Layout.New.Module, 0o644))
		case "packs":
			Check(ts, copyFiles(filepath.Join(dir, "Resources"), s.Layout.Old.Packs))
		default:
			ts.Fatalf("install: unknown part %q", part)
		}
	}
}

// faultCompatibility is what the faulty modules of runtime/sample announce.
const faultCompatibility = "fixture-1"

func (s *Stage) offer(ts *testscript.TestScript, _ bool, args []string) {
	dir, release := ts.MkAbs(args[0]), s.Layout.New
	if args[1] == "old" {
		release = s.Layout.Old
	}
	Check(ts, copyFiles(filepath.Join(dir, "Resources"), release.Packs))
	compatibility := release.Compatibility
	for _, arg := range args[2:] {
		if fault, found := strings.CutPrefix(arg, "fault="); found {
			release.Module = filepath.Join(ts.Getenv("WORK"), "faults", filepath.Base(release.Module))
			Check(ts, os.MkdirAll(filepath.Dir(release.Module), 0o755))
			Check(ts, sample.BuildFault(context.Background(), fault, release.Module))
			compatibility = faultCompatibility
		}
	}
	text := fmt.Sprintf("CompatibilityVersion = %q\n", compatibility)
	for _, arg := range args[2:] {
		if bytes, found := strings.CutPrefix(arg, "portion="); found {
			text += "Network.UpdateFileMaxPortionSize = " + bytes + "\n"
		}
	}
	if !slices.Contains(args[2:], "nomodule") {
		name := filepath.Base(release.Module)
		Check(ts, copyFile(filepath.Join(dir, "PlatformBinaries", string(s.Layout.Target), name), release.Module, 0o644))
	}
	Check(ts, os.WriteFile(filepath.Join(dir, "server.toml"), []byte(text), 0o644))
}

// servers finds the running server of a script by its work folder.
var servers sync.Map

func serve(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "off" {
		running, _ := servers.LoadAndDelete(ts.Getenv("WORK"))
		running.(*process.Process).Stop(patience)
		return
	}
	settings := filepath.Join(ts.MkAbs(args[0]), "server.toml")
	if _, err := os.Stat(settings); err != nil {
		ts.Fatalf("serve: %v", err)
	}
	server, address, err := process.StartServer(context.Background(), ts.Getenv("COLLET_SERVER"), settings, 0)
	Check(ts, err)
	servers.Store(ts.Getenv("WORK"), server)
	ts.Defer(func() { server.Stop(patience) })
	ts.Setenv("SERVER", address)
}
