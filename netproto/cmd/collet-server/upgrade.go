package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collet/platform/interrupt"
	"collet/platform/text"
)

// An upgrade replaces the running program without refusing a connection. The running process starts the file of its program, with
// its own arguments, and passes on its listening sockets and two pipes. Then:
//
//	new: reads settings, opens the catalogue         old: serves
//	new: "prepared"                                  old: accepts nothing more, judges whom it has accepted, closes its store
//	old: "go"                                        who connects waits in the system's queue
//	new: opens the store, accepts, "ready"           old: ends its sessions within Limits.DrainTime, and exits
//
// If the new process ends or fails before "ready", the old one opens its store again and goes on. Both pipes end with either process.
const (
	// handedOver is the variable with the names of the descriptors from firstSocket on, as NAME=ADDRESS, one a line. Those of
	// pipes have no address.
	handedOver = "COLLET_HANDOVER"
	pipeState  = "state" // from the new process
	pipeGo     = "go"    // to the new process
	// controlName is the name of the control socket.
	controlName = "control"
	// fromManager is the address of a socket that the service manager has opened, which the settings don't decide about.
	fromManager = "@"

	statePrepared = "prepared"
	stateReady    = "ready"
	stateFailed   = "failed "
	// maxState is the longest line of a new process in bytes: the faults of its settings and files.
	maxState = 64 << 10

	// prepareTime is how long a new process may take to read what it offers, while the old one serves: TimeoutStartSec of the unit.
	prepareTime = 30 * time.Minute
	// takeTime is how long it may take with the store, while clients wait: clusterTime and cluster.Patience, and a slow disk.
	takeTime = 30 * time.Second
	// retryTime is the time between attempts to open a store that was given back.
	retryTime = time.Second
	// clusterTime is how long it waits for the other nodes of a cluster, unless its build changes the settings: then it waits for a majority,
	// up to cluster.Patience, and looks every writableTime. The old one had joined, so the store has what the others have.
	clusterTime  = 500 * time.Millisecond
	writableTime = 50 * time.Millisecond
	// helloTime is how long accepted clients may take to send their hello. They send it at once.
	helloTime = 2 * time.Second
)

var (
	errUpgrading = errors.New("an upgrade is under way already")
	errFirst     = errors.New("this process is the first of its container, which would end with it: replace the container, one node after the other")
)

// places are the addresses of the settings by the names of sockets.
func (r *running) places() map[string]string {
	at := r.opt.addresses(r.set)
	return map[string]string{
		defaultName: at.TCP, "tls": at.TLS, "ws": at.WebSocket, "wss": at.SecureWebSocket,
		"http": r.set.MonitorAddress(), "metrics": r.set.MetricsAddress(), controlName: r.set.Operations.ControlSocket,
	}
}

// ownProgram is the file that this process was started from. It is called at the start, before that file is replaced. The name by which the
// process was started counts, if it leads to that file, because a link may lead to another file by the time of an upgrade.
func ownProgram() string {
	running, err := os.Executable() // an empty name can't be started, which the upgrade says
	if err != nil {
		return ""
	}
	name, err := exec.LookPath(os.Args[0])
	if err != nil {
		return running
	}
	named, fault := os.Stat(name)
	is, err := os.Stat(running)
	if fault != nil || err != nil || !os.SameFile(named, is) {
		return running
	}
	if name, err = filepath.Abs(name); err != nil {
		return running
	}
	return name
}

// upgrade hands over to a new process, and ends serving. On failure this process goes on.
func (r *running) upgrade(ctx, alive context.Context) (err error) {
	if !r.upgrading.TryLock() {
		return errUpgrading
	}
	defer r.upgrading.Unlock()
	defer func() {
		if err != nil {
			r.log.Error().Err(err).Str("program", r.program).Msg("Could not hand over to a new program")
		}
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w; the server that was running goes on", err)
		}
	}()
	if os.Getpid() == 1 {
		return errFirst
	}
	if r.operator != nil {
		release, err := r.operator.HoldStore()
		if err != nil {
			return err
		}
		defer release()
		if err := r.operator.WriteCopy(); err != nil { // the new program would have to, while clients wait
			return err
		}
	}
	r.log.Info().Str("program", r.program).Msg("Starting a new program to hand over to")
	next, err := r.startSuccessor(r.program)
	if err != nil {
		return err
	}
	defer next.release()
	if err := next.await(ctx, statePrepared, prepareTime); err != nil {
		return err
	}
	r.reloading.Lock()
	defer r.reloading.Unlock()
	r.listeners.Pause()
	r.server.AwaitVerdicts(helloTime)
	r.closeOperator()
	if r.counting != nil {
		r.counting.end()
	}
	if ctx.Err() == nil {
		next.proceed()
	}
	if err := next.await(ctx, stateReady, takeTime); err != nil {
		next.release()
		return errors.Join(err, r.takeBack(ctx, alive))
	}
	r.gone.Store(true)
	if r.control != nil {
		r.control.Leave()
	}
	notifyManager(fmt.Sprintf("MAINPID=%d", next.process.Pid))
	r.leave()
	r.log.Info().Int("process", next.process.Pid).Msg("Handed over: a new program serves, and this one ends after its pending answers")
	r.stop()
	return nil
}

