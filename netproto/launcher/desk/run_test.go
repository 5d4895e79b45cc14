package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/launcher/wire"
)

// TestStart: running, too late, refused, running already, restarted.
func TestStart(t *testing.T) {
	options := &StartOptions{GameConfig: "<degame/>", Profile: "Low", Arguments: "-x 1"}
	begin := func(own bool, o *StartOptions) (*lab, *modelDevice) {
		l, m := greeted(t, wire.Released, own)
		l.step(runCommand{ticket: 5, op: &runOp{start: o}})
		l.settle()
		return l, m
	}
	t.Run("runs", func(t *testing.T) {
		l, m := begin(false, options)
		if want := (wire.StartApplication{GameConfig: "<degame/>", ProfileName: "Low", Arguments: "-x 1"}); len(m.started) != 1 || m.started[0] != want {
			t.Fatalf("%+v", m.started)
		}
		if _, done := l.results[5]; done {
			t.Fatal("done before the device said so")
		}
		l.step(runEvent{wire.RunRunning})
		if err, done := l.results[5]; !done || err != nil || !l.session.info.Running || !l.session.info.RunningSince.Equal(l.now) {
			t.Errorf("%v %v", done, err)
		}
		l.step(runEvent{77})
		if l.session.info.Running || l.session.info.End.Exit != -1 || !l.session.info.EndedAt.Equal(l.now) {
			t.Errorf("an unknown state counts as %+v", l.session.info)
		}
	})
	t.Run("too late, with the log", func(t *testing.T) {
		l, _ := begin(false, options)
		for n := range MaxLogTail + 5 {
			l.step(messageEvent{&wire.Logs{Message: fmt.Sprint("line ", n)}})
		}
		for l.results[5] == nil {
			l.now = l.session.wake()
			l.step(tickEvent{})
		}
		var late *StartTimeoutError
		if err := l.results[5]; !errors.As(err, &late) || len(late.Lines) != MaxLogTail || late.Lines[0].Text != "line 5" || late.Device == "" {
			t.Fatalf("%v", l.results[5])
		}
		if !strings.Contains(late.Error(), "line 204") {
			t.Error(late)
		}
	})
	t.Run("runs already", func(t *testing.T) {
		l, m := greeted(t, wire.Released, false)
		l.step(runEvent{wire.RunRunning})
		l.step(runCommand{ticket: 5, op: &runOp{start: options}})
		if !errors.Is(l.results[5], ErrRunning) || len(m.started) != 0 {
			t.Errorf("%v", l.results[5])
		}
	})
	t.Run("restarts", func(t *testing.T) {
		l, m := greeted(t, wire.Released, false)
		l.step(runEvent{wire.RunRunning})
		again := *options
		again.Restart = true
		l.step(runCommand{ticket: 5, op: &runOp{start: &again}})
		l.settle()
		if !slices.Equal(m.stopped, []wire.StopMode{wire.StopAsk}) || len(m.started) != 0 {
			t.Fatalf("stopped %v, started %v", m.stopped, m.started)
		}
		l.step(runEvent{wire.RunStopped})
		l.settle()
		l.step(runEvent{wire.RunRunning})
		if err, done := l.results[5]; !done || err != nil || len(m.started) != 1 {
			t.Errorf("%v %v", done, err)
		}
	})
	t.Run("refused in our own mode", func(t *testing.T) {
		l, _ := begin(true, options)
		l.step(messageEvent{&wire.RunReport{Event: wire.RunRefused, Text: "no such profile"}})
		var fault *DeviceError
		if err := l.results[5]; !errors.As(err, &fault) || fault.Reason != "no such profile" {
			t.Errorf("%v", err)
		}
	})
	t.Run("the end of the run before comes late", func(t *testing.T) {
		l, _ := greeted(t, wire.Released, true)
		l.step(messageEvent{&wire.RunReport{Event: wire.RunStarted}})
		again := *options
		again.Restart = true
		l.step(runCommand{ticket: 5, op: &runOp{start: &again}})
		l.step(runEvent{wire.RunStopped})
		l.step(messageEvent{&wire.RunReport{Event: wire.RunEnded, Exit: 3, Text: "exited with code 3"}})
		if _, done := l.results[5]; done || l.session.info.End != (wire.RunEnd{Exit: 3, Text: "exited with code 3"}) || !l.session.info.EndedAt.Equal(l.now) {
			t.Fatalf("done %v, %+v", done, l.session.info)
		}
		l.step(messageEvent{&wire.RunReport{Event: wire.RunStarted}})
		if err, done := l.results[5]; !done || err != nil || !l.session.info.Running {
			t.Errorf("%v %v", done, err)
		}
	})
	t.Run("given up", func(t *testing.T) {
		l, _ := begin(false, options)
		l.step(cancelCommand{4})
		l.step(cancelCommand{5})
		if !errors.Is(l.results[5], context.Canceled) {
			t.Errorf("%v", l.results[5])
		}
	})
}

// TestStop: asked, then killed, then given up; at once if nothing runs.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		force bool
		want  []wire.StopMode
		after time.Duration
	}{{false, []wire.StopMode{wire.StopAsk, wire.StopKill}, 15 * time.Second}, {true, []wire.StopMode{wire.StopKill}, 10 * time.Second}} {
		l, m := greeted(t, wire.Released, false)
		l.step(runEvent{wire.RunRunning})
		begin := l.now
		l.step(runCommand{ticket: 6, op: &runOp{force: c.force}})
		for l.settle(); l.results[6] == nil; l.settle() {
			l.now = l.session.wake()
			l.step(tickEvent{})
		}
		var wait *WaitError
		if !errors.As(l.results[6], &wait) || !slices.Equal(m.stopped, c.want) || l.now.Sub(begin) != c.after {
			t.Errorf("force %v: %v after %v: %v", c.force, m.stopped, l.now.Sub(begin), l.results[6])
		}
	}
	l, m := greeted(t, wire.Released, false)
	l.step(runCommand{ticket: 7, op: &runOp{}})
	if err, done := l.results[7]; !done || err != nil || len(m.stopped) != 0 {
		t.Errorf("nothing runs: %v %v %v", done, err, m.stopped)
	}
	l.step(runEvent{wire.RunRunning})
	l.step(runCommand{ticket: 8, op: &runOp{}})
	l.settle()
	l.step(runEvent{wire.RunStopped})
	if err, done := l.results[8]; !done || err != nil {
		t.Errorf("it stops: %v %v", done, err)
	}
}

// TestInterruptAfterTheEnd: what was done when the context ended was done.
func TestInterruptAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done, undone := newPushTask(PushOptions{}, time.Now()), newPushTask(PushOptions{}, time.Now())
	undone.result.Err = ctx.Err()
	if _, err := collect(ctx, []*pushTask{done, done}); err != nil {
		t.Errorf("everything had arrived: %v", err)
	}
	if _, err := collect(ctx, []*pushTask{done, undone}); !errors.Is(err, context.Canceled) {
		t.Errorf("something had not arrived: %v", err)
	}
}
