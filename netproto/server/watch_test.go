package server_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collet/netproto/server"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
	"collet/netproto/server/servertest"
)

// watching watches the settings' folders every second of fake time. Settle lets ten of them pass and counts reloads.
func watching(t *testing.T, set config.Settings, test func(settle func() int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var reloads atomic.Int32
		go server.Watch(ctx, time.Second, catalogue.Stamp(set),
			func() (config.Settings, error) { return set, nil },
			func(context.Context) error { reloads.Add(1); return errors.New("tells itself") })
		test(func() int {
			time.Sleep(10*time.Second + time.Millisecond)
			synctest.Wait()
			return int(reloads.Load())
		})
	})
}

// TestReleaseThatIsBeingPublishedIsWaitedFor writes for longer than the period.
func TestReleaseThatIsBeingPublishedIsWaitedFor(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var reloaded []time.Duration
		started := time.Now()
		go server.Watch(ctx, time.Second, catalogue.Stamp(set),
			func() (config.Settings, error) { return set, nil },
			func(context.Context) error { reloaded = append(reloaded, time.Since(started)); return nil })
		for i := range 5 {
			time.Sleep(900 * time.Millisecond)
			servertest.WriteFile(t, filepath.Join(set.Baking.ClientResources, "Part"+strconv.Itoa(i)+".zip"), "x")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		// The last part is there after 4.5 s, seen after 5 s, unchanged after 6 s.
		if len(reloaded) != 1 || reloaded[0] != 6*time.Second {
			t.Errorf("reloaded after %v", reloaded)
		}
	})
}

// TestSettingsThatCantBeReadAreNoRelease: the file may be half written.
func TestSettingsThatCantBeReadAreNoRelease(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go server.Watch(ctx, time.Second, catalogue.Stamp(set),
			func() (config.Settings, error) { return config.Settings{}, errors.New("half written") },
			func(context.Context) error { t.Error("reloaded"); return nil })
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}
