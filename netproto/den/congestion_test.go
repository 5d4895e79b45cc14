package den

import (
	"testing"
	"time"
)

// TestBurstAfterSmallTalk measures what a burst takes on a connection that carried single small messages before: a few
// round trips, since the path's rate is not that of what was asked of it.
func TestBurstAfterSmallTalk(t *testing.T) {
	const trip = 20 * time.Millisecond
	p := path{delay: trip / 2, rate: 125e6, queue: 50 * time.Millisecond}
	bubble(t, p, Options{Protocols: []uint16{ProtocolCollet}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		for range 20 {
			flood(t, client, server, 100, 100)
			flood(t, server, client, 100, 100)
		}
		took := flood(t, client, server, 1_000_000, 1000)
		if took > 8*trip {
			t.Errorf("a megabyte took %v, %d round trips", took, took/trip)
		}
		t.Logf("a megabyte took %v", took)
	})
}

// TestManySmallAnswers has each end send 3000 small messages, the second set in answer to the first.
func TestManySmallAnswers(t *testing.T) {
	p := path{delay: 10 * time.Millisecond, rate: 125e6, queue: 50 * time.Millisecond}
	bubble(t, p, Options{Protocols: []uint16{ProtocolCollet}}, func(t *testing.T, n *fakeNet, client, server *Conn) {
		start := time.Now()
		done := make(chan error, 1)
		go func() {
			for range 3000 {
				m, err := server.Receive(t.Context())
				if err == nil {
					err = server.Send(t.Context(), m.Payload[:50])
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		for range 3000 {
			if err := client.Send(t.Context(), make([]byte, 300)); err != nil {
				t.Fatal(err)
			}
		}
		for range 3000 {
			if _, err := client.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 200*time.Millisecond {
			t.Errorf("3000 answers took %v", took)
		}
	})
}
