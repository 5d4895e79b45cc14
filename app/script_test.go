//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/build/testscripts"
	"collet/platform"
	"collet/platform/testwait"
)

// stage has the programs and releases that all scripts share.
type stage struct{ *testscripts.Stage }

// TestScripts runs the scripts in testdata/script, one topic a file. Those named step-… are the local validation steps, in order.
func TestScripts(t *testing.T) {
	hangups := make(chan os.Signal, 1) // programs would inherit that it is ignored, as under nohup
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	s, readOnlyFolders := stage{testscripts.NewStage(t)}, canReadOnly(t)
	commands := s.Commands()
	maps.Copy(commands, s.transportCommands())
	maps.Copy(commands, s.packagedCommands())
	maps.Copy(commands, verdictCommands())
	maps.Copy(commands, remoteCommands())
	maps.Copy(commands, programCommands())
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"waitgone": waitGone, "signal": signalCommand, "reader": reader, "readonly": readOnlyCommand, "deaf": deaf,
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
		Setup: s.Setup,
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
	testscripts.Check(ts, err)
	testscripts.Wait(ts, fmt.Sprintf("process %d lives on", pid), func() bool { return !testwait.Alive(pid) })
}

var hostStarted = regexp.MustCompile(`"pid":(\d+).*"message":"collet-client starts"`)

// signalCommand signals the last host or child, or both, as a session does, that a log tells of: signal LOG TERM|INT|HUP
// host|child….
func signalCommand(ts *testscript.TestScript, _ bool, args []string) {
	sig, known := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP}[args[1]]
	if !known {
		ts.Fatalf("signal: unknown signal %q", args[1])
	}
	var pids []int
	for _, whom := range args[2:] {
		found := map[string]*regexp.Regexp{"host": hostStarted, "child": childStarted}[whom].FindAllStringSubmatch(ts.ReadFile(args[0]), -1)
		if len(found) == 0 {
			ts.Fatalf("signal: %s tells of no %s", args[0], whom)
		}
		pid, err := strconv.Atoi(found[len(found)-1][1])
		testscripts.Check(ts, err)
		pids = append(pids, pid)
	}
	for _, pid := range pids { // at once, as a session does
		if err := syscall.Kill(pid, sig); !errors.Is(err, syscall.ESRCH) { // it may have ended because of the one before
			testscripts.Check(ts, err)
		}
	}
}

// readers finds what a script holds by its work folder.
var readers sync.Map

// reader uses the files of an install, as another player's game does, until it is told to stop: reader DIR, reader off.
func reader(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "off" {
		held, _ := readers.LoadAndDelete(ts.Getenv("WORK"))
		testscripts.Check(ts, held.(io.Closer).Close())
		return
	}
	dir, err := platform.OpenDir(ts.MkAbs(args[0]))
	testscripts.Check(ts, err)
	ts.Defer(func() { dir.Close() })
	held, err := dir.LockShared(".collet/readers")
	testscripts.Check(ts, err)
	readers.Store(ts.Getenv("WORK"), held)
}

// deaf listens and never says anything, and sets WEB to its address.
func deaf(ts *testscript.TestScript, _ bool, _ []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testscripts.Check(ts, err)
	ts.Defer(func() { testscripts.Check(ts, listener.Close()) })
	ts.Setenv("WEB", "http://"+listener.Addr().String())
}
