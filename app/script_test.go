//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/demo"
	"collet/build/qa"
	"collet/build/testprograms"
	"collet/platform"
	"collet/runtime/sample"
)

const (
	// levels is the size of release 2's large pack in the scripts, in MB of 2^20 bytes: long enough to be interrupted.
	levels = 4
	// patience is how long a script waits for something that should come soon.
	patience = 2 * time.Minute
)

// stage is what all scripts share: the programs as players have them, and both releases of the sample game.
type stage struct {
	programs string
	layout   *demo.Layout
}

// newStage has copies of the programs beside the installs, which are links to them.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{programs: t.TempDir()}
	for _, program := range []string{testprograms.Client(t), testprograms.Server(t), testprograms.Collet(t)} {
		if err := copyFile(filepath.Join(s.programs, filepath.Base(program)), program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	layout, err := demo.Prepare(t.Context(), t.TempDir(), s.programs, levels)
	if err != nil {
		t.Fatal(err)
	}
	s.layout = layout
	return s
}

// TestScripts runs the scripts in testdata/script, one topic a file. Those named step-… are the local validation steps, in order.
func TestScripts(t *testing.T) {
	hangups := make(chan os.Signal, 1) // programs would inherit that it is ignored, as under nohup
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	s, readOnlyFolders := newStage(t), canReadOnly(t)
	commands := s.transportCommands()
	maps.Copy(commands, s.releaseCommands())
	maps.Copy(commands, s.packagedCommands())
	maps.Copy(commands, verdictCommands())
	maps.Copy(commands, remoteCommands())
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"install": s.install, "package": s.offer, "serve": s.serve, "link": link, "wire": traffic,
		"waitfor": waitFor, "waitsize": waitSize, "same": same, "damage": damage, "waitgone": waitGone, "signal": signalCommand,
		"reader": reader, "readonly": readOnlyCommand,
	})
	testscript.Run(t, testscript.Params{
		Dir:  filepath.Join("testdata", "script"),
		Cmds: commands,
		Condition: func(name string) (bool, error) {
			if name == "readonly" {
				return readOnlyFolders, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("EXT", s.layout.Target.LibraryExt())
			e.Setenv("TARGET", string(s.layout.Target))
			e.Setenv("NEW_MODULE", s.layout.New.Module)
			e.Setenv("OLD_MODULE", s.layout.Old.Module)
			e.Setenv("COLLET", filepath.Join(s.programs, "collet"))
			e.Setenv("COLLET_CLIENT", filepath.Join(s.programs, "collet-client"))
			e.Setenv("COLLET_SERVER", filepath.Join(s.programs, "collet-server"))
			e.Setenv("OLD_COMPAT", s.layout.Old.Compatibility)
			e.Setenv("NEW_COMPAT", s.layout.New.Compatibility)
			e.Setenv("LANG", "C")
			return nil
		},
	})
}

func check(ts *testscript.TestScript, err error) {
	if err != nil {
		ts.Fatalf("%v", err)
	}
}

// install lays an install out: install DIR NAME [module] [packs], of release 1.
func (s *stage) install(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	// A copy would be open for writing for a moment, and a program that another script starts meanwhile would inherit that:
	// the system does not start a program that is open for writing.
	check(ts, os.MkdirAll(dir, 0o755))
	program := filepath.Join(dir, args[1])
	check(ts, os.RemoveAll(program))
	check(ts, os.Link(filepath.Join(s.programs, "collet-client"), program))
	for _, part := range args[2:] {
		switch part {
		case "module":
			check(ts, copyFile(filepath.Join(dir, s.layout.Target.LibraryName(args[1])), s.layout.Old.Module, 0o644))
		case "new-module":
			check(ts, copyFile(filepath.Join(dir, s.layout.Target.LibraryName(args[1])), s.layout.New.Module, 0o644))
		case "packs":
			check(ts, copyFiles(filepath.Join(dir, "Resources"), s.layout.Old.Packs))
		default:
			ts.Fatalf("install: unknown part %q", part)
		}
	}
}

// faultCompatibility is what the faulty modules of runtime/sample announce.
const faultCompatibility = "fixture-1"

