package update_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/release"
)

// entry is a file offered by the server of a world.
type entry struct {
	path string
	data []byte
	role release.Role
}

// world is a server and an install in memory. It records all calls. A nil function does nothing. Fields are set before Run
// and read after it. The Updater promises to use the ports from one goroutine at a time; the world checks that.
type world struct {
	t     testing.TB
	start time.Time

	// the server
	files   []entry
	portion int                                                // bytes of one delivery
	pace    time.Duration                                      // before each delivery
	judge   func(connect int) (compat.Judgement, error)        // of this connect, 1 for the first
	cut     func(fetch int, sent int64) error                  // called before each delivery: ends this Fetch, 1 for the first
	spoil   func(path string, fetch int) bool                  // whether this Fetch damages the file
	fetch   func(deliver func(i int, data []byte) error) error // replaces Fetch
	fetchTo func(to update.Delivery) error                     // the same, with the whole port
	closing error                                              // of Close

	// the install
	parts, live, staged map[string][]byte
	damaged             map[string][]update.Range                      // damaged ranges of live files; the rest need not be fetched
	hold                func(ctx context.Context, method string) error // called at the start of each method but Close and Abandon
	abandoning          error                                          // of Abandon
	letting             time.Duration                                  // duration of Abandon

	// records
	connects  []time.Duration // when each Connect was called
	asked     [][]update.Want
	sent      int64
	commits   int
	closes    int
	abandons  int
	connected bool
	plan      *update.Plan // the one with open parts

	source, destination atomic.Int32 // methods running
}

func newWorld(t testing.TB, files ...entry) *world {
	return &world{
		t: t, start: time.Now(), files: files, portion: 10,
		parts: map[string][]byte{}, live: map[string][]byte{}, staged: map[string][]byte{},
	}
}

// pack makes a resource whose bytes depend on their position.
func pack(path string, size int) entry {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i*7 + len(path))
	}
	return entry{path: path, data: data}
}

func module(path string, size int) entry {
	e := pack(path, size)
	e.role = release.Binary
	return e
}

func (w *world) ports() (update.Source, update.Destination) { return fakeSource{w}, fakeDestination{w} }

// config is a Config without jitter.
func (w *world) config() update.Config {
	source, destination := w.ports()
	return update.Config{
		Source: source, Destination: destination, CanSelfUpdate: true, Server: "game.example:4000",
		Random: func() float64 { return 0 },
	}
}

// updater makes the Updater of this world; change may be nil.
func (w *world) updater(change func(*update.Config)) *update.Updater {
	w.t.Helper()
	cfg := w.config()
	if change != nil {
		change(&cfg)
	}
	u, err := update.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

// run runs a whole update and checks what holds after every update.
func (w *world) run(ctx context.Context) update.Status {
	w.t.Helper()
	status := w.updater(nil).Run(ctx)
	w.letGo(status)
	return status
}

func (w *world) letGo(status update.Status) {
	w.t.Helper()
	if status.Phase != update.Done || w.connected || w.plan != nil || w.closes == 0 || w.abandons == 0 {
		w.t.Errorf("phase %s, connected %t, parts open %t, closed %d times, abandoned %d times",
			status.Phase, w.connected, w.plan != nil, w.closes, w.abandons)
	}
	if w.source.Load() != 0 || w.destination.Load() != 0 {
		w.t.Error("a port is still at work")
	}
	if (status.Fault != nil) != (status.Outcome == update.Failed) {
		w.t.Errorf("%s with fault %v", status.Outcome, status.Fault)
	}
}

// enter records that a method runs; only one may run at a time.
func (w *world) enter(ctx context.Context, running *atomic.Int32, method string) (leave func(), err error) {
	if running.Add(1) != 1 {
		w.t.Errorf("%s runs beside another method", method)
	}
	if w.hold != nil {
		err = w.hold(ctx, method)
	}
	return func() { running.Add(-1) }, err
}

type fakeSource struct{ w *world }

func (s fakeSource) Connect(ctx context.Context) (compat.Judgement, error) {
	w := s.w
	leave, err := w.enter(ctx, &w.source, "Connect")
	defer leave()
	w.connects = append(w.connects, time.Since(w.start))
	if err != nil {
		return compat.Judgement{}, err
	}
	judgement := compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleAccept, Compatibility: "c2"}
	if w.judge != nil {
		judgement, err = w.judge(len(w.connects))
	}
	w.connected = err == nil
	return judgement, err
}

