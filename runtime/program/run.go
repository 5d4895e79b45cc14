package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collet/platform"
	"collet/platform/window"
	"collet/runtime/abi"
)

const (
	// tick is the time between two looks at the program: its lines, the end, a request to stop. It is the longest delay of each.
	tick = 100 * time.Millisecond
	// windowTicks is how many ticks pass between two searches for a window, reapTicks between two looks for ended orphans.
	windowTicks = 3
	reapTicks   = 50
	// earlyEnd is the time within which a clean end before ready is reported: a launcher that could not be followed, most probably.
	earlyEnd = 5 * time.Second
)

// windows finds and closes windows: a window.Finder, or that of a test.
type windows interface {
	Visible(pids []int) (bool, error)
	AskToClose(pids []int)
	Close() error
}

func openWindows() (windows, error) { return window.Open(os.Getenv) }

// run is one run of the program. One goroutine uses it.
//
//	started ──→ ready ──→ ended                      the first process ended, and none of the game's is left
//	   └──────────┴─────→ followed ──→ ended         the first process was a launcher: the game's others go on
//	any ─ Stopping ──→ told by the helper ──→ asked by SIGTERM or WM_CLOSE ──→ killed
type run struct {
	*Module
	s         abi.Services
	helper    *helper
	resources string  // with links resolved, as the system names the folders of processes
	finder    windows // nil: windows can't be found
	searches  int     // how often it was opened
	began     time.Time
	ticks     int

	own      int                  // process id of the first process
	first    *platform.ProcessEnd // how it ended; nil while it runs
	last     *platform.ProcessEnd // how the last of the followed processes ended; nil if unknown
	followed map[int]bool         // processes of the game beside the first one

	ready, restart, asked, killed bool
	stopped                       time.Time // when it was told to stop; zero before
}

// Run runs the program and returns when it and all other processes of the game have ended. The first of args names the host; the
// others are the player's. A crash is abi.FatalError with a logged error. The error is always nil.
func (m *Module) Run(args []string, s abi.Services) (abi.Result, error) {
	r := &run{Module: m, s: withDefaults(s), followed: map[int]bool{}, resources: m.o.Resources}
	if resolved, err := filepath.EvalSymlinks(r.resources); err == nil {
		r.resources = resolved
	}
	m.placeKept(r.warn)
	var err error
	if r.helper, err = newHelper(); err != nil {
		return r.fatal("files of the helper: " + err.Error()), nil
	}
	defer r.helper.close()
	m.makeExecutable()
	cmd := m.command(args[min(1, len(args)):], r.helper, r.warn)
	if err := m.family.Start(cmd); err != nil {
		return r.fatal("the program does not start: " + err.Error()), nil
	}
	r.own, r.began = cmd.Process.Pid, m.now()
	r.s.Log(abi.LogInfo, fmt.Sprintf("process %d: %s", r.own, strings.Join(cmd.Args, " ")))
	r.openFinder()
	defer r.closeFinder()
	return r.loop(cmd), nil
}

// withDefaults replaces services that are nil.
func withDefaults(s abi.Services) abi.Services {
	if s.Ready == nil {
		s.Ready = func() {}
	}
	if s.Log == nil {
		s.Log = func(int32, string) {}
	}
	if s.Progress == nil {
		s.Progress = func(string) {}
	}
	if s.Stopping == nil {
		s.Stopping = func() bool { return false }
	}
	if s.Update == nil {
		s.Update = func() string { return "" }
	}
	return s
}

func (r *run) warn(text string) { r.s.Log(abi.LogWarn, text) }

// fatal logs why the program failed.
func (r *run) fatal(text string) abi.Result {
	r.s.Log(abi.LogError, text)
	return abi.Result{Kind: abi.FatalError}
}

// maxSearches is how often the search for windows is opened: a busy screen does not answer in time, and one that never does costs seconds each
// time.
const maxSearches = 3

// openFinder opens the search for windows. Without one the time counts.
func (r *run) openFinder() {
	if r.searches == maxSearches {
		return
	}
	r.searches++
	finder, err := r.window()
	if err != nil {
		r.s.Log(abi.LogDebug, "windows can't be found: "+err.Error())
		return
	}
	r.finder = finder
}

func (r *run) closeFinder() {
	if r.finder != nil {
		r.finder.Close()
		r.finder = nil
	}
}

// loop looks at the program until it has ended. A goroutine waits for the first process; it ends before loop returns.
func (r *run) loop(cmd *exec.Cmd) abi.Result {
	ended := make(chan platform.ProcessEnd, 1)
	go func() { ended <- platform.WaitFor(cmd) }()
	clock := time.NewTicker(r.tick)
	defer clock.Stop()
	for {
		select {
		case end := <-ended:
			r.first = &end
		case <-clock.C:
			r.ticks++
		}
		r.listen()
		r.stopIfAsked()
		var game []int
		if r.first != nil || !r.ready && r.ticks%windowTicks == 0 || r.ticks%reapTicks == 0 {
			game = r.processes()
		}
		if r.first != nil && len(game) == 0 {
			r.listen() // lines that it wrote at its end
			return r.result()
		}
		r.checkReady(game)
	}
}