// offer lays a server's package folder out: package DIR old|new [nomodule] [portion=BYTES] [fault=NAME]. A fault is a
// module of runtime/sample that does one thing wrong, in place of the release's own.
func (s *stage) offer(ts *testscript.TestScript, _ bool, args []string) {
	dir, release := ts.MkAbs(args[0]), s.layout.New
	if args[1] == "old" {
		release = s.layout.Old
	}
	check(ts, copyFiles(filepath.Join(dir, "Resources"), release.Packs))
	compatibility := release.Compatibility
	for _, arg := range args[2:] {
		if fault, found := strings.CutPrefix(arg, "fault="); found {
			release.Module = filepath.Join(ts.Getenv("WORK"), "faults", filepath.Base(release.Module))
			check(ts, os.MkdirAll(filepath.Dir(release.Module), 0o755))
			check(ts, sample.BuildFault(context.Background(), fault, release.Module))
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
		check(ts, copyFile(filepath.Join(dir, "PlatformBinaries", string(s.layout.Target), name), release.Module, 0o644))
	}
	check(ts, os.WriteFile(filepath.Join(dir, "server.toml"), []byte(text), 0o644))
}

// serve starts the server on a package folder and sets SERVER to its address: serve DIR.
func (s *stage) serve(ts *testscript.TestScript, _ bool, args []string) {
	settings := filepath.Join(ts.MkAbs(args[0]), "server.toml")
	if _, err := os.Stat(settings); err != nil {
		ts.Fatalf("serve: %v", err)
	}
	root, err := os.MkdirTemp(ts.Getenv("WORK"), "serve-")
	check(ts, err)
	check(ts, os.Symlink(ts.MkAbs(args[0]), filepath.Join(root, "server"))) // a layout's server folder has this name
	process, address, err := demo.StartServer(context.Background(), &demo.Layout{
		Root: root, ServerProgram: filepath.Join(s.programs, "collet-server"),
	}, 0)
	check(ts, err)
	ts.Defer(func() { process.Stop(patience) })
	ts.Setenv("SERVER", address)
}

// links finds the line of a script by its work folder.
var links sync.Map

// link puts a line before the server and sets LINK to its address: link [cut=BYTES] [rate=BYTES]. The first connection
// is cut after so many bytes towards the client; the rate is bytes a second.
func link(ts *testscript.TestScript, _ bool, args []string) {
	options := qa.ProxyOptions{Target: ts.Getenv("SERVER")}
	for _, arg := range args {
		name, value, _ := bytes.Cut([]byte(arg), []byte("="))
		n, err := strconv.ParseInt(string(value), 10, 64)
		check(ts, err)
		switch string(name) {
		case "cut":
			options.Fault = func(connection int) qa.Fault {
				if connection > 1 {
					return qa.Fault{}
				}
				return qa.Fault{Cut: qa.Down, After: n}
			}
		case "rate":
			options.Link.Rate = n
		default:
			ts.Fatalf("link: unknown word %q", arg)
		}
	}
	proxy, err := qa.StartProxy(options)
	check(ts, err)
	ts.Defer(func() { proxy.Close() })
	ts.Setenv("LINK", proxy.Addr())
	links.Store(ts.Getenv("WORK"), proxy)
}

// traffic checks what crossed the link: wire down|up MOST, in bytes over all connections; wire connections N.
func traffic(ts *testscript.TestScript, _ bool, args []string) {
	limit, err := strconv.ParseInt(args[1], 10, 64)
	check(ts, err)
	found, _ := links.Load(ts.Getenv("WORK"))
	proxy, is := found.(*qa.Proxy)
	if !is {
		ts.Fatalf("wire: no link")
	}
	records := proxy.Records()
	sums := map[string]int64{"connections": int64(len(records))}
	for _, r := range records {
		sums["down"] += r.Down
		sums["up"] += r.Up
	}
	got, known := sums[args[0]]
	switch {
	case !known:
		ts.Fatalf("wire: unknown word %q", args[0])
	case args[0] == "connections" && got != limit:
		ts.Fatalf("%d connections, want %d", got, limit)
	case args[0] != "connections" && got > limit:
		ts.Fatalf("%d bytes went %s, at most %d expected", got, args[0], limit)
	}
	ts.Logf("%s: %d", args[0], got)
}

// waitFor waits until a file has a line that matches: waitfor FILE REGEXP.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	pattern, name := regexp.MustCompile("(?m)"+args[1]), ts.MkAbs(args[0])
	wait(ts, fmt.Sprintf("%s has no %q", args[0], args[1]), func() bool {
		data, err := os.ReadFile(name)
		return err == nil && pattern.Match(data)
	})
}