func (s fakeSource) List(ctx context.Context) ([]release.File, error) {
	w := s.w
	leave, err := w.enter(ctx, &w.source, "List")
	defer leave()
	if !w.connected {
		w.t.Error("List without a connection")
	}
	var files []release.File
	for i, e := range w.files {
		files = append(files, release.File{Path: e.path, Size: int64(len(e.data)), Digest: digest(e.data), Role: e.role, Index: uint32(i)})
	}
	return files, err
}

func digest(data []byte) release.Digest {
	d, _ := release.SHA256.DigestOf(bytes.NewReader(data))
	return d
}

func (s fakeSource) Fetch(ctx context.Context, wants []update.Want, to update.Delivery) error {
	w, deliver := s.w, to.Deliver
	leave, err := w.enter(ctx, &w.source, "Fetch")
	defer leave()
	if !w.connected {
		w.t.Error("Fetch without a connection")
	}
	w.asked = append(w.asked, wants)
	if w.fetch != nil && err == nil {
		return w.fetch(deliver)
	}
	if w.fetchTo != nil && err == nil {
		return w.fetchTo(to)
	}
	sent := int64(0)
	for i, want := range wants {
		if err != nil {
			return err
		}
		err = w.send(ctx, i, want, &sent, deliver)
	}
	return err
}

