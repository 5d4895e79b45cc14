package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"collet/runtime/abi"
)

// Module is a loaded module, the common interface of runtime/host and runtime/embedded.
type Module interface {
	// Metadata is the module's description of itself.
	Metadata() abi.Metadata
	// Run runs the module until it returns, on the calling goroutine.
	Run(args []string, services abi.Services) (abi.Result, error)
	// Close unloads the module.
	Close() error
}

// LoadError reports why a module could not be loaded.
type LoadError struct {
	Stage string // the loader's "open", "symbol", "query", "ABI", "metadata", or one of the constants below
	Text  string
}

// Stages of this package, in addition to those of the loader.
const (
	StageLoad     = "load"     // the load function returned an error without a stage
	StageProtocol = "protocol" // host and child are different versions of the program
	StageMetadata = "metadata" // the metadata is too long for a message
)

func (e *LoadError) Error() string { return e.Stage + ": " + e.Text }

// Serve does the work of a child process. It waits for the host's hello, loads a module, reports its metadata or the load
// failure, and runs it on request. It returns the exit code for the process.
//
// in and out are the control handles (platform.OpenControl). Serve closes in; Close must end a pending Read. It calls load
// and the module's methods on the calling goroutine, which main must lock to the main thread first. A *LoadError wrapped in
// load's error keeps its stage.
//
// When ctx ends, Serve asks a running module to stop, as the host would, and gives it grace to return. This covers the end
// of a session, in which the system notifies all processes, including this one.
//
// If the host dies, violates the protocol, or ctx ends (and grace has passed) while the calling goroutine is inside load or
// the module, it can't be interrupted. Serve then calls terminate once, from another goroutine, with the exit code.
// terminate should end the process at once and not return (platform.Halt); if it returns, Serve waits for the module.
//
// The module may call its Services from any thread. After Run has returned they do nothing.
func Serve(ctx context.Context, in io.ReadCloser, out io.Writer, load func() (Module, error), grace time.Duration, terminate func(code int)) int {
	s := &server{
		out: out, terminate: terminate,
		orders: make(chan message, maxOrders), lost: make(chan struct{}),
	}
	over := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() { s.readMessages(in) })
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		if s.askToStop() {
			late := time.NewTimer(grace)
			defer late.Stop()
			select {
			case <-over:
				return
			case <-late.C:
			}
		}
		s.abandon(ExitCancelled)
	})
	code := s.serve(load)
	close(over)
	if !stop() {
		<-cancelled
	}
	in.Close()
	reader.Wait()
	return code
}

// maxOrders is the number of queued messages from the host: hello, and run or leave.
const maxOrders = 2

// server is one call of Serve.
type server struct {
	terminate func(code int)
	orders    chan message // valid messages from the host; never blocks the reader

	mu     sync.Mutex
	inside bool          // the main goroutine is in code that may never return
	ran    bool          // the host has sent run
	loaded bool          // metadata is being sent, so the host may send run
	code   int           // the exit code after a failure; 0 before
	lost   chan struct{} // closed when code is set
	stop   atomic.Bool   // the module has been asked to stop
	newer  atomic.Value  // the version of the last update message, a string; nil before

	outMu   sync.Mutex // held while a line is written, even to a slow host
	out     io.Writer
	running bool // progress, ready and log may be sent
	ready   bool // ready was sent
}

// serve executes the steps and returns the exit code.
func (s *server) serve(load func() (Module, error)) int {
	order, alive := s.await()
	if !alive {
		return s.code
	}
	if order.Hello.Protocol != protocol {
		return s.refuse(&LoadError{StageProtocol, fmt.Sprintf("the host speaks version %d of the control protocol, "+
			"this program version %d", order.Hello.Protocol, protocol)})
	}
	var module Module
	var err error
	if !s.within(func() { module, err = load() }) {
		return s.code
	}
	if err != nil {
		return s.refuse(err)
	}
	if code := s.introduce(module.Metadata()); code != 0 {
		return code
	}
	if order, alive = s.await(); !alive {
		return s.code
	}
	if order.Run != nil {
		if code := s.serveHost(module, plain(order.Run.Args)); code != 0 {
			return code
		}
	}
	if !s.within(func() { module.Close() }) {
		return s.code
	}
	return ExitServed
}

// refuse reports a load failure.
func (s *server) refuse(err error) int {
	failure := &LoadError{Stage: StageLoad, Text: err.Error()}
	errors.As(err, &failure)
	m := message{LoadFailed: &loadFailed{rawString(cut(failure.Stage, maxLogText)), rawString(cut(failure.Text, maxLogText))}}
	if s.send(m) != nil {
		return ExitHostGone
	}
	return ExitLoadFailed
}