// waitSize waits until a file has so many bytes: waitsize FILE BYTES.
func waitSize(ts *testscript.TestScript, _ bool, args []string) {
	least, err := strconv.ParseInt(args[1], 10, 64)
	check(ts, err)
	wait(ts, fmt.Sprintf("%s does not reach %d bytes", args[0], least), func() bool {
		info, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil && info.Size() >= least
	})
}

var childStarted = regexp.MustCompile(`"pid":(\d+).*"message":"child started"`)

// waitGone waits until the last child in a log has ended: waitgone LOG.
func waitGone(ts *testscript.TestScript, _ bool, args []string) {
	found := childStarted.FindAllStringSubmatch(ts.ReadFile(args[0]), -1)
	if len(found) == 0 {
		ts.Fatalf("%s tells of no child", args[0])
	}
	pid, err := strconv.Atoi(found[len(found)-1][1])
	check(ts, err)
	wait(ts, fmt.Sprintf("process %d lives on", pid), func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
}

var hostStarted = regexp.MustCompile(`"pid":(\d+).*"message":"collet-client starts"`)

// signalCommand signals the last host or child, or both, as a session does, that a log tells of: signal LOG TERM|INT|HUP
// host|child….
func signalCommand(ts *testscript.TestScript, _ bool, args []string) {
	sig, known := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP}[args[1]]
	if !known {
		ts.Fatalf("signal: unknown signal %q", args[1])
	}
	for _, whom := range args[2:] {
		found := map[string]*regexp.Regexp{"host": hostStarted, "child": childStarted}[whom].FindAllStringSubmatch(ts.ReadFile(args[0]), -1)
		if len(found) == 0 {
			ts.Fatalf("signal: %s tells of no %s", args[0], whom)
		}
		pid, err := strconv.Atoi(found[len(found)-1][1])
		check(ts, err)
		check(ts, syscall.Kill(pid, sig))
	}
}

// readers finds what a script holds by its work folder.
var readers sync.Map

// reader uses the files of an install, as another player's game does, until it is told to stop: reader DIR, reader off.
func reader(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "off" {
		held, _ := readers.LoadAndDelete(ts.Getenv("WORK"))
		check(ts, held.(io.Closer).Close())
		return
	}
	dir, err := platform.OpenDir(ts.MkAbs(args[0]))
	check(ts, err)
	ts.Defer(func() { dir.Close() })
	held, err := dir.LockShared(".collet/readers")
	check(ts, err)
	readers.Store(ts.Getenv("WORK"), held)
}

func wait(ts *testscript.TestScript, failure string, reached func() bool) {
	for end := time.Now().Add(patience); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%s", failure)
		}
	}
}

// same compares files byte for byte, of any size: [!] same A B.
func same(ts *testscript.TestScript, neg bool, args []string) {
	a, err := os.ReadFile(ts.MkAbs(args[0]))
	check(ts, err)
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	check(ts, err)
	if bytes.Equal(a, b) == neg {
		ts.Fatalf("%s (%d bytes) and %s (%d bytes): same is %v", args[0], len(a), args[1], len(b), !neg)
	}
}

// damage flips one byte of a file and sets its time of change back, as a failing disk or a sly hand would: damage FILE
// OFFSET.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	offset, err := strconv.Atoi(args[1])
	check(ts, err)
	info, err := os.Stat(name)
	check(ts, err)
	data, err := os.ReadFile(name)
	check(ts, err)
	data[offset] ^= 0xFF
	check(ts, os.WriteFile(name, data, info.Mode()))
	check(ts, os.Chtimes(name, info.ModTime(), info.ModTime()))
}

func copyFiles(dir string, names []string) error {
	for _, name := range names {
		if err := copyFile(filepath.Join(dir, filepath.Base(name)), name, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
