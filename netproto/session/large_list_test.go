package session_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
	"collet/platform/testlevel"
)

// TestLargestListIsBounded: the largest list, of 200,000 files, costs the session at most six times its size, and only the offers remain.
func TestLargestListIsBounded(t *testing.T) {
	testlevel.Lab(t) // the race detector has memory of its own
	const files = 200_000
	list := &netproto.FileList{}
	for n := range files {
		list.Files = append(list.Files, netproto.ListedFile{Path: fmt.Sprintf("Resources/Packs/Region%04d/Object%06d/texture.zip", n/100, n), Size: 1, Index: uint32(n)})
	}
	encoded := frame(t, netproto.C1, list)
	answer := netproto.NewAnswer(compat.Judgement{Verdict: compat.UpdateResources})
	answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.CapPipeline, 1000, 4
	greeting := frame(t, netproto.C1, answer)
	list = nil
	dial := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			if _, err := netproto.NewConn(far, netproto.ServerSide, netproto.Limits{}).Read(); err != nil {
				return
			}
			if _, err := far.Write(greeting); err != nil {
				return
			}
			if _, err := far.Write(encoded); err != nil {
				return
			}
			page := make([]byte, 1000)
			for {
				if _, err := far.Read(page); err != nil {
					return
				}
			}
		}()
		return near, nil
	}
	runtime.GC()
	var before, after, left runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := session.Dial(t.Context(), session.Options{Addr: "there:1", Generation: netproto.C1, Compatibility: "1", Target: "Linux-x64", Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	offers, err := c.List(t.Context())
	if err != nil || len(offers) != files {
		t.Fatalf("%d files, %v", len(offers), err)
	}
	runtime.ReadMemStats(&after)
	runtime.GC()
	runtime.ReadMemStats(&left)
	all, kept := after.TotalAlloc-before.TotalAlloc, left.HeapAlloc-before.HeapAlloc
	t.Logf("a frame of %d bytes: %d bytes allocated in all, %d kept", len(encoded), all, kept)
	if most := uint64(6 * len(encoded)); all > most {
		t.Errorf("%d bytes allocated, at most %d should be", all, most)
	}
	if most := uint64(3 * len(encoded)); kept > most {
		t.Errorf("%d bytes kept, at most %d should be", kept, most)
	}
	runtime.KeepAlive(offers)
}
