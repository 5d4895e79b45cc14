package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/platform"
)

// This file is about the trial of a newer version of this program. The old one, its sponsor, starts the waiting file as a child,
// in its own place and with its own arguments, lets go of the install, and only watches: so nothing has changed on the disk, and
// there is nothing to take back, whatever becomes of the child or of the machine. The child is the whole client. Once it has found
// the install, loaded a module and ended an update with everything in its place, it makes itself live (install.Dir.Prove), which
// is two names changing places. One that crashes, hangs before it shows anything, or ends in a way that no client does is
// remembered, and the old program starts once more.
//
// The sponsor stays for this one session, because whoever started it waits for its end; the next start is that of the new
// program. What the child says are lines of JSON, one member each. They cross versions, so that they are only ever added:
//
//	up      it shows itself: nothing is waited for from here on
//	proven  it is live
//	again   it wants to be started anew in place, with these arguments: its sponsor does it for both

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
	// upWait is how long a trial may take until it shows itself: a virus scanner may read the whole program first.
	upWait = time.Minute
	// trialGrace is how long a trial may take to end when it is asked to, beside the time that its game has.
	trialGrace = 10 * time.Second
	// maxWord is the longest line in bytes; the longest command line of Windows is 32 KiB.
	maxWord = 256 << 10
)

// sponsored is the end of the wire in a trial.
type sponsored struct {
	mu  sync.Mutex
	out io.Writer
}

// say tells the sponsor. One that is gone has nothing to be told; nil has no sponsor.
func (s *sponsored) say(w trialWord) {
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

// joinTrial opens the wire to the sponsor. The context ends when the sponsor asks for it, or is gone.
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

// shownTrial says that this trial shows itself.
func (r *renewal) shownTrial() { r.sponsored.say(trialWord{Up: &struct{}{}}) }

// proveTrial makes this program live, if this is its trial. What goes wrong is for the next start.
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
	r.sponsored.say(trialWord{Proven: &struct{}{}})
}

// dropOldSymbols removes the symbols of the program before: they come again with the next module, and would be no use.
func (r *renewal) dropOldSymbols() {
	if err := r.fs.Remove(r.base + ".pdb"); err != nil && !errors.Is(err, os.ErrNotExist) {
		r.log.Debug().Err(err).Msg("old symbols not removed")
	}
}

// trialEnd is what a sponsor saw.
type trialEnd struct {
	up, proven bool
	again      *againWord // it wants to be started anew
	late       bool       // it never came up and was ended
	asked      bool       // somebody asked it to end
	start      error      // there never was a process
	end        platform.ProcessEnd
}

// fault says what was wrong with the trial; empty: nothing, which does not mean that it proved itself.
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

// code is how the sponsor ends.
func (e trialEnd) code() int {
	if e.end.Signal != "" || e.end.Err != nil {
		return update.EndOf(update.Cancelled, update.NoCause).Exit
	}
	return e.end.Code
}

// exitCodes are those with which a client ends on purpose.
func exitCodes() (codes []int) {
	for _, end := range update.Ends() {
		codes = append(codes, end.Exit)
	}
	return codes
}

// sponsor gives the waiting program its trial. again is set where this program has to be started anew, and retry where it has to
// go on with the start that it gave away.
func (h *host) sponsor(ctx context.Context) (code int, again *Relaunch, retry bool) {
	waiting := h.renewal.due
	h.renewal.due = ""
	h.log.Info().Str("file", waiting).Msg("makes room for a newer version of this program")
	if err := h.letGo(); err != nil {
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

// letGo gives back all that another process needs.
func (h *host) letGo() error {
	h.dropChild()
	err := errors.Join(h.coolDown(), h.closeInstall())
	if h.logs != nil {
		log.SetOutput(io.Discard) // it may be where the window's complaints go
		err = errors.Join(err, h.logs.Close())
		h.logs, h.log = nil, zerolog.Nop()
	}
	return err
}

// trialArgs are the arguments of a trial: those of this start, and where its place is.
func trialArgs(opt Options, live string) []string {
	return append([]string{"--trial=" + live}, relaunchArgs(opt.Command, anew{count: opt.Relaunched + 1, module: opt.ClientLibPath})...)
}

// watchTrial runs a trial to its end, which it has if it does not show itself within wait.
func (r *renewal) watchTrial(ctx context.Context, c platform.Command, wait time.Duration) (e trialEnd) {
	p, err := startUnwritten(ctx, c)
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
			if e.hear(w); !more {
				words = nil // it closed its end, and will end itself
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
			e.hearLast(words)
			e.end = p.End()
			return e
		}
	}
}

// hear takes a word.
func (e *trialEnd) hear(w trialWord) {
	e.proven = e.proven || w.Proven != nil
	e.up = e.up || w.Up != nil || e.proven
	if w.Again != nil {
		e.again = w.Again
	}
}

// lastWords is how long is waited for what an ended trial had said. Only something that holds a copy of the wire makes it last
// that long.
const lastWords = 500 * time.Millisecond

func (e *trialEnd) hearLast(words <-chan trialWord) {
	late := time.After(lastWords)
	for words != nil {
		select {
		case w, more := <-words:
			if e.hear(w); !more {
				return
			}
		case <-late:
			return
		}
	}
}

// readWords reads what a trial says, until it says nothing more or it is over. Lines that make no sense are passed over: the trial
// may be of a version that says more. words is closed in the end.
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

// rememberTrial notes what was wrong with a trial.
func (r *renewal) rememberTrial(ctx context.Context, fault string) {
	fsys, err := platform.OpenDir(r.folder)
	if err != nil {
		r.log.Warn().Err(err).Msg("the trial is not remembered")
		return
	}
	defer fsys.Close()
	d, err := install.Open(ctx, install.Config{
		FS: install.ProgramView(fsys), Names: r.programNames(), Log: r.log,
	})
	if err == nil {
		err = errors.Join(d.TrialFailed(fault, false), d.Close())
	}
	if err != nil {
		r.log.Warn().Err(err).Msg("the trial is not remembered")
	}
}