// send delivers one want in portions. It overwrites the buffer afterwards, so that a retained buffer shows.
func (w *world) send(ctx context.Context, i int, want update.Want, sent *int64, deliver func(i int, data []byte) error) error {
	data := bytes.Clone(w.files[want.File.Index].data)
	if w.spoil != nil && w.spoil(want.File.Path, len(w.asked)) {
		data[len(data)-1] ^= 1
	}
	for at := want.Offset(); ; {
		if w.pace > 0 {
			time.Sleep(w.pace)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		if w.cut != nil {
			if err := w.cut(len(w.asked), *sent); err != nil {
				return err
			}
		}
		end := int64(len(data))
		if len(want.Missing) > 0 {
			end = want.Missing[0].End
		}
		portion := data[at:min(at+int64(w.portion), end)]
		if err := deliver(i, portion); err != nil {
			return err
		}
		at, *sent, w.sent = at+int64(len(portion)), *sent+int64(len(portion)), w.sent+int64(len(portion))
		clear(portion)
		if at == end && len(want.Missing) < 2 {
			return nil
		}
		if at == end {
			want.Missing = want.Missing[1:]
			at = want.Offset()
		}
	}
}

func (s fakeSource) Close() error {
	s.w.closes++
	s.w.connected = false
	return s.w.closing
}

type fakeDestination struct{ w *world }

func (s fakeDestination) Plan(ctx context.Context, mode update.Mode, offer []release.File, progress func(string, int64, int64)) (update.Plan, error) {
	w := s.w
	leave, err := w.enter(ctx, &w.destination, "Plan")
	defer leave()
	if w.plan != nil {
		w.t.Error("Plan while the parts of another are open")
	}
	plan := update.Plan{Mode: mode}
	for _, f := range offer {
		if (f.Role == release.Binary) != (mode == update.Binaries) {
			continue
		}
		plan.Matched++
		if held, there := w.live[f.Path]; there {
			hash(f.Path, int64(len(held)), progress)
			if digest(held) == f.Digest {
				continue
			}
		}
		want := update.WantFrom(f, int64(len(w.parts[f.Path])))
		if bad, there := w.damaged[f.Path]; there {
			want.Missing = behind(bad, want.Offset())
			plan.Damage = &update.Damages{Files: []update.Damage{{File: f.Path, Size: f.Size, Ranges: bad}}}
		}
		plan.Wants = append(plan.Wants, want)
		plan.Bytes, plan.Resumed = plan.Bytes+f.Size, plan.Resumed+want.Have()
	}
	w.plan = &plan
	return plan, err
}

// behind is the part of the ranges after an offset.
func behind(ranges []update.Range, offset int64) (rest []update.Range) {
	for _, r := range ranges {
		if r.Start = max(r.Start, offset); r.Start < r.End {
			rest = append(rest, r)
		}
	}
	return rest
}

// hash reports progress like a Destination with two hashing goroutines.
func hash(path string, size int64, progress func(string, int64, int64)) {
	var hashing sync.WaitGroup
	for half := range int64(2) {
		hashing.Go(func() { progress(path, size*(half+1)/2, size) })
	}
	hashing.Wait()
}

// Advance copies intact bytes of the live file.
func (s fakeDestination) Advance(ctx context.Context, i int) error {
	w := s.w
	leave, err := w.enter(ctx, &w.destination, "Advance")
	defer leave()
	if err == nil {
		w.fill(w.plan.Wants[i])
	}
	return err
}

// fill copies intact bytes of a live file, up to the next missing byte.
func (w *world) fill(want update.Want) {
	held := int64(len(w.parts[want.File.Path]))
	next := want.File.Size
	if rest := behind(want.Missing, held); len(rest) > 0 {
		next = rest[0].Start
	}
	if held < next {
		w.parts[want.File.Path] = append(w.parts[want.File.Path], w.live[want.File.Path][held:next]...)
	}
}

func (s fakeDestination) Write(i int, data []byte) error {
	w := s.w
	leave, err := w.enter(context.Background(), &w.destination, "Write")
	defer leave()
	if err != nil {
		return err
	}
	path := w.plan.Wants[i].File.Path
	w.parts[path] = append(w.parts[path], data...)
	return nil
}

func (s fakeDestination) Restart(ctx context.Context, i int) error {
	w := s.w
	leave, err := w.enter(ctx, &w.destination, "Restart")
	defer leave()
	if err == nil {
		want := &w.plan.Wants[i]
		delete(w.parts, want.File.Path)
		*want = update.WantFrom(want.File, 0)
	}
	return err
}

func (s fakeDestination) Finish(ctx context.Context, i int) error {
	w := s.w
	leave, err := w.enter(ctx, &w.destination, "Finish")
	defer leave()
	if err != nil {
		return err
	}
	file := w.plan.Wants[i].File
	w.fill(w.plan.Wants[i])
	if digest(w.parts[file.Path]) != file.Digest {
		delete(w.parts, file.Path)
		return &update.Fault{Cause: update.DamagedDownload, Err: errors.New("another digest")}
	}
	return nil
}

func (s fakeDestination) Commit(ctx context.Context) error {
	w := s.w
	leave, err := w.enter(ctx, &w.destination, "Commit")
	defer leave()
	if err != nil {
		return err
	}
	w.commits++
	for _, want := range w.plan.Wants {
		path := want.File.Path
		into := w.live
		if w.plan.Mode == update.Binaries {
			into = w.staged
		}
		into[path] = w.parts[path]
		delete(w.parts, path)
	}
	return nil
}

func (s fakeDestination) Abandon() error {
	s.w.abandons++
	s.w.plan = nil
	time.Sleep(s.w.letting)
	return s.w.abandoning
}

// installed checks that every file of the role is in place and no part is left.
func (w *world) installed(into map[string][]byte, role release.Role) {
	w.t.Helper()
	for _, e := range w.files {
		if e.role == role && (into[e.path] == nil && len(e.data) > 0 || !bytes.Equal(into[e.path], e.data)) {
			w.t.Errorf("%s holds %d bytes, not the %d on offer", e.path, len(into[e.path]), len(e.data))
		}
	}
	if len(w.parts) != 0 {
		w.t.Errorf("%d parts are left", len(w.parts))
	}
}

// asks formats the missing ranges of one Fetch as "A.zip@0 B.zip@10", with the ends of ranges that end before the file.
func asks(wants []update.Want) string {
	var words []string
	for _, want := range wants {
		word := fmt.Sprintf("%s@%d", want.File.Path, want.Offset())
		for n, r := range want.Missing {
			if n > 0 {
				word += fmt.Sprintf(",%d", r.Start)
			}
			if r.End < want.File.Size {
				word += fmt.Sprintf("-%d", r.End)
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// lost is a broken connection.
func lost() error {
	return &update.Fault{Cause: update.Interrupted, Transient: true, Subject: "game.example:4000", Err: errors.New("reset by peer")}
}
