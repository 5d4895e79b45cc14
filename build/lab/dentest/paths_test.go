package dentest_test

import (
	"fmt"
	"testing"
	"time"

	"collet/build/lab/dentest"
)

// TestPathsOfManyKinds pushes over lines that are slow, have short queues, lose a lot, reorder almost everything or go
// dark for a second, with our own device and with a reference device. Trees must be identical, and a slow line must be used
// to at least the given share of its rate: these run beside one another, and beside no other test.
func TestPathsOfManyKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds for each kind")
	}
	slow := dentest.Impairment{Delay: 10 * time.Millisecond, Rate: 4e6, Queue: 64 << 10}
	for name, row := range map[string]struct {
		net   dentest.Impairment
		dark  bool
		share float64
	}{
		"slow, short queue":  {slow, false, 0.4},
		"slow, tiny queue":   {dentest.Impairment{Delay: 10 * time.Millisecond, Rate: 4e6, Queue: 20 << 10}, false, 0.15},
		"slow, long queue":   {dentest.Impairment{Delay: 10 * time.Millisecond, Rate: 2e6, Queue: 2 << 20}, false, 0.4},
		"five per cent lost": {dentest.Impairment{Delay: 2 * time.Millisecond, Drop: 0.05}, false, 0},
		"jitter":             {dentest.Impairment{Delay: 2 * time.Millisecond, Jitter: 20 * time.Millisecond}, false, 0},
		"everything twice":   {dentest.Impairment{Duplicate: 1}, false, 0},
		"dark for a second":  {slow, true, 0},
	} {
		for _, reference := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reference %v", name, reference), func(t *testing.T) {
				t.Parallel()
				size := 4_000_000
				if reference {
					size = 1_500_000
				}
				tree := map[string][]byte{"big": dentest.Noise(1, size), "small": []byte("x"), "empty": nil}
				o := dentest.ProxyOptions{Seed: 9, ToServer: row.net, ToClient: row.net, Quiet: true}
				took := onPath(t, tree, o, reference, row.dark)
				t.Logf("%.2f MB/s", float64(size)/1e6/took.Seconds())
				if least := row.share * row.net.Rate; !reference && float64(size)/took.Seconds() < least {
					t.Errorf("%.2f MB/s, want at least %.2f", float64(size)/1e6/took.Seconds(), least/1e6)
				}
			})
		}
	}
}

// onPath pushes once and compares.
func onPath(t *testing.T, tree map[string][]byte, o dentest.ProxyOptions, reference, dark bool) time.Duration {
	t.Helper()
	var proxy *dentest.Proxy
	var push func()
	if reference {
		c := deskAndReference(t, tree, nil, o)
		proxy, push = c.proxy, func() { c.settled(t, time.Minute) }
	} else {
		p := pairOurs(t, tree, nil, false, o)
		proxy, push = p.proxy, func() { p.settled(t, time.Minute) }
	}
	if dark {
		pause := time.AfterFunc(200*time.Millisecond, func() { proxy.Dark(true) })
		light := time.AfterFunc(1200*time.Millisecond, func() { proxy.Dark(false) })
		defer pause.Stop()
		defer light.Stop()
	}
	began := time.Now()
	push()
	return time.Since(began)
}
