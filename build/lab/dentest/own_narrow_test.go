package dentest_test

import (
	"testing"
	"time"

	"collet/build/lab/dentest"
)

// TestOwnNarrowPath loses every datagram that doesn't fit an Ethernet frame, as paths without fragments do; our own mode
// must come to a size that passes before the connection is given up, and stay with it.
func TestOwnNarrowPath(t *testing.T) {
	for name, from := range map[string]time.Duration{"from the beginning": 0, "later": 60 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			wide := func(g *dentest.Datagram) bool { return len(g.Data) > 1472 && g.At > from }
			tree := dentest.SmallTree(100, 500)
			tree["big"] = dentest.Noise(1, 20_000_000)
			p := pairOurs(t, tree, nil, false, dentest.ProxyOptions{Rules: []dentest.Rule{dentest.Drop(wide)}, ToClient: dentest.Impairment{Rate: 50e6}})
			began := time.Now()
			p.settled(t, 20*time.Second)
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("20 MB took %v", took)
			}
		})
	}
}