// introduce reports the metadata. It returns 0, or the exit code if that failed.
func (s *server) introduce(m abi.Metadata) int {
	s.mu.Lock()
	s.loaded = true
	s.mu.Unlock()
	err := s.send(message{Metadata: &metadata{
		ABI: m.ABIVersion, Name: rawString(m.RuntimeName), Build: rawString(m.BuildHash), Compatibility: rawString(m.CompatibilityVersion),
		Components: componentsOf(m.Components),
	}})
	if errors.Is(err, ErrTooLong) {
		return s.refuse(&LoadError{StageMetadata, err.Error()})
	}
	if err != nil {
		return ExitHostGone
	}
	return 0
}

// serveHost runs the module and reports the result. It returns 0, or the exit code if that failed.
func (s *server) serveHost(module Module, args []string) int {
	s.outMu.Lock()
	s.running = true
	s.outMu.Unlock()
	var got abi.Result
	var err error
	if !s.within(func() {
		got, err = module.Run(args, abi.Services{Ready: s.sayReady, Progress: s.sayProgress, Log: s.sayLog, Stopping: s.stop.Load, Update: s.newerVersion})
	}) {
		return s.code
	}
	report := result{
		Kind: uint32(got.Kind), Success: got.Success,
		Path: rawString(got.RequestedRuntimePath), Compatibility: rawString(got.RequestedCompatibilityVersion),
	}
	if err == nil {
		err = checkResult(got)
	}
	if err != nil {
		report = result{Fault: rawString(cut(err.Error(), maxLogText))}
	}
	err = s.report(report)
	if errors.Is(err, ErrTooLong) {
		err = s.report(result{Fault: "the result is " + rawString(ErrTooLong.Error())})
	}
	if err != nil {
		return ExitHostGone
	}
	return 0
}

// report sends the result. Threads that the module left running can't send anything afterwards.
func (s *server) report(r result) error {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	s.running = false
	return s.sendLocked(message{Result: &r})
}

// sayReady implements Services.Ready.
func (s *server) sayReady() {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	if s.running && !s.ready {
		s.ready = true
		_ = s.sendLocked(message{Ready: &struct{}{}}) // the reader handles a broken pipe
	}
}

// sayProgress implements Services.Progress.
func (s *server) sayProgress(text string) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	if s.running && !s.ready {
		_ = s.sendLocked(message{Progress: &progress{rawString(cut(text, maxLogText))}})
	}
}

// sayLog implements Services.Log.
func (s *server) sayLog(level int32, line string) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	if s.running {
		_ = s.sendLocked(message{Log: &logEntry{level, rawString(cut(line, maxLogText))}})
	}
}

// send sends a message that is valid at any time.
func (s *server) send(m message) error {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	return s.sendLocked(m)
}

// sendLocked sends m. The caller holds outMu.
func (s *server) sendLocked(m message) error {
	line, err := encode(m)
	if err == nil {
		_, err = s.out.Write(line)
	}
	return err
}

// readMessages receives the host's messages until the pipe breaks, at the latest when Serve returns.
func (s *server) readMessages(in io.Reader) {
	from := newLines(in)
	for said := 0; ; said++ {
		m, err := from.nextMessage()
		if err == nil && m.Update != nil && s.isRun() {
			s.newer.Store(string(m.Update.Version))
			said--
			continue
		}
		switch {
		case errors.Is(err, io.EOF):
			s.abandon(ExitHostGone)
			return
		case err != nil || !s.inOrder(m, said):
			s.abandon(ExitProtocol)
			return
		}
		if m.Stop != nil {
			s.stop.Store(true)
			continue
		}
		s.orders <- m
	}
}

// newerVersion implements Services.Update.
func (s *server) newerVersion() string {
	version, _ := s.newer.Load().(string)
	return version
}

// isRun reports whether the host has sent run.
func (s *server) isRun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran
}

// inOrder reports whether m is valid after said other messages, without those of updates.
func (s *server) inOrder(m message, said int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch said {
	case 0:
		return m.Hello != nil
	case 1:
		s.ran = m.Run != nil && s.loaded
		return m.Leave != nil || s.ran
	case 2:
		return m.Stop != nil && s.ran
	}
	return false
}

// askToStop asks a module that runs, or is about to run, to stop. It reports whether there is such a module.
func (s *server) askToStop() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ran {
		s.stop.Store(true)
	}
	return s.ran
}

// await waits for the next message from the host. alive is false after a failure; code is then set.
func (s *server) await() (m message, alive bool) {
	select {
	case m = <-s.orders:
		return m, true
	case <-s.lost:
		return message{}, false
	}
}

// within runs f, which may never return. It reports whether to continue; if not, code is set, and f may not have run.
func (s *server) within(f func()) bool {
	if !s.step(true) {
		return false
	}
	f()
	return s.step(false)
}

// step enters or leaves code that may never return.
func (s *server) step(inside bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside = inside
	return s.code == 0
}

// abandon records the first failure. If the main goroutine is in code that may never return, it terminates the process.
func (s *server) abandon(code int) {
	s.mu.Lock()
	if s.code != 0 {
		s.mu.Unlock()
		return
	}
	s.code = code
	close(s.lost)
	inside := s.inside
	s.mu.Unlock()
	if inside {
		s.terminate(code)
	}
}
