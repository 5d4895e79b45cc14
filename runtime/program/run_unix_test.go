//go:build linux

package program_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collet/platform/testlevel"
	"collet/platform/testwait"
	"collet/runtime/abi"
	"collet/runtime/program"
)

// runnerFolder is the variable that makes this test binary a runner: the folder of its files.
const runnerFolder = "PROGRAM_TEST_RUNNER"

// A runner is the head of all processes that it starts, so each test has one in a process of its own.
func init() {
	folder := os.Getenv(runnerFolder)
	if folder == "" {
		return
	}
	runtime.LockOSThread()
	os.Unsetenv(runnerFolder)
	os.Exit(runnerMain(folder))
}

func runnerMain(folder string) int {
	grace, _ := time.ParseDuration(os.Getenv("GRACE"))
	m, err := program.Load(program.Options{
		Description: filepath.Join(folder, "Lathe.program"), Resources: filepath.Join(folder, "Resources"),
		Kept: filepath.Join(folder, ".collet", "kept"), StopWithin: grace,
	})
	if err != nil {
		os.WriteFile(filepath.Join(folder, "log"), []byte("load: "+err.Error()+"\n"), 0o600)
		return 1
	}
	log, err := os.OpenFile(filepath.Join(folder, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 1
	}
	there := func(name string) bool { _, err := os.Stat(filepath.Join(folder, name)); return err == nil }
	var killed atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end asks for the kill
		killed.Store(true)
		m.Kill()
		os.Exit(9)
	}()
	result, err := m.Run([]string{"host", "from the player"}, abi.Services{
		Ready:    func() { fmt.Fprintln(log, "READY") },
		Progress: func(text string) { fmt.Fprintln(log, "PROGRESS", text) },
		Log:      func(level int32, text string) { fmt.Fprintln(log, level, text) },
		Stopping: func() bool { return there("stop") },
		Update:   func() string { data, _ := os.ReadFile(filepath.Join(folder, "update")); return string(data) },
	})
	if killed.Load() {
		select {} // until the process ends
	}
	data, _ := json.Marshal(result)
	fmt.Fprintf(log, "RESULT %s %v\n", data, err)
	return 0
}

// stage is a game in a folder, with a runner.
type stage struct {
	t      *testing.T
	folder string
	d      program.Description
	env    []string
	cmd    *exec.Cmd
	hold   io.Closer // the runner kills its game when this is closed
}

// newStage makes a game whose executable is a shell script.
func newStage(t *testing.T, script string) *stage {
	t.Helper()
	testlevel.Slow(t)
	t.Parallel()
	s := &stage{t: t, folder: t.TempDir(), env: append(os.Environ(), "GRACE=10s", "DISPLAY=")}
	s.d = program.Description{Name: "Lathe", Build: "00", Program: "bin/game", Ready: program.Ready{Seconds: 600}, Exit: program.Exit{Clean: []int64{0}, Reload: []int64{75}}}
	s.write("bin/game", script)
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.folder, name) }

