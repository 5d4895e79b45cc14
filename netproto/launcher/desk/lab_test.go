package desk

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"collet/netproto/launcher/wire"
)

// device is the other end of a lab.
type device interface {
	take(m wire.Message, size int)
	deliver() wire.Message
	waiting() int
}

func (m *modelDevice) waiting() int { return len(m.answers) }

// lab runs one session against one model device on one goroutine: effects are executed at once, in order, and answers
// arrive when the test delivers them.
type lab struct {
	t       testing.TB
	root    string
	desk    *Desk
	session *session
	sender  *sender
	device  device
	now     time.Time
	box     *outbox
	oldest  int
	lines   []LogLine
	results map[int]error
	closed  error
	sent    int    // messages
	changed func() // is called before each block is read; nil for nothing
	posted  []any
	links   int
}

// labWire hands what the sender encodes to the model.
type labWire struct{ lab *lab }

func (w labWire) Send(_ context.Context, payload []byte) error {
	m, err := wire.Decode(w.lab.session.dialect, wire.FromDesk, bytes.Clone(payload))
	if err != nil {
		w.lab.t.Fatalf("the desk sent what can't be read: %v", err)
	}
	w.lab.sent++
	w.lab.device.take(m, len(payload))
	return nil
}
func (w labWire) Receive(context.Context) ([]byte, func(), error) { panic("the lab delivers") }
func (w labWire) Link(func(uint8)) error                          { w.lab.links++; return nil }
func (w labWire) Close() error                                    { return nil }
func (w labWire) Abort()                                          {}
func (w labWire) Address() netip.AddrPort                         { return netip.MustParseAddrPort("192.0.2.7:5000") }
func (w labWire) Own() bool                                       { return false }

// newLab makes a desk of a folder with files.
func newLab(t testing.TB, o Options, files map[string][]byte) *lab {
	t.Helper()
	l := &lab{t: t, root: o.Root, now: time.Unix(1_700_000_000, 0)}
	if l.root == "" {
		l.root = t.TempDir()
	}
	o.Root = l.root
	writeFiles(t, l.root, files)
	desk, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	l.desk = desk
	return l
}

func writeFiles(t testing.TB, root string, files map[string][]byte) {
	t.Helper()
	for path, data := range files {
		name := filepath.Join(root, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// connect greets as device d.
func (l *lab) connect(d device, own bool) {
	l.device, l.results, l.box, l.oldest = d, map[int]error{}, newOutbox(), 0
	l.session = newSession(l.desk.settings, own, l.now)
	l.session.info.Address = labWire{}.Address()
	l.sender = &sender{conn: labWire{l}, dialect: l.desk.options.Dialect, tree: l.desk.tree,
		post: func(_ context.Context, e any) { l.posted = append(l.posted, e) }, run: new(atomic.Int64)}
	features := wire.Features(0)
	if own {
		features = wire.FeatureCollet
	}
	l.step(messageEvent{&wire.ConnectRequest{SupportedFeatures: features, Name: "Lab"}})
	l.settle()
}

func (l *lab) step(e any) { l.perform(l.session.step(l.now, e)) }

func (l *lab) perform(effects []effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case dropEffect:
			l.oldest = e.run
			l.box.drop(e.run)
		case doubtEffect:
			l.desk.saveDoubts()
		case admitEffect:
			l.posted = append(l.posted, admittedEvent{decision: Admit, id: "Lab@192.0.2.7", doubts: l.doubts()})
		case logEffect:
			l.lines = append(l.lines, e.line)
		case doneEffect:
			l.results[e.ticket] = e.err
		case closeEffect:
			l.closed = e.err
		default:
			l.box.add(e)
		}
	}
}

// doubts are those of the device over its connections.
func (l *lab) doubts() *doubts {
	g := l.desk.registry
	if g.doubts["Lab"] == nil {
		g.doubts["Lab"] = new(doubts)
	}
	return g.doubts["Lab"]
}

// work does the oldest effect or event, and reports whether there was one.
func (l *lab) work() bool {
	if len(l.posted) > 0 {
		e := l.posted[0]
		l.posted = l.posted[1:]
		l.step(e)
		return true
	}
	items := l.box.removeAll()
	if len(items) == 0 {
		return false
	}
	l.box.items = items[1:]
	ctx := context.Background()
	switch e := items[0].(type) {
	case scanEffect:
		s, err := l.desk.scan(ctx)
		l.step(scanEvent{run: e.run, scanned: s, err: err})
	case hashEffect:
		hashes, err := l.desk.tree.Blocks(ctx, e.file.Path, e.block)
		l.step(hashEvent{run: e.run, path: e.file.Path, hashes: hashes, err: err})
	case blockEffect, batchEffect:
		if l.changed != nil {
			l.changed()
		}
		l.must(l.sender.execute(ctx, e))
	default:
		l.must(l.sender.execute(ctx, e))
	}
	return true
}

func (l *lab) must(err error) {
	if err != nil {
		l.t.Fatal(err)
	}
}

// deliver lets one answer arrive, and reports whether there was one.
func (l *lab) deliver() bool {
	if l.device.waiting() == 0 {
		return false
	}
	l.step(messageEvent{l.device.deliver()})
	return true
}

// settle works until nothing is left to do.
func (l *lab) settle() {
	for l.work() || l.deliver() {
	}
}

// push runs a push to its end.
func (l *lab) push(o PushOptions) (*pushTask, error) {
	l.t.Helper()
	task := newPushTask(o, l.now)
	err := l.resume(task)
	return task, err
}

func (l *lab) resume(task *pushTask) error {
	l.t.Helper()
	l.step(pushCommand{ticket: 1, task: task})
	for tries := 0; tries < 50; tries++ {
		l.settle()
		if err, done := l.results[1]; done {
			delete(l.results, 1)
			return err
		}
		l.now = l.session.wake()
		l.step(tickEvent{})
	}
	l.t.Fatalf("the push does not end: %+v", l.session.info.Push)
	return nil
}

// sameFiles compares two trees.
func sameFiles(t testing.TB, got, want map[string][]byte) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if data, there := got[path]; !there {
			t.Errorf("%q is missing", path)
		} else if !bytes.Equal(data, want[path]) {
			t.Errorf("%q differs: %d bytes, want %d", path, len(data), len(want[path]))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if _, there := want[path]; !there {
			t.Errorf("%q is too much", path)
		}
	}
}
