package interrupt_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/platform/interrupt"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		began := time.Now()
		if err := interrupt.Sleep(ctx, time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := interrupt.Sleep(ctx, -time.Second); err != nil || time.Since(began) != time.Minute {
			t.Errorf("a time that is over: %v after %v", err, time.Since(began))
		}
		time.AfterFunc(time.Second, end)
		if err := interrupt.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) || time.Since(began) != time.Minute+time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := interrupt.Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestReader(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	r := interrupt.Reader(ctx, strings.NewReader("abcdef"))
	page := make([]byte, 3)
	if n, err := r.Read(page); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	end()
	if n, err := r.Read(page); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %d, %v", n, err)
	}
	if all, err := io.ReadAll(interrupt.Reader(t.Context(), strings.NewReader("abc"))); string(all) != "abc" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
}
