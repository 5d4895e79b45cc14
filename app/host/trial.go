package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/platform"
)

// This file has the trial of a newer version of this program. The old version, the sponsor, releases the install, starts the staged
// program file as a child with its own arguments, and supervises it. The disk is unchanged meanwhile, so a crash of the child or of
// the machine needs no rollback. The child is a complete client. After it has opened the install, loaded a module and completed an
// update, it makes itself live (install.Program.Prove) by exchanging two names. A child fails its trial if it crashes, hangs before it
// shows a window, or ends with an unknown exit code. The failure is recorded, and the old version continues the start.
//
// The sponsor runs until this session ends, because its parent process waits for its exit; the next start runs the new version. The
// child sends lines of JSON with one member each. They are exchanged between versions, so members are only added:
//
//	up      it shows itself; the time limit ends
//	proven  it is live
//	again   it asks for a relaunch with these arguments; the sponsor relaunches for both

// trialWord is one line.
type trialWord struct {
	Up     *struct{}  `json:"up,omitempty"`
	Proven *struct{}  `json:"proven,omitempty"`
	Again  *againWord `json:"again,omitempty"`
}

type againWord struct {
	Args []string `json:"args"`
}

const (
	// upWait is how long a trial may take to show itself: a virus scanner may read the whole program first.
	upWait = time.Minute
	// trialGrace is how long a trial may take to end on request, in addition to its game's time.
	trialGrace = 10 * time.Second
	// maxWord is the longest line in bytes. The longest command line of Windows has 32 KiB.
	maxWord = 256 << 10
)

// sponsored is the trial's end of the connection to its sponsor.
type sponsored struct {
	mu  sync.Mutex
	out io.Writer
}

// send sends w to the sponsor and ignores errors: the sponsor may have ended. On nil it does nothing.
func (s *sponsored) send(w trialWord) {
	if s == nil {
		return
	}
	line, err := json.Marshal(w)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(append(line, '\n'))
}

// joinTrial opens the connection to the sponsor. The returned context ends when the sponsor closes its end or has ended.
func joinTrial(ctx context.Context, control string) (*sponsored, context.Context, error) {
	in, out, err := platform.OpenControl(control)
	if err != nil {
		return nil, ctx, err
	}
	joined, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return &sponsored{out: out}, joined, nil
}

// reportUp reports to the sponsor that this trial shows itself.
func (r *renewal) reportUp() { r.sponsored.send(trialWord{Up: &struct{}{}}) }

// proveTrial makes this program live, if this is its trial. After an error the next start tries again.
func (r *renewal) proveTrial(ctx context.Context) {
	if r.sponsored == nil || r.program == nil || r.program.Waiting() == "" {
		return
	}
	if err := r.program.Prove(ctx); err != nil {
		r.log.Warn().Err(err).Msg("this version of the program works, and could not replace the one before")
		return
	}
	r.exe = r.opt.Trial
	r.log.Info().Str("file", r.exe).Msg("this version of the program has replaced the one before")
	r.dropOldSymbols()
	r.sponsored.send(trialWord{Proven: &struct{}{}})
}

// dropOldSymbols removes the debug symbols of the old program, which don't fit the new one.
func (r *renewal) dropOldSymbols() {
	if err := platform.RemoveIfThere(r.fs, r.base+".pdb"); err != nil {
		r.log.Debug().Err(err).Msg("old symbols not removed")
	}
}

// trialEnd is the course and end of a trial, as its sponsor saw it.
type trialEnd struct {
	up, proven bool
	again      *againWord // it asks for a relaunch
	late       bool       // it did not show itself in time and was killed
	asked      bool       // it was asked to end
	start      error      // why its process could not be started
	end        platform.ProcessEnd
}

// fault is why the trial failed; empty if it did not, which does not mean that it was proven.
func (e trialEnd) fault() string {
	switch {
	case e.start != nil:
		return e.start.Error()
	case e.late:
		return "it did not show itself within " + upWait.String()
	case e.proven, e.asked, e.again != nil:
		return ""
	case e.end.Signal == "" && e.end.Err == nil && slices.Contains(exitCodes(), e.end.Code):
		return ""
	}
	return e.end.String()
}

// code is the sponsor's exit code.
func (e trialEnd) code() int {
	if e.end.Signal != "" || e.end.Err != nil {
		return update.EndOf(update.Cancelled, update.NoCause).Exit
	}
	return e.end.Code
}

// exitCodes are the regular exit codes of a client.
func exitCodes() (codes []int) {
	for _, end := range update.Ends() {
		codes = append(codes, end.Exit)
	}
	return codes
}