// takeBack serves again after a new process has failed to. If the store can't be opened for takeTime, this process ends.
func (r *running) takeBack(ctx, alive context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	err := r.govern(ctx)
	for end := time.Now().Add(takeTime); err != nil && ctx.Err() == nil && time.Now().Before(end); err = r.govern(ctx) {
		r.log.Warn().Err(err).Msg("The store that a new program gave back can't be opened; trying again")
		_ = interrupt.Sleep(ctx, retryTime) // the loop looks at ctx
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("the store that a new program gave back can't be opened, so that this program ends: %w", err)
		r.fault.Store(&err)
		r.stop()
		return err
	}
	if r.figures != nil {
		r.counting = startCounting(alive, r.figures)
		r.helpers.Go(r.counting.wait)
	}
	r.listeners.Resume()
	return nil
}

// successor is the new process, as the old one sees it.
type successor struct {
	process *os.Process
	state   *os.File
	lines   *bufio.Reader
	release func() // closes the pipes
	proceed func()
}

// await waits for a state of the new process. On failure that process is ended.
func (s *successor) await(ctx context.Context, want string, most time.Duration) error {
	s.state.SetReadDeadline(time.Now().Add(most))
	defer context.AfterFunc(ctx, func() { s.state.SetReadDeadline(time.Now()) })()
	line, err := s.lines.ReadSlice('\n')
	said := strings.TrimSuffix(string(line), "\n")
	if err == nil && said == want {
		return nil
	}
	s.process.Kill() // it may have ended
	end, fault := s.process.Wait()
	reason, failed := strings.CutPrefix(said, stateFailed)
	switch {
	case failed:
		return fmt.Errorf("the new program can't serve: %s", text.Line(reason))
	case ctx.Err() != nil:
		return errors.New("the server is being stopped")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the new program was not %s within %v, and was ended", want, most)
	case fault != nil:
		return fmt.Errorf("the new program is lost: %w", fault)
	default:
		return fmt.Errorf("the new program ended before it was %s (%v): look at what it logged; it must be a collet-server that knows upgrades", want, end)
	}
}

// predecessor is the old process, as the new one sees it. nil: there is none.
type predecessor struct {
	sockets []string // NAME=ADDRESS of the descriptors from firstSocket on
	state   *os.File
	goes    *os.File
}

// inheritedFrom is the process that hands over to this one, by the variable handedOver.
func inheritedFrom(env func(string) string) (*predecessor, error) {
	given := env(handedOver)
	if given == "" {
		return nil, nil
	}
	os.Unsetenv(handedOver) // it is for this process alone
	p := &predecessor{sockets: strings.Split(given, "\n")}
	if len(p.sockets) > maxSockets+3 { // the control socket and two pipes
		return nil, fmt.Errorf("%s has %d descriptors, want at most %d", handedOver, len(p.sockets), maxSockets+3)
	}
	for i, name := range p.sockets {
		switch name {
		case pipeState:
			p.state = os.NewFile(uintptr(firstSocket+i), name)
		case pipeGo:
			p.goes = os.NewFile(uintptr(firstSocket+i), name)
		}
	}
	if p.state == nil || p.goes == nil {
		return nil, fmt.Errorf("%s is %s, want the pipes %s and %s", handedOver, text.Quote(given), pipeState, pipeGo)
	}
	return p, nil
}

// inherit takes over the sockets whose places are still the same by the settings, and says where they were opened.
func (p *predecessor) inherit(places map[string]string) (s sockets, taken map[string]string, err error) {
	taken, fields := map[string]string{}, s.handed()
	for i, given := range p.sockets {
		name, address, isSocket := strings.Cut(given, "=")
		if !isSocket {
			continue
		}
		number := firstSocket + i
		if address != fromManager && address != places[name] {
			os.NewFile(uintptr(number), name).Close()
			continue
		}
		if err := s.takeAt(fields[name], number, name); err != nil {
			s.close()
			return sockets{}, nil, err
		}
		taken[name] = address
	}
	return s, taken, nil
}

// waitForStore says that this process is prepared, and returns when the old one has closed its store.
func (p *predecessor) waitForStore() error {
	fmt.Fprintln(p.state, statePrepared)
	if _, err := io.ReadFull(p.goes, make([]byte, 1)); err != nil {
		return errors.New("the server that was to hand over has ended the upgrade")
	}
	return nil
}

// serving says that this process serves.
func (p *predecessor) serving() {
	if p == nil {
		return
	}
	fmt.Fprintln(p.state, stateReady)
	p.state.Close()
	p.goes.Close()
}

// end says why this process could not take over; after serving it does nothing.
func (p *predecessor) end(err error) {
	if p == nil || err == nil {
		return
	}
	reason := err.Error()
	reason = strings.ReplaceAll(reason[:min(len(reason), maxState/2)], "\n", "; ")
	fmt.Fprintln(p.state, stateFailed+reason)
}

// environment is what a new process gets: what this one has, without what was meant for it alone.
func environment(names []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LISTEN_") || strings.HasPrefix(v, handedOver+"=") })
	return append(env, handedOver+"="+strings.Join(names, "\n"))
}

// handOver lists the open sockets as NAME=ADDRESS.
func (r *running) handOver() (names []string, open []net.Listener) {
	all, places := r.sockets.handed(), r.places()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if *all[name] == nil {
			continue
		}
		address := places[name]
		if r.taken[name] == fromManager {
			address = fromManager
		}
		names, open = append(names, name+"="+address), append(open, *all[name])
	}
	return names, open
}
