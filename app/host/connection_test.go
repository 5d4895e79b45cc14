package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/download"
	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/session"
)

// objectServer answers every connection as a server with one release folder does: each file of it holds the same bytes.
type objectServer struct {
	t       *testing.T
	content []byte
	delay   time.Duration // before a connection is made
	deaf    bool          // it makes a connection also for a client that has gone meanwhile
	open    atomic.Int64  // connections that have not ended
	serving sync.WaitGroup
}

func (s *objectServer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-time.After(s.delay):
	case <-ctx.Done():
		if !s.deaf {
			return nil, ctx.Err()
		}
	}
	near, far := net.Pipe()
	s.open.Add(1)
	s.serving.Go(func() {
		defer s.open.Add(-1)
		defer far.Close()
		s.serve(netproto.NewConn(far, netproto.ServerSide, netproto.Limits{}))
	})
	return near, nil
}

func (s *objectServer) serve(conn *netproto.Conn) {
	for {
		m, err := conn.Read()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *netproto.Handshake:
			answer := netproto.NewAnswer(compat.Judgement{Verdict: compat.Accept})
			answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = netproto.CapPipeline|netproto.CapObjects|netproto.CapUnlisted, 1000, 4
			err = conn.Write(answer)
		case *netproto.Ping:
			if !m.Answer {
				err = conn.Write(&netproto.Ping{Answer: true})
			}
		case *netproto.GetObject:
			to := min(m.Offset+uint64(m.Length), uint64(len(s.content)))
			err = conn.Write(&netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: s.content[min(m.Offset, to):to]})
		}
		if err != nil {
			return
		}
	}
}

func (s *objectServer) connection() *connection {
	return &connection{source: &source{options: session.Options{
		Addr: "there:1", Generation: netproto.C1, Compatibility: "1", Target: "Linux-x64", Dial: s.dial,
	}}}
}

const anObject = "metadata/1.targets.json"

// TestCloseAgainstConnect: Close may come at any time. It ends a Connect under way, and no session is left behind.
func TestCloseAgainstConnect(t *testing.T) {
	for name, deaf := range map[string]bool{"in time": false, "too late": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &objectServer{t: t, delay: 5 * time.Second, deaf: deaf}
				l := s.connection()
				began := time.Now()
				time.AfterFunc(time.Second, func() {
					if err := l.Close(); err != nil {
						t.Error(err)
					}
				})
				if _, way, err := l.Connect(t.Context(), func() {}); !errors.Is(err, net.ErrClosed) || way != nil {
					t.Errorf("Connect: %v, %v", way, err)
				}
				if took := time.Since(began); took != time.Second {
					t.Errorf("it took %v", took)
				}
				s.serving.Wait()
				if _, way, err := l.Connect(t.Context(), func() {}); err != nil || way == nil {
					t.Errorf("the next Connect: %v, %v", way, err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				s.serving.Wait()
			})
		})
	}
}

// TestCloseAgainstGet closes a connection that several goroutines read from, over and over, while another one connects anew.
func TestCloseAgainstGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &objectServer{t: t, content: bytes.Repeat([]byte("spindle "), 5000)}
		l := s.connection()
		for range 30 {
			_, way, err := l.Connect(t.Context(), func() {})
			if err != nil {
				t.Fatal(err)
			}
			var reading sync.WaitGroup
			for range 4 {
				reading.Go(func() {
					for {
						r, err := way.Get(t.Context(), anObject, 0, -1, 1<<20)
						if err != nil {
							closedByUs(t, err)
							return
						}
						data, err := io.ReadAll(r)
						if err == nil && !bytes.Equal(data, s.content) {
							t.Errorf("%d bytes came", len(data))
						} else if err != nil {
							closedByUs(t, err)
						}
						r.Close()
					}
				})
			}
			reading.Go(func() { l.Close() })
			reading.Go(func() { l.Close() })
			reading.Wait()
		}
		s.serving.Wait()
	})
}

func closedByUs(t *testing.T, err error) {
	t.Helper()
	var broken *download.NetError
	if !errors.As(err, &broken) || broken.Kind != download.NetReset {
		t.Errorf("the error of what was closed is %v", err)
	}
}

// TestCloseEndsWhatIsNotRead: an answer that is not read does not hold Close up, and ends with an error.
func TestCloseEndsWhatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &objectServer{t: t, content: make([]byte, 50_000)}
		l := s.connection()
		_, way, err := l.Connect(t.Context(), func() {})
		if err != nil {
			t.Fatal(err)
		}
		r, err := way.Get(t.Context(), anObject, 0, -1, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		_, err = io.ReadAll(r)
		closedByUs(t, err)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		_, err = way.Get(t.Context(), anObject, 0, -1, 1<<20)
		closedByUs(t, err)
		s.serving.Wait()
	})
}
