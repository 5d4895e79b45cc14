package desk

import (
	"errors"
	"maps"
	"time"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// maxTries bounds the attempts of one push to one device, where each attempt progressed. A device on which so many files
// fail one after another has a fault that further attempts do not fix.
const maxTries = 20

type (
	// scanEffect requests a scan of the working copy; scanEvent follows. A shared scan that began after the given time is enough.
	scanEffect struct {
		run   int
		after time.Time
	}
	// scanEvent is the result.
	scanEvent struct {
		run int
		scanned
		err error
	}
)

// doubtEffect saves the doubts about devices on disk before any later effect is sent.
type doubtEffect struct{}

// scanned is the working copy at one moment.
type scanned struct {
	layout   *wire.Layout
	problems []tree.PathProblem
}

// pushTask is one push to one device. It outlives connections: failures and attempts are kept when the device reconnects, and
// Desk.resumePush continues it there.
type pushTask struct {
	options PushOptions
	began   time.Time
	attempt int
	stuck   int                // attempts in a row without progress
	strikes map[string]int     // failures of each path
	blocked map[string]bool    // see planInput
	without map[string]failure // paths that were given up
	result  DeviceResult
	ours    *scanned // the latest
	scanErr error    // why the working copy could not be read
}

func newPushTask(o PushOptions, began time.Time) *pushTask {
	return &pushTask{options: o, began: began, strikes: make(map[string]int), blocked: make(map[string]bool),
		without: make(map[string]failure)}
}

// doing is a state machine that executes a plan.
type doing interface {
	handleAnswer(wire.Message) (out []effect, heard bool)
	hashed(hashEvent) []effect
	unreadable(readEvent) []effect
	waits() (awaited, bool)
	done() bool
	progress(*PushProgress)
	outcome() (tally, []failure)
}

// pusher leads one task over one connection through its attempts. It is pure.
//
//	begin → ours and theirs awaited → planned → doing → ended
//	  ↑_____________________a failure____________│
type pusher struct {
	id     string
	own    bool
	draft  bool
	times  Times
	keep   func(path string) bool
	known  *layouts // of our own mode
	doubts *doubts  // of released devices
	task   *pushTask
	run    int
	heard  time.Time // when the last answer came, or the question was sent
	asked  bool      // the tree of the device was requested
	ours   *scanned
	theirs *theirTree
	doing  doing
	plan   plan
	ended  bool
	err    error
}

// begin starts an attempt.
func (p *pusher) begin(now time.Time) []effect {
	p.run++
	p.task.attempt++
	p.heard, p.ours, p.doing, p.asked = now, nil, nil, false
	p.theirs = &theirTree{}
	out := []effect{scanEffect{run: p.run, after: p.after(now)}}
	if !p.own || p.known.last(p.id) != (wire.Hash{}) {
		out = append(out, p.requestTree(now))
	}
	return out
}

// after is the earliest begin of a scan that this attempt accepts: the first attempts of all devices share one.
func (p *pusher) after(now time.Time) time.Time {
	if p.task.attempt == 1 {
		return p.task.began
	}
	return now
}

// requestTree requests the tree of the device.
func (p *pusher) requestTree(now time.Time) effect {
	p.asked, p.heard = true, now
	if p.own {
		return sendEffect{message: &wire.RequestTree{Known: p.known.digests(p.id)}}
	}
	return sendEffect{message: &wire.RequestFileLayout{}}
}

// scanned handles the result of scanEffect.
func (p *pusher) scanned(e scanEvent, now time.Time) []effect {
	if e.run != p.run || p.ended {
		return nil
	}
	p.task.scanErr = e.err
	if e.err != nil {
		return p.end(e.err)
	}
	p.ours, p.task.ours = &e.scanned, &e.scanned
	if p.own {
		p.known.add(e.layout)
	}
	if !p.asked {
		return []effect{p.requestTree(now)}
	}
	return p.start(now)
}

// handleMessage handles one message of the device.
func (p *pusher) handleMessage(m wire.Message, now time.Time) []effect {
	switch {
	case p.ended:
		return nil
	case p.doing != nil:
		out, heard := p.doing.handleAnswer(m)
		if heard {
			p.heard = now
		}
		return append(out, p.check(now)...)
	case p.asked && p.theirs.layout == nil:
		return p.handleTree(m, now)
	}
	return nil
}

// handleTree collects the tree of the device.
func (p *pusher) handleTree(m wire.Message, now time.Time) []effect {
	heard, err := p.theirs.handleMessage(m, p.known)
	if err != nil {
		if errors.Is(err, errUnknownBase) {
			p.known.forget(p.id)
			p.theirs = &theirTree{}
			return p.retry(now, failure{op: "layout", text: err.Error()})
		}
		return p.end(&DeviceError{Device: p.id, Op: "layout", Reason: err.Error()})
	}
	if heard {
		p.heard = now
	}
	return p.start(now)
}

// broken handles a malformed message of the device. If it was the awaited tree, the attempt fails.
func (p *pusher) broken(err error) []effect {
	var format *wire.FormatError
	if p.ended || p.doing != nil || !p.asked || p.theirs.layout != nil || !errors.As(err, &format) {
		return nil
	}
	if format.Code != wire.CodeResponseFileLayout && format.Code != wire.CodeResponseTree {
		return nil
	}
	return p.end(&DeviceError{Device: p.id, Op: "layout", Reason: err.Error()})
}

// start plans once both trees are known.
func (p *pusher) start(now time.Time) []effect {
	if p.ours == nil || p.theirs.layout == nil {
		return nil
	}
	p.heard = now
	in := planInput{ours: p.ours.layout.Files(), theirs: p.theirs.layout.Files(), own: p.own, keep: p.keptOnDevice(),
		doubtful: p.doubts.of(), blocked: p.task.blocked, without: given(p.task.without)}
	p.plan = makePlan(in)
	var out []effect
	if p.own {
		out = p.startOwn(in)
	} else {
		p.doing, out = newSyncer(p.run, p.draft, p.plan, p.times)
		if len(p.plan.writes) > 0 {
			p.doubts.begin(p.plan.writes)
			out = append([]effect{doubtEffect{}}, out...)
		}
	}
	return append(out, p.check(now)...)
}

// keptOnDevice returns which files stay on the device although the working copy lacks them: ignored files, and files that exist here but are unreadable.
func (p *pusher) keptOnDevice() func(path string) bool {
	problems := make(map[string]bool, len(p.ours.problems))
	for _, problem := range p.ours.problems {
		problems[problem.Path] = true
	}
	return func(path string) bool {
		return problems[path] || anyAbove(path, problems) || !p.task.options.DeleteIgnored && p.keep(path)
	}
}

// startOwn announces the plan to the device, and begins.
func (p *pusher) startOwn(in planInput) []effect {
	own := ownPlan{plan: p.plan, parts: maps.Clone(p.theirs.parts), bases: findBases(in, p.plan)}
	for _, w := range p.plan.writes {
		if in.blocked[w.file.Path] { // the present file may be the fault
			delete(own.parts, w.file.Hash)
		}
	}
	b, out := newBulker(p.run, own, p.times)
	p.doing = b
	if b.done() {
		return nil
	}
	p.known.forget(p.id) // known again at the end of the attempt
	return append([]effect{sendEffect{message: b.announce(len(p.plan.deletes))}}, out...)
}

// hashed and unreadable pass the results of effects to the state machine.
func (p *pusher) hashed(e hashEvent, now time.Time) []effect {
	if p.doing == nil || p.ended {
		return nil
	}
	p.heard = now
	return append(p.doing.hashed(e), p.check(now)...)
}

func (p *pusher) unreadable(e readEvent, now time.Time) []effect {
	if p.doing == nil || p.ended {
		return nil
	}
	return append(p.doing.unreadable(e), p.check(now)...)
}

// check ends the attempt when its work is done.
func (p *pusher) check(now time.Time) []effect {
	if p.doing == nil || !p.doing.done() {
		return nil
	}
	failures := p.settle()
	if len(failures) == 0 {
		p.remember()
	}
	var out []effect
	if !p.own && len(p.plan.writes)+len(p.plan.swept) > 0 {
		out = append(out, doubtEffect{})
	}
	if p.own && len(p.plan.deletes)+len(p.plan.writes) > 0 {
		out = append(out, sendEffect{message: &wire.PushPlan{}})
	}
	if len(failures) > 0 {
		return append(out, p.retry(now, failures...)...)
	}
	return append(out, p.end(p.verdict())...)
}

// end stops the state machine and discards its queued effects.
func (p *pusher) end(err error) []effect {
	p.ended, p.err = true, err
	p.run++
	return nil
}

// abandon handles the end of the connection: files in progress are in doubt.
func (p *pusher) abandon() {
	if !p.ended {
		p.settle()
	}
}

// waits is the awaited answer.
func (p *pusher) waits() (awaited, bool) {
	switch {
	case p.ended:
		return awaited{}, false
	case p.doing != nil:
		return p.doing.waits()
	case p.asked && p.theirs.layout == nil:
		return awaited{what: "file layout", limit: p.times.Layout}, true
	}
	return awaited{}, false
}

// tick ends an attempt whose answer is overdue.
func (p *pusher) tick(now time.Time) []effect {
	a, any := p.waits()
	if !any || now.Sub(p.heard) < a.limit {
		return nil
	}
	wait := &WaitError{Device: p.id, For: a.what, Path: a.path, After: a.limit}
	failures := p.settle()
	if _, is := p.doing.(*syncer); is && len(failures) > 0 { // what failed will not be answered
		return p.retry(now, failures...)
	}
	if p.doing == nil || p.task.stuck >= 1 {
		return p.end(wait)
	}
	return p.retry(now, failure{op: "wait", text: wait.Error()})
}

// wake is when tick has to be called, zero for never.
func (p *pusher) wake() time.Time {
	if a, any := p.waits(); any {
		return p.heard.Add(a.limit)
	}
	return time.Time{}
}
