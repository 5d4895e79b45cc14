package den

import (
	"fmt"
	"testing"
	"time"

	"collet/platform/testlevel"
)

// paths are bad in ways that occur.
var paths = map[string]path{
	"clean 50 Mbit":  {delay: 5 * time.Millisecond, rate: 6e6, queue: 50 * time.Millisecond},
	"issue":          {delay: 50 * time.Millisecond, loss: 0.01, reorder: 0.02, jitter: 5 * time.Millisecond, duplicate: 0.01, rate: 125e6, queue: 100 * time.Millisecond},
	"wifi":           {delay: 4 * time.Millisecond, loss: 0.02, reorder: 0.05, jitter: 8 * time.Millisecond, rate: 12e6, queue: 60 * time.Millisecond},
	"bad":            {delay: 20 * time.Millisecond, loss: 0.1, reorder: 0.1, jitter: 30 * time.Millisecond, duplicate: 0.1, rate: 12e6, queue: 60 * time.Millisecond},
	"small buffer":   {delay: 20 * time.Millisecond, rate: 12e6, queue: 3 * time.Millisecond},
	"near":           {delay: 50 * time.Microsecond, rate: 1e9, queue: 2 * time.Millisecond},
	"near and lossy": {delay: 50 * time.Microsecond, loss: 0.01, rate: 1e9, queue: 2 * time.Millisecond},
}

func TestEverythingArrivesOverBadPaths(t *testing.T) {
	for name, p := range paths {
		for _, protocol := range []uint16{ProtocolRelease, ProtocolCollet} {
			t.Run(fmt.Sprintf("%s %#x", name, protocol), func(t *testing.T) {
				total := 4 << 20
				if protocol == ProtocolCollet {
					total = 12 << 20
				}
				total /= testlevel.Stride(4, 16)
				bubble(t, p, Options{Protocols: []uint16{protocol}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
					took := flood(t, client, server, total, 64<<10)
					t.Logf("%.2f MB/s of %.2f: %+v", float64(total)/1e6/took.Seconds(), p.rate/1e6, client.Stats())
				})
			})
		}
	}
}