// write writes an executable file of the resources.
func (s *stage) write(name, text string) {
	s.t.Helper()
	name = filepath.Join(s.folder, "Resources", name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if strings.HasPrefix(text, "\n") {
		text = "#!/bin/sh" + text
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) touch(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) log() string { data, _ := os.ReadFile(s.path("log")); return string(data) }

// start starts the runner.
func (s *stage) start() *stage {
	s.t.Helper()
	data, err := s.d.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.touch("Lathe.program", string(data))
	os.Remove(s.path("log"))
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(s.env, runnerFolder+"="+s.folder, "GORACE=atexit_sleep_ms=0")
	out, err := os.Create(s.path("out"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = out, out
	if s.hold, err = s.cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	out.Close()
	s.t.Cleanup(func() { s.cmd.Process.Kill() })
	return s
}

// until waits until the log has a text.
func (s *stage) until(text string) *stage {
	s.t.Helper()
	testwait.Until(s.t, func() bool { return strings.Contains(s.log(), text) }, "the log has "+text)
	return s
}

// end waits for the end and returns the result.
func (s *stage) end() (result abi.Result) {
	s.t.Helper()
	s.cmd.Wait()
	for line := range strings.SplitSeq(s.log(), "\n") {
		if text, is := strings.CutPrefix(line, "RESULT "); is {
			if err := json.Unmarshal([]byte(strings.TrimSuffix(text, " <nil>")), &result); err != nil {
				s.t.Fatal(text, err)
			}
			return result
		}
	}
	out, _ := os.ReadFile(s.path("out"))
	s.t.Fatalf("no result:\n%s\n%s", s.log(), out)
	return result
}

// wants ends the run and compares the result and a part of the log.
func (s *stage) wants(kind abi.ResultKind, success bool, logged ...string) {
	s.t.Helper()
	if got := s.end(); got.Kind != kind || got.Success != success || (kind == abi.ReloadRequested) != (got.RequestedRuntimePath == s.path("Lathe.program")) {
		s.t.Errorf("ended as %+v, want %s %v\n%s", got, kind, success, s.log())
	}
	for _, text := range logged {
		if !strings.Contains(s.log(), text) {
			s.t.Errorf("the log lacks %q:\n%s", text, s.log())
		}
	}
}

// TestEnds has the meaning of each way in which a program can end by itself.
func TestEnds(t *testing.T) {
	for name, test := range map[string]struct {
		script  string
		kind    abi.ResultKind
		success bool
		logged  string
	}{
		"clean at once":             {"\nexit 0", abi.Shutdown, true, "before it was ready"},
		"unknown code":              {"\nexit 3", abi.FatalError, false, "3 the program exited with code 3"},
		"reload":                    {"\nexit 75", abi.ReloadRequested, false, ""},
		"crash":                     {"\nkill -SEGV $$", abi.FatalError, false, "SIGSEGV"},
		"ended by a signal":         {"\nkill -TERM $$", abi.Shutdown, false, ""},
		"the same, ready":           {"\necho ready >>$COLLET_EVENTS; sleep 0.3; kill -TERM $$", abi.Shutdown, true, "READY"},
		"restart":                   {"\necho restart >>$COLLET_EVENTS; exit 0", abi.ReloadRequested, false, "wants to be started again"},
		"restart and a crash":       {"\necho restart >>$COLLET_EVENTS; exit 3", abi.FatalError, false, ""},
		"no program":                {"\x7fELF garbage", abi.FatalError, false, "exec format error"},
		"missing interpreter":       {"#!/no/such/interpreter\n", abi.FatalError, false, "no such file"},
		"launcher":                  {"\n./child & exit 0", abi.FatalError, false, "exited with code 7"},
		"launcher of a session":     {"\nsetsid ./child & exit 0", abi.FatalError, false, "exited with code 7"},
		"launcher that crashes":     {"\n./child & exit 4", abi.FatalError, false, "exited with code 4"},
		"service in the background": {"\n(cd / && exec sleep 100 >/dev/null 2>&1) & exit 0", abi.Shutdown, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, test.script)
			s.write("bin/child", "\nsleep 0.5; exit 7")
			s.start().wants(test.kind, test.success, test.logged)
		})
	}
}

// TestCommand: arguments, variables and the working folder are those of the description.
func TestCommand(t *testing.T) {
	const script = "\necho \"[$1] [$2] [$COLOUR] $(pwd)\" >$OUT; [ -f \"$COLLET_EVENTS\" ] && [ -f \"$COLLET_STATE\" ]"
	for _, test := range []struct{ folder, want string }{{"", "bin"}, {program.ResourcesFolder, ""}, {"data", "data"}} {
		t.Run("folder "+test.folder, func(t *testing.T) {
			s := newStage(t, script)
			s.write("data/x", "x")
			s.d.Args, s.d.Env, s.d.Folder = []string{"-a b"}, map[string]string{"COLOUR": "red", "OUT": s.path("said")}, test.folder
			s.d.Wrapper = []string{"no-such-command-here"}
			if err := os.Chmod(s.path("Resources/bin/game"), 0o644); err != nil {
				t.Fatal(err)
			}
			s.start().wants(abi.Shutdown, true, "2 the command no-such-command-here is not installed")
			said, _ := os.ReadFile(s.path("said"))
			if want := fmt.Sprintf("[-a b] [from the player] [red] %s\n", filepath.Join(s.folder, "Resources", test.want)); string(said) != want {
				t.Errorf("said %q, want %q", said, want)
			}
		})
	}
	t.Run("wrapper", func(t *testing.T) {
		s := newStage(t, "\necho $WRAPPED >$OUT")
		s.d.Env, s.d.Wrapper = map[string]string{"OUT": s.path("said")}, []string{"env", "WRAPPED=yes"}
		s.start().wants(abi.Shutdown, true)
		if said, _ := os.ReadFile(s.path("said")); string(said) != "yes\n" {
			t.Errorf("said %q", said)
		}
	})
}

// TestReady: the game's own report, or the time.
func TestReady(t *testing.T) {
	s := newStage(t, "\necho 'progress shaders 40%' >>$COLLET_EVENTS; printf 'nonsense\\nrea' >>$COLLET_EVENTS; sleep 0.3; echo dy >>$COLLET_EVENTS; while [ ! -e $0.end ]; do sleep 0.02; done")
	s.start().until("READY")
	s.write("bin/game.end", "")
	s.wants(abi.Shutdown, true, "progress: shaders 40%", "PROGRESS shaders 40%", "ready by its own report")
}

func TestReadyByTime(t *testing.T) {
	s := newStage(t, "\nwhile [ ! -e $0.end ]; do sleep 0.02; done")
	s.d.Ready.Seconds = 1
	s.start().until("READY")
	s.write("bin/game.end", "")
	s.wants(abi.Shutdown, true, "ready by running for 1s")
}

// TestStop: the helper, then SIGTERM, then force.
func TestStop(t *testing.T) {
	for name, test := range map[string]struct {
		grace, script string
		success       bool
		logged        string
	}{
		"helper":   {"1000s", "\necho ready >>$COLLET_EVENTS; trap 'exit 9' TERM; while ! grep -q stop $COLLET_STATE; do sleep 0.02; done; exit 0", true, ""},
		"signal":   {"1000s", "\ntrap 'exit 0' TERM; echo started >$0.on; while :; do sleep 0.02; done", true, ""},
		"ignored":  {"1s", "\ntrap '' TERM; echo started >$0.on; while :; do sleep 0.02; done", false, "is killed"},
		"all deaf": {"1s", "\ntrap '' TERM; echo ready >>$COLLET_EVENTS; while :; do sleep 0.02; done", false, "is killed"},
		"launcher": {"1s", "\ntrap '' TERM; setsid sh -c 'echo started >../bin/game.on; exec sleep 1000' & exit 0", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, test.script)
			s.env = append(s.env, "GRACE="+test.grace)
			s.start()
			testwait.Until(t, func() bool {
				_, err := os.Stat(s.path("Resources/bin/game.on"))
				return err == nil || strings.Contains(s.log(), "READY")
			}, "the game runs")
			s.touch("stop", "")
			s.wants(abi.Shutdown, test.success, test.logged)
		})
	}
}

