package abi_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"collet/runtime/abi"
)

func TestCopyString(t *testing.T) {
	for _, want := range []string{"", "a", "Игра", "not \xff UTF-8", strings.Repeat("x", abi.MaxString-1)} {
		got, err := abi.CopyString(text(t, want))
		if got != want || err != nil {
			t.Errorf("got %.40q, %v; want %.40q", got, err, want)
		}
	}
	if got, err := abi.CopyString(0); got != "" || err != nil {
		t.Errorf("null: got %q, %v", got, err)
	}
	if got, err := abi.CopyString(text(t, strings.Repeat("x", abi.MaxString))); got != "" || !errors.Is(err, abi.ErrUnterminated) {
		t.Errorf("too long: got %d bytes, %v", len(got), err)
	}
}

func TestArgv(t *testing.T) {
	for _, args := range [][]string{nil, {""}, {"host"}, {"host", "", "two words", "Игра", strings.Repeat("x", 1<<20)}} {
		a, err := abi.NewArgv(args)
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		pointers := unsafe.Slice(a.Pointer(), len(args)+1)
		if int(a.Count()) != len(args) || pointers[len(args)] != nil {
			t.Errorf("%d arguments: count %d, then %v", len(args), a.Count(), pointers[len(args)])
		}
		for i, want := range args {
			bytes := unsafe.Slice(pointers[i], len(want)+1)
			if string(bytes[:len(want)]) != want || bytes[len(want)] != 0 {
				t.Errorf("argument %d is %.40q, want %.40q", i, bytes, want)
			}
			bytes[0] = '!' // a main function may do so
			if len(want) > 0 && args[i][0] == '!' {
				t.Error("the caller's string was changed")
			}
		}
		a.Release()
	}
}

func TestArgvZeroByte(t *testing.T) {
	for _, bad := range []string{"\x00", "a\x00", "a\x00b"} {
		if _, err := abi.NewArgv([]string{"host", bad}); !errors.Is(err, abi.ErrZeroByte) || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestReceiver(t *testing.T) {
	var r abi.Receiver
	var heard []string
	listen := func(name string) abi.Services {
		return abi.Services{
			Ready: func() { heard = append(heard, name+" ready") },
			Log:   func(level int32, text string) { heard = append(heard, fmt.Sprint(name, " ", level, " ", text)) },
		}
	}
	hello := text(t, "hello")
	if r.Ready(0) || r.Ready(1) || r.Log(0, 1, hello) {
		t.Error("a call was taken before the first run")
	}
	first := r.Connect(listen("first"))
	if first == 0 || !r.Ready(first) || !r.Log(first, 2, hello) || r.Ready(first+1) || r.Ready(0) {
		t.Error("first run")
	}
	r.Disconnect()
	if r.Ready(first) || r.Log(first, 1, hello) {
		t.Error("a call was taken after the run")
	}
	second := r.Connect(listen("second"))
	if second == first || r.Log(first, 1, hello) || !r.Log(second, 3, hello) {
		t.Error("second run")
	}
	r.Disconnect()
	if want := []string{"first ready", "first 2 hello", "second 3 hello"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
}

func TestReceiverWithoutServices(t *testing.T) {
	var r abi.Receiver
	run := r.Connect(abi.Services{})
	if !r.Ready(run) || !r.Log(run, 1, text(t, "x")) {
		t.Error("calls of the run that is on were not taken")
	}
}

func TestReceiverTellsWhoShouldStop(t *testing.T) {
	var r abi.Receiver
	stopping := false
	run := r.Connect(abi.Services{Stopping: func() bool { return stopping }})
	if r.Stopping(run) || !r.Stopping(run+1) {
		t.Error("the run that is on should stop, or another one should not")
	}
	stopping = true
	if !r.Stopping(run) {
		t.Error("the host's wish is not passed on")
	}
	r.Disconnect()
	if !r.Stopping(run) {
		t.Error("a run that is over should go on")
	}
	if r.Stopping(r.Connect(abi.Services{})) {
		t.Error("a run without a stop service reports a stop")
	}
}

func TestReceiverLevels(t *testing.T) {
	var r abi.Receiver
	var got []int32
	run := r.Connect(abi.Services{Log: func(level int32, _ string) { got = append(got, level) }})
	for _, level := range []int{-1, 0, 3, 77, math.MaxInt, math.MinInt} {
		r.Log(run, level, 0)
	}
	if want := []int32{-1, 0, 3, 77, math.MaxInt32, math.MinInt32}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReceiverMessages(t *testing.T) {
	var r abi.Receiver
	var got []string
	run := r.Connect(abi.Services{Log: func(level int32, text string) { got = append(got, fmt.Sprint(level, " ", text)) }})
	r.Log(run, 1, 0)
	r.Log(run, 1, text(t, "two\nlines"))
	r.Log(run, 1, text(t, strings.Repeat("x", abi.MaxString)))
	if len(got) != 3 || got[0] != "1 " || got[1] != "1 two\nlines" || !strings.HasPrefix(got[2], "3 a message of the module was dropped: ") {
		t.Errorf("got %.100q", got)
	}
}

// TestDisconnectWaits: when Run returns, no service is being called.
func TestDisconnectWaits(t *testing.T) {
	var r abi.Receiver
	inside, leave, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var left atomic.Bool
	run := r.Connect(abi.Services{Ready: func() { close(inside); <-leave; left.Store(true) }})
	var calls sync.WaitGroup
	calls.Go(func() { r.Ready(run) })
	<-inside
	calls.Go(func() {
		r.Disconnect()
		if !left.Load() {
			t.Error("Disconnect returned while a service was being called")
		}
		close(gone)
	})
	for range 10_000 { // time enough for a Disconnect that does not wait
		runtime.Gosched()
	}
	close(leave)
	<-gone
	calls.Wait()
}

func TestReceiverFromManyThreads(t *testing.T) {
	var r abi.Receiver
	var calls atomic.Int64
	run := r.Connect(abi.Services{Ready: func() { calls.Add(1) }})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				r.Ready(run)
			}
		})
	}
	all.Wait()
	if calls.Load() != 8000 {
		t.Errorf("%d calls, want 8000", calls.Load())
	}
}