// sponsor runs the trial of the staged program. again is set if this program has to be started anew; retry, if the trial failed and
// this program has to continue the start.
func (h *host) sponsor(ctx context.Context) (code int, again *Relaunch, retry bool) {
	waiting := h.renewal.due
	h.renewal.due = ""
	h.log.Info().Str("file", waiting).Msg("makes room for a newer version of this program")
	if err := h.releaseInstall(); err != nil {
		h.log.Warn().Err(err).Msg("let go of the install")
	}
	e := h.renewal.watchTrial(ctx, platform.Command{Exe: waiting, Args: trialArgs(h.opt, h.exe), Streams: true}, upWait)
	h.openLog()
	fault := e.fault()
	h.log.Info().Bool("up", e.up).Bool("proven", e.proven).Str("fault", fault).Str("end", e.end.String()).Msg("the trial has ended")
	switch {
	case fault != "":
		h.opt.KeepHost = true
		h.renewal.rememberTrial(ctx, fault)
		return 0, nil, true
	case e.again != nil:
		return 0, &Relaunch{exe: h.exe, args: e.again.Args}, false
	default:
		return e.code(), nil, false
	}
}

// releaseInstall releases everything that another process needs: child, connections, install and log.
func (h *host) releaseInstall() error {
	h.dropChild()
	err := errors.Join(h.closeWarmMirror(), h.closeInstall())
	if h.logs != nil {
		log.SetOutput(io.Discard) // it may be the log, for messages of the window library
		err = errors.Join(err, h.logs.Close())
		h.logs, h.log = nil, zerolog.Nop()
	}
	return err
}

// trialArgs are the arguments of a trial: those of this start, and the path that it will have.
func trialArgs(opt Options, live string) []string {
	return append([]string{"--trial=" + live}, relaunchArgs(opt.Command, relaunchState{count: opt.Relaunched + 1, module: opt.ClientLibPath})...)
}

// watchTrial runs a trial until it ends, and kills it if it does not show itself within wait.
func (r *renewal) watchTrial(ctx context.Context, c platform.Command, wait time.Duration) (e trialEnd) {
	p, err := startWritten(ctx, c)
	if err != nil {
		return trialEnd{start: err}
	}
	defer p.From.Close()
	words, over := make(chan trialWord), make(chan struct{})
	defer close(over)
	go readWords(p.From, words, over)
	late := time.NewTimer(wait)
	defer late.Stop()
	asked, grace := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case w, more := <-words:
			if e.record(w); !more {
				words = nil // the trial closed its end, and will exit
			}
		case <-late.C:
			if e.late = !e.up && !e.asked; e.late {
				p.Kill()
			}
		case <-asked:
			asked, e.asked, grace = nil, true, time.After(trialGrace+r.stopWithin())
			p.To.Close()
		case <-grace:
			p.Kill()
		case <-p.Done():
			if !e.asked {
				p.To.Close()
			}
			e.recordLast(words)
			e.end = p.End()
			return e
		}
	}
}

// record records one word of the trial.
func (e *trialEnd) record(w trialWord) {
	e.proven = e.proven || w.Proven != nil
	e.up = e.up || w.Up != nil || e.proven
	if w.Again != nil {
		e.again = w.Again
	}
}

// lastWords is how long the sponsor waits for unread lines of an ended trial. The wait is shorter unless another process has a copy of
// the trial's end of the connection.
const lastWords = 500 * time.Millisecond

func (e *trialEnd) recordLast(words <-chan trialWord) {
	late := time.After(lastWords)
	for words != nil {
		select {
		case w, more := <-words:
			if e.record(w); !more {
				return
			}
		case <-late:
			return
		}
	}
}

// readWords sends a trial's lines to words until they end or over is closed, and then closes words. Lines that can't be parsed are
// skipped: a later version may send more.
func readWords(from io.Reader, words chan<- trialWord, over <-chan struct{}) {
	defer close(words)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxWord)
	for lines.Scan() {
		var w trialWord
		if json.Unmarshal(lines.Bytes(), &w) != nil {
			continue
		}
		select {
		case words <- w:
		case <-over:
			return
		}
	}
}

// rememberTrial records in the program's install why a trial failed.
func (r *renewal) rememberTrial(ctx context.Context, fault string) {
	fsys, err := platform.OpenDir(r.folder)
	if err != nil {
		r.log.Warn().Err(err).Msg("the trial is not remembered")
		return
	}
	defer fsys.Close()
	d, err := install.OpenProgram(ctx, install.Config{
		FS: install.ProgramView(fsys), Names: r.programNames(), Log: r.log,
	})
	if err == nil {
		err = errors.Join(d.TrialFailed(fault, false), d.Close())
	}
	if err != nil {
		r.log.Warn().Err(err).Msg("the trial is not remembered")
	}
}
