package device

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/launcher/wire"
)

// TestQueueBlocksWhenFull: the transport is not read on while too much waits, and one request always has room.
func TestQueueBlocksWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newDiskQueue(1000)
		ctx := t.Context()
		if err := q.put(ctx, diskJob{size: 5000}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- q.put(ctx, diskJob{message: &wire.KeepAlive{}, size: 1}) }()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("a full queue takes more")
		default:
		}
		if j, any, err := q.next(ctx, time.Second); j.size != 5000+perRequest || !any || err != nil {
			t.Errorf("took %+v, %v, %v", j, any, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if j, any, _ := q.next(ctx, time.Second); j.message == nil || !any || !q.empty() {
			t.Errorf("took %+v", j)
		}
		begun := time.Now()
		if _, any, err := q.next(ctx, time.Second); any || err != nil || time.Since(begun) != time.Second {
			t.Errorf("an empty queue: %v, %v after %v", any, err, time.Since(begun))
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, _, err := q.next(gone, time.Hour); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := errors.Join(q.put(ctx, diskJob{size: 5000}), q.put(gone, diskJob{})); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestHeldAnswersAreBounded(t *testing.T) {
	h := newHolder()
	if !h.add(make([]byte, maxHeld-5)) || h.add(make([]byte, 6)) || !h.add(make([]byte, 5)) {
		t.Error("the cap does not hold")
	}
}

func TestKeptNames(t *testing.T) {
	for _, size := range []uint64{0, 1, 1 << 40, 1<<64 - 1} {
		hash := wire.HashOf([]byte{byte(size)})
		name := strings.TrimPrefix(keptName(hash, size), partsFolder+"/")
		if h, s, ok := parseKept(name); !ok || h != hash || s != size {
			t.Errorf("%q is %v of %d, %v", name, h, s, ok)
		}
	}
	for _, name := range []string{"", "w1", "-", "abc-def", strings.Repeat("0", 64), strings.Repeat("0", 64) + "-00", strings.Repeat("g", 64) + "-0000000000000000"} {
		if _, _, ok := parseKept(name); ok {
			t.Errorf("%q is taken for a part", name)
		}
	}
}

func TestLineBudget(t *testing.T) {
	var b lineBudget
	now := time.Unix(1000, 0)
	if n, _ := b.grant(now, logBurst+5); n != logBurst {
		t.Errorf("%d at once", n)
	}
	if n, wait := b.grant(now, 1); n != 0 || wait != time.Second/logRate {
		t.Errorf("%d more, after %v", n, wait)
	}
	if n, _ := b.grant(now.Add(time.Second), 5000); n != logRate {
		t.Errorf("%d in the next second", n)
	}
	if n, _ := b.grant(now.Add(time.Hour), 5000); n != logBurst {
		t.Errorf("%d after an hour", n)
	}
}
