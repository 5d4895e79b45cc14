package desk

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/launcher/tree"
	"collet/netproto/launcher/wire"
)

// TestScansAreShared: callers share a running scan that began late enough; others get their own. A caller's end does not end the scan of
// others.
func TestScansAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s scans
		made := 0
		slow := func(ctx context.Context) (scanned, error) {
			made++
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return scanned{}, ctx.Err()
			}
			return scanned{problems: make([]tree.PathProblem, made)}, nil
		}
		begin := time.Now()
		ask := func(ctx context.Context, after time.Time, want int) func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if got, err := s.after(ctx, after, slow); err != nil || len(got.problems) != want {
					t.Errorf("scan %d, want %d, %v", len(got.problems), want, err)
				}
			}()
			return func() { <-done }
		}
		first := ask(t.Context(), begin, 1)
		synctest.Wait()
		second := ask(t.Context(), begin, 1)
		first()
		second()
		ask(t.Context(), begin, 1)() // the last one will do
		ask(t.Context(), time.Now().Add(time.Nanosecond), 2)()

		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		now := time.Now().Add(time.Nanosecond)
		time.Sleep(time.Nanosecond)
		go func() {
			if _, err := s.after(short, now, slow); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}()
		synctest.Wait()
		ask(t.Context(), now, 4)()
	})
}

// TestOutboxDropsOldRuns and keeps order and what belongs to none.
func TestOutboxDropsOldRuns(t *testing.T) {
	box := newOutbox()
	keep := []effect{sendEffect{message: &wire.KeepAlive{}}, linkEffect{}, blockEffect{run: 3}, batchEffect{run: 4}, hashEffect{run: 3}}
	for _, e := range []effect{keep[0], blockEffect{run: 1}, keep[1], sendEffect{&wire.CloseFile{}, 2}, keep[2], batchEffect{run: 2}, keep[3], hashEffect{run: 2}, keep[4]} {
		box.add(e)
	}
	box.drop(3)
	<-box.ready
	if got := box.removeAll(); fmt.Sprint(got) != fmt.Sprint(keep) {
		t.Errorf("%v, want %v", got, keep)
	}
	if box.removeAll() != nil {
		t.Error("taken twice")
	}
}

// TestSlowReaderOfLogsLosesLines and is told how many; the tail is bounded.
func TestSlowReaderOfLogsLosesLines(t *testing.T) {
	var h logHub
	ctx, cancel := context.WithCancel(t.Context())
	slow := h.read(ctx, func(device string) bool { return device == "a" })
	for n := range logRoom + 7 {
		h.add(LogLine{Device: "a", Text: fmt.Sprint(n)})
		h.add(LogLine{Device: "b"})
	}
	for n := range logRoom {
		if line := <-slow; line.Text != fmt.Sprint(n) || line.Lost != 0 {
			t.Fatalf("%+v", line)
		}
	}
	h.add(LogLine{Device: "a", Text: "next"})
	if line := <-slow; line.Text != "next" || line.Lost != 7 {
		t.Errorf("%+v", line)
	}
	if tail := h.tail("a"); len(tail) != MaxLogTail || tail[MaxLogTail-1].Text != "next" {
		t.Errorf("%d lines", len(tail))
	}
	for range logRoom + 9 { // and nothing comes after them
		h.add(LogLine{Device: "a", Text: "x"})
	}
	h.add(LogLine{Device: "a", Lost: 100}) // which the device's rate cost
	cancel()
	lines, lost := 0, uint64(0)
	for line := range slow {
		if lost += line.Lost; line.Text != "" {
			lines++
		}
	}
	if lines != logRoom || lost != 9+100 {
		t.Errorf("%d lines, and %d are told as lost", lines, lost)
	}
	h.forget("a")
	if h.tail("a") != nil {
		t.Error("the tail of a forgotten device")
	}
}

// connected adds a device to a registry.
func (g *registry) connect(name string) (*runner, *deviceRecord) {
	r := &runner{ended: make(chan struct{}), pushing: make(chan struct{}, 1)}
	r.pushing <- struct{}{}
	record, _ := g.register(r, name, netip.MustParseAddr("::ffff:192.0.2.1"))
	g.update(record, DeviceInfo{ID: record.id, Name: name, Connected: true, Since: time.Now()}, true)
	return r, record
}

func (g *registry) disconnect(r *runner, record *deviceRecord) {
	close(r.ended)
	g.markDisconnected(record, time.Now())
}

