package interrupt_test

import (
	"context"
	"errors"
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
