// Package testwait waits in tests for what another process, a file or a counter shows, where no channel reports it. It tells whether a process
// runs, and finds addresses for processes that can't be told to take any. Only tests and their fixtures import it, on all layers.
package testwait

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

// Limit is how long Until waits. Only a test that fails waits so long: a busy machine must not make it fail.
const Limit = 2 * time.Minute

// Until looks after firstPause, and doubles the pause up to lastPause: what comes soon is seen soon, and a long wait costs little.
const (
	firstPause = time.Millisecond
	lastPause  = 32 * time.Millisecond
)

// TB is the part of testing.TB that Until needs. A script (testscript.TestScript) has it, too.
type TB interface {
	Fatalf(format string, args ...any)
}

// Until returns when done returns true. The test fails if that takes longer than Limit; what says what should have happened, or what did not.
func Until(t TB, done func() bool, what string) {
	if helper, is := t.(interface{ Helper() }); is {
		helper.Helper()
	}
	late := time.NewTimer(Limit)
	defer late.Stop()
	for pause := firstPause; !done(); pause = min(2*pause, lastPause) {
		select {
		case <-late.C:
			t.Fatalf("waited for %v without success: %s", Limit, what)
			return
		case <-time.After(pause):
		}
	}
}

// FreeAddress is an address of this machine on which no program listened a moment ago, by TCP or UDP. Its port is below those that systems choose by
// themselves, so no connection or listener of another test gets it meanwhile: Linux begins at 32768, macOS and Windows at 49152.
func FreeAddress(t TB) string {
	var err error
	for range portTries {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+port.Add(1)%ports)); err != nil {
			continue
		}
		defer l.Close()
		var p net.PacketConn
		if p, err = net.ListenPacket("udp", l.Addr().String()); err == nil {
			defer p.Close()
			return l.Addr().String()
		}
	}
	t.Fatalf("find a free address: %v", err)
	return ""
}

// Ports of FreeAddress, and how many it tries.
const (
	firstPort, ports = 10_000, 22_000
	portTries        = 100
)

// port counts from a random number, so that no call in a process gets the port of an earlier one.
var port = startAtRandom()

func startAtRandom() *atomic.Uint32 {
	n := new(atomic.Uint32)
	n.Store(rand.Uint32N(ports))
	return n
}