// TestIDs: the lowest number that is free, by name and address; found by id and name.
func TestIDs(t *testing.T) {
	g := newRegistry()
	var records []*deviceRecord
	var runners []*runner
	for _, name := range []string{"a", "a", "a", "b"} {
		r, record := g.connect(name)
		runners, records = append(runners, r), append(records, record)
	}
	if records[0].id != "a@192.0.2.1" || records[2].id != "a@192.0.2.1#3" {
		t.Errorf("%q, %q", records[0].id, records[2].id)
	}
	g.disconnect(runners[1], records[1])
	if _, again := g.connect("a"); again != records[1] {
		t.Errorf("it came back as %q", again.id)
	}
	for _, c := range []struct {
		wanted []string
		want   string
	}{{nil, "[a@192.0.2.1 a@192.0.2.1#2 a@192.0.2.1#3 b@192.0.2.1]"}, {[]string{"b", "b@192.0.2.1"}, "[b@192.0.2.1]"}, {[]string{"a@192.0.2.1#2"}, "[a@192.0.2.1#2]"}} {
		if got, err := g.find(c.wanted); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%q: %v %v", c.wanted, got, err)
		}
	}
	if _, err := g.find([]string{"b", "nobody"}); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "nobody") {
		t.Error(err)
	}
}

// TestClaim: one push at a time, another number while the old connection lives, and a limit of the wait.
func TestClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRegistry()
		old, record := g.connect("a")
		g.await(record.id, 1)
		claim := func(limit time.Duration) (*runner, error) { return g.claim(t.Context(), record.id, limit) }
		if r, err := claim(time.Second); r != old || err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		group.Go(func() {
			if r, err := claim(time.Hour); r == old || err != nil {
				t.Errorf("%v", err)
			}
		})
		time.Sleep(time.Minute) // another push has it
		close(old.ended)
		came, _ := g.connect("a")
		group.Wait()
		came.pushing <- struct{}{}
		g.disconnect(came, g.records["a@192.0.2.1#2"])
		g.markDisconnected(record, time.Now())
		begin := time.Now()
		if _, err := claim(time.Second); !errors.Is(err, ErrDeviceGone) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.claim(ctx, record.id, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestRecordsAreForgotten: the oldest first, and never one that a push waits for.
func TestRecordsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRegistry()
		var forgotten []string
		for n := range keptRecords + 10 {
			r, record := g.connect(fmt.Sprint("d", n))
			if n == 0 {
				g.await(record.id, 1)
			}
			time.Sleep(time.Second)
			close(r.ended)
			forgotten = append(forgotten, g.markDisconnected(record, time.Now())...)
		}
		if len(g.records) != keptRecords || len(g.doubts) != keptRecords || len(forgotten) != 10 || forgotten[0] != "d1@192.0.2.1" {
			t.Errorf("%d records, forgotten %q", len(g.records), forgotten)
		}
		if devices := g.snapshot(); len(devices) != 1 || devices[0].Name != "d0" || devices[0].Connected {
			t.Errorf("%+v", devices)
		}
	})
}

// TestLayoutsAreBounded, and one question names at most as many as are allowed, the likeliest first.
func TestLayoutsAreBounded(t *testing.T) {
	l := newLayouts()
	for n := range 3 * wire.MaxDigests {
		l.set(fmt.Sprint("d", n), wire.NewLayout([]wire.File{{Path: fmt.Sprint(n)}}))
	}
	digests := l.digests(fmt.Sprint("d", 3*wire.MaxDigests-4))
	if len(digests) != wire.MaxDigests || digests[0] != l.last(fmt.Sprint("d", 3*wire.MaxDigests-4)) || len(slices.Compact(slices.Clone(digests))) != wire.MaxDigests {
		t.Errorf("%v", digests)
	}
	if l.last("d0") != (wire.Hash{}) || l.get(digests[0]) == nil {
		t.Error("an old one is known, or a new one not")
	}
	l.forget(fmt.Sprint("d", 3*wire.MaxDigests-1))
	if l.last(fmt.Sprint("d", 3*wire.MaxDigests-1)) != (wire.Hash{}) {
		t.Error("a forgotten one is known")
	}
}

// TestOptions that can't be right are the caller's fault.
func TestOptions(t *testing.T) {
	var fault *OptionError
	if _, err := New(Options{}); !errors.As(err, &fault) || fault.Option != "Root" {
		t.Error(err)
	}
	if _, err := New(Options{Root: t.TempDir() + "/none"}); err == nil {
		t.Error("a folder that is not there")
	}
	var line *tree.IgnoreError
	if _, err := New(Options{Root: t.TempDir(), Ignore: []string{"a["}}); !errors.As(err, &line) {
		t.Error(err)
	}
	d, err := New(Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	long := strings.Repeat("x", 70_000)
	for option, o := range map[string]StartOptions{"GameConfig": {GameConfig: long}, "Profile": {Profile: long[:256]}, "Arguments": {Arguments: long}} {
		if _, err := d.Start(t.Context(), o); !errors.As(err, &fault) || fault.Option != option {
			t.Errorf("%s: %v", option, err)
		}
		if _, err := d.Push(t.Context(), PushOptions{Start: &o}); !errors.As(err, &fault) {
			t.Errorf("%s: %v", option, err)
		}
	}
	if _, err := d.Push(t.Context(), PushOptions{}); !errors.Is(err, ErrNoDevice) {
		t.Error(err)
	}
}