// TestUpdateIsTold: the game reads which version waits.
func TestUpdateIsTold(t *testing.T) {
	s := newStage(t, "\nwhile ! grep -qx 'update 1.2 beta' $COLLET_STATE; do sleep 0.02; done")
	s.start().until("process")
	s.touch("update", "1.2 beta")
	s.wants(abi.Shutdown, true)
}

// TestKill: nothing that the game started survives the end of the host.
func TestKill(t *testing.T) {
	s := newStage(t, "\nsetsid sleep 1000 & echo $! >$0.pid; trap '' TERM; while :; do sleep 0.02; done")
	s.start()
	pid := 0
	testwait.Until(t, func() bool {
		data, _ := os.ReadFile(s.path("Resources/bin/game.pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	}, "the game runs")
	if err := s.hold.Close(); err != nil {
		t.Fatal(err)
	}
	s.cmd.Wait()
	testwait.Until(t, func() bool { return !testwait.Alive(pid) }, "the game's process ends")
}

// TestKilledRunner: the program ends with a runner that is killed.
func TestKilledRunner(t *testing.T) {
	s := newStage(t, "\necho $$ >$0.pid; exec sleep 1000")
	s.start()
	pid := 0
	testwait.Until(t, func() bool {
		data, _ := os.ReadFile(s.path("Resources/bin/game.pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	}, "the game runs")
	s.cmd.Process.Kill()
	s.cmd.Wait()
	testwait.Until(t, func() bool { return !testwait.Alive(pid) }, "the game's process ends")
}

// TestLoadFaults: a description that can't be run is found before anything is started.
func TestLoadFaults(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *stage)
		logged string
	}{
		"no description": {func(s *stage) { os.Remove(s.path("Lathe.program")) }, "no such file"},
		"invalid":        {func(s *stage) { s.touch("Lathe.program", "{}") }, "format is 0"},
		"no executable":  {func(s *stage) { os.Remove(s.path("Resources/bin/game")) }, `"bin/game"`},
		"a folder":       {func(s *stage) { os.Remove(s.path("Resources/bin/game")); os.Mkdir(s.path("Resources/bin/game"), 0o755) }, "is not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s := &stage{t: t, folder: folder}
			s.write("bin/game", "\n")
			data, _ := (program.Description{Name: "L", Build: "00", Program: "bin/game", Ready: program.Ready{Seconds: 1}}).Encode()
			s.touch("Lathe.program", string(data))
			test.change(s)
			_, err := program.Load(program.Options{Description: s.path("Lathe.program"), Resources: s.path("Resources")})
			if err == nil || !strings.Contains(err.Error(), test.logged) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestKeep: a kept file is placed once, then it is the player's; a changed shipped form comes beside it.
func TestKeep(t *testing.T) {
	s := newStage(t, "\nexit 0")
	s.d.Keep = []program.Kept{{Path: "config/a.ini", New: true}, {Path: "mods/b.txt"}, {Path: "mods/missing"}}
	shipped := func(a, b string) { s.write(".keep/config/a.ini", a); s.write(".keep/mods/b.txt", b) }
	check := func(step string, files map[string]string) {
		t.Helper()
		s.start().wants(abi.Shutdown, true, "kept file mods/missing")
		for name, want := range files {
			if got, _ := os.ReadFile(s.path("Resources/" + name)); string(got) != want {
				t.Errorf("%s: %s has %q, want %q", step, name, got, want)
			}
		}
	}
	shipped("a1", "b1")
	check("first", map[string]string{"config/a.ini": "a1", "mods/b.txt": "b1", "config/a.ini.new": ""})
	s.write("config/a.ini", "player")
	check("edited", map[string]string{"config/a.ini": "player", "config/a.ini.new": ""})
	shipped("a2", "b2")
	check("new form", map[string]string{"config/a.ini": "player", "config/a.ini.new": "a2", "mods/b.txt": "b1", "mods/b.txt.new": ""})
	os.Remove(s.path("Resources/config/a.ini.new"))
	os.Remove(s.path("Resources/mods/b.txt"))
	check("removed", map[string]string{"config/a.ini": "player", "config/a.ini.new": "", "mods/b.txt": "b2"})
	s.touch(".collet/kept", "damaged")
	check("no record", map[string]string{"config/a.ini": "player", "config/a.ini.new": ""})
	left, err := filepath.Glob(s.path("Resources/*/*.collet-next"))
	if err != nil || len(left) > 0 {
		t.Error("unfinished files are left:", left, err)
	}
}