// listen handles the lines of the game, and writes those for it.
func (r *run) listen() {
	for _, line := range r.helper.lines() {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "ready":
			r.markReady("its own report")
		case "progress":
			r.s.Log(abi.LogInfo, "progress: "+rest)
			r.s.Progress(rest)
		case "restart":
			r.restart = true
			r.s.Log(abi.LogInfo, "the game wants to be started again when it has ended")
		}
	}
	r.helper.tell(r.s.Update(), !r.stopped.IsZero())
}

// processes are the living processes of the game. It notes how the followed ones ended.
func (r *run) processes() (game []int) {
	own := r.own
	if r.first != nil {
		own = 0
	}
	alive, ended := r.family.Members(own)
	for pid, end := range ended {
		if r.followed[pid] {
			r.last = &end
		}
	}
	for _, member := range alive {
		if !r.belongs(member) {
			continue
		}
		game = append(game, member.Pid)
		if member.Pid != r.own && !r.followed[member.Pid] {
			r.followed[member.Pid] = true
			r.s.Log(abi.LogDebug, fmt.Sprintf("process %d of the game: %s", member.Pid, member.Exe))
		}
	}
	return game
}

// belongs reports whether a process is one of the game's, and not a service that the game started: its executable or its working
// folder lies among the resources. A process that the system says nothing about belongs to the game.
func (r *run) belongs(m platform.Member) bool {
	within := func(name string) bool {
		rel, err := filepath.Rel(r.resources, name)
		return name != "" && err == nil && filepath.IsLocal(rel)
	}
	return m.Pid == r.own || m.Exe == "" && m.Dir == "" || within(m.Exe) || within(m.Dir)
}

// checkReady reports ready by the first window and by time. game are the game's processes, if they were looked up.
func (r *run) checkReady(game []int) {
	if r.ready {
		return
	}
	if limit := time.Duration(r.d.Ready.Seconds) * time.Second; r.now().Sub(r.began) >= limit {
		r.markReady(fmt.Sprintf("running for %s", limit))
		return
	}
	if !r.d.Ready.Window || r.finder == nil || len(game) == 0 {
		return
	}
	shown, err := r.finder.Visible(game)
	if err != nil {
		r.s.Log(abi.LogDebug, "windows were not found: "+err.Error())
		r.closeFinder()
		r.openFinder()
		return
	}
	if shown {
		r.markReady("its first window")
	}
}

func (r *run) markReady(by string) {
	if !r.ready {
		r.ready = true
		r.s.Log(abi.LogInfo, fmt.Sprintf("ready by %s, %.1f s after the start", by, r.now().Sub(r.began).Seconds()))
		r.s.Ready()
	}
}

// stopIfAsked ends the program if the host wants it: by the helper at once; by SIGTERM or WM_CLOSE at once too, or after half of the
// time if the game uses the helper; by force before the host's time is over.
func (r *run) stopIfAsked() {
	if !r.s.Stopping() {
		return
	}
	now := r.now()
	if r.stopped.IsZero() {
		r.stopped = now
		r.helper.tell(r.s.Update(), true)
	}
	waited, patience := now.Sub(r.stopped), time.Duration(0)
	if r.helper.heard {
		patience = r.o.StopWithin / 2
	}
	if waited >= patience && !r.asked {
		r.asked = true
		if r.finder != nil {
			r.finder.AskToClose(r.processes())
		}
		r.family.Ask()
	}
	if waited >= r.o.StopWithin*4/5 && !r.killed {
		r.killed = true
		r.warn("the program did not end in time and is killed")
		r.family.Kill()
	}
}

// result is the meaning of the end. The first process decides; a launcher that ended cleanly leaves that to the last process of the
// game, where its end is known.
func (r *run) result() abi.Result {
	end := *r.first
	if r.last != nil && r.has(r.d.Exit.Clean, end) {
		end = *r.last
	}
	ran := r.now().Sub(r.began)
	clean := r.has(r.d.Exit.Clean, end)
	r.s.Log(abi.LogInfo, fmt.Sprintf("the program %s after %.1f s", end, ran.Seconds()))
	switch {
	case !r.stopped.IsZero():
		return abi.Result{Kind: abi.Shutdown, Success: clean}
	case r.has(r.d.Exit.Reload, end), r.restart && clean:
		return abi.Result{Kind: abi.ReloadRequested, RequestedRuntimePath: r.o.Description}
	case end.Asked:
		return abi.Result{Kind: abi.Shutdown, Success: r.ready}
	case !clean:
		return r.fatal("the program " + end.String())
	}
	if !r.ready && ran < earlyEnd {
		r.warn(fmt.Sprintf("the program ended cleanly after %.1f s, before it was ready; if it has started the game, that process can't be followed", ran.Seconds()))
	}
	return abi.Result{Kind: abi.Shutdown, Success: true}
}

// has reports whether the process exited by itself with one of the codes.
func (r *run) has(codes []int64, end platform.ProcessEnd) bool {
	return end.Err == nil && end.Signal == "" && slices.Contains(codes, int64(end.Code))
}
