package session_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"collet/netproto"
	"collet/netproto/session"
)

const timestampName = "metadata/timestamp.json"

// objectName is the name of an object that ends in n.
func objectName(n int) string {
	sum := fmt.Sprintf("%064x", n)
	return "objects/" + sum[:2] + "/" + sum
}

// store is a release folder in a peer, and how the peer answers.
type store struct {
	files    map[string][]byte
	caps     uint32
	tags     netproto.Tags // of the answer
	inFlight uint16
	portion  int
	delay    time.Duration // before an answer
	backward bool          // of those requests that are there at a time the last one is answered first

	mu      sync.Mutex
	waiting []*netproto.GetObject
	most    int // requests unanswered at a time
	asked   int
	bytes   int // in answers
}

func newStore() *store {
	s := &store{files: map[string][]byte{timestampName: []byte("now")}, inFlight: 8, portion: 16 << 10}
	s.caps = netproto.CapPipeline | netproto.CapObjects
	for n, size := range []int{0, 1, 16 << 10, 100_123, 1 << 20} {
		s.files[objectName(n)] = numbered(size + n)[n:]
	}
	return s
}

// script greets and answers until the client has gone.
func (s *store) script(p *peer) {
	s.welcome(p)
	s.answer(p)
}

func (s *store) welcome(p *peer) {
	m, err := p.conn.Read()
	if err != nil {
		p.t.Errorf("peer: hello: %v", err)
		return
	}
	p.hello = m.(*netproto.Handshake)
	answer := netproto.NewAnswer(accept)
	answer.Capabilities, answer.MaxPortion, answer.MaxInFlight = s.caps, uint32(s.portion), s.inFlight
	answer.Tags = s.tags
	p.say(answer)
	if s.caps&netproto.CapUnlisted == 0 {
		p.list(testFiles())
	}
}

func (s *store) answer(p *peer) {
	arrivals, gone := make(chan struct{}, 1000), make(chan struct{})
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		defer close(gone)
		for m := p.next(); m != nil; m = p.next() {
			s.mu.Lock()
			s.waiting = append(s.waiting, m.(*netproto.GetObject))
			s.most, s.asked = max(s.most, len(s.waiting)), s.asked+1
			s.mu.Unlock()
			arrivals <- struct{}{}
		}
	})
	for {
		select {
		case <-gone:
			return
		case <-arrivals:
		}
		time.Sleep(s.delay)
		p.say(s.next())
	}
}

func (s *store) next() netproto.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := 0
	if s.backward {
		i = len(s.waiting) - 1
	}
	m := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	data, found := s.files[m.Name]
	if !found {
		return &netproto.NoObject{Request: m.Request}
	}
	data = data[min(m.Offset, uint64(len(data))):]
	data = data[:min(len(data), int(m.Length))]
	s.bytes += len(data)
	return &netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: data}
}

// objects connects to a peer that plays script and may be asked for objects.
func objects(t *testing.T, script func(p *peer)) (*session.Client, func()) {
	t.Helper()
	opt, wait := play(t, netproto.C1, script)
	opt.Objects = true
	c := connect(t, opt)
	return c, func() { c.Close(); wait() }
}

// get is what Object delivers.
func get(ctx context.Context, c *session.Client, name string, offset, length int64) ([]byte, error) {
	var got []byte
	err := c.Object(ctx, name, offset, length, func(data []byte) error {
		if len(data) == 0 {
			return errors.New("a delivery of nothing")
		}
		got = append(got, data...)
		return nil
	})
	return got, err
}

// TestObjects takes ranges of every kind, whatever the order of the answers.
func TestObjects(t *testing.T) {
	big := int64(100_123)
	for _, test := range []struct {
		name           string
		n              int
		offset, length int64
		end            bool // the file ends before the range
	}{
		{"whole", 3, 0, big, false},
		{"to the end", 3, 0, -1, false},
		{"to the end from the middle", 3, 77_000, -1, false},
		{"from the end", 3, big, -1, false},
		{"behind the end", 3, big + 5, -1, false},
		{"a part", 3, 50_000, 40_000, false},
		{"one byte", 3, big - 1, 1, false},
		{"nothing", 3, 7, 0, false},
		{"beyond the end", 3, 10, big, true},
		{"far beyond the end", 3, 0, 10 * big, true},
		{"all of it behind the end", 3, big, 1, true},
		{"empty", 0, 0, -1, false},
		{"empty, and more was wanted", 0, 0, 1, true},
		{"one byte in all", 1, 0, -1, false},
		{"exactly a portion", 2, 0, -1, false},
		{"a megabyte", 4, 0, 1 << 20, false},
	} {
		for _, backward := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, backward %t", test.name, backward), func(t *testing.T) {
				s := newStore()
				s.backward, s.delay = backward, time.Millisecond
				c, done := objects(t, s.script)
				defer done()
				if !c.Objects() {
					t.Fatal("no objects")
				}
				name := objectName(test.n)
				got, err := get(t.Context(), c, name, test.offset, test.length)
				file := s.files[name]
				want := file[min(test.offset, int64(len(file))):]
				if test.length >= 0 {
					want = want[:min(int64(len(want)), test.length)]
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%d bytes, want %d", len(got), len(want))
				}
				var end *session.ObjectEndError
				switch {
				case !test.end && err != nil:
					t.Error(err)
				case test.end && (!errors.As(err, &end) || end.Want != test.offset+test.length || end.At != max(test.offset, int64(len(file))) || end.Name != name):
					t.Errorf("%v: %+v", err, end)
				}
				if s.most > int(s.inFlight) {
					t.Errorf("%d requests at a time, %d are allowed", s.most, s.inFlight)
				}
				if again, err := get(t.Context(), c, timestampName, 0, -1); err != nil || string(again) != "now" {
					t.Errorf("afterwards: %q, %v", again, err)
				}
			})
		}
	}
}

// TestObjectsTogether runs calls with every outcome concurrently, and List beside them.
func TestObjectsTogether(t *testing.T) {
	bubble(t, "many", func(t *testing.T) {
		s := newStore()
		s.delay, s.backward = time.Millisecond, true
		c, done := objects(t, s.script)
		defer done()
		var calls sync.WaitGroup
		for i := range 24 {
			calls.Go(func() {
				name := objectName(i % 6) // the last one is missing
				got, err := get(t.Context(), c, name, 0, -1)
				var missing *session.MissingObjectError
				if want, found := s.files[name]; found && (err != nil || !bytes.Equal(got, want)) {
					t.Errorf("%s: %d bytes, %v", name, len(got), err)
				} else if !found && (!errors.As(err, &missing) || missing.Name != name) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		offers, err := c.List(t.Context())
		calls.Wait()
		if err != nil || len(offers) != 4 || s.most > 8 {
			t.Errorf("%d files, %v; %d requests at a time", len(offers), err, s.most)
		}
	})
}

// TestSlowDelivery shows that a call with blocked delivery holds only its share, and stops no other call.
func TestSlowDelivery(t *testing.T) {
	bubble(t, "slow", func(t *testing.T) {
		s := newStore()
		opt, wait := play(t, netproto.C1, s.script)
		opt.Objects, opt.Buffer = true, 128<<10
		c := connect(t, opt)
		defer wait()
		defer c.Close()
		release, began := make(chan struct{}), make(chan struct{})
		var slow sync.WaitGroup
		slow.Go(func() {
			first := sync.OnceFunc(func() { close(began); <-release })
			if err := c.Object(t.Context(), objectName(4), 0, -1, func([]byte) error { first(); return nil }); err != nil {
				t.Error(err)
			}
		})
		<-began
		for range 5 {
			if got, err := get(t.Context(), c, objectName(3), 0, -1); err != nil || len(got) != 100_123 {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		}
		s.mu.Lock()
		if held := s.bytes - 5*100_123; held > 256<<10 {
			t.Errorf("%d bytes were fetched for a call that takes none", held)
		}
		s.mu.Unlock()
		close(release)
		slow.Wait()
	})
}

// TestObjectLeft ends calls early; the session continues and outstanding responses are dropped.
func TestObjectLeft(t *testing.T) {
	stop := errors.New("enough")
	for _, test := range []struct {
		name string
		want error
	}{{"by the caller", stop}, {"by its context", context.Canceled}} {
		bubble(t, test.name, func(t *testing.T) {
			s := newStore()
			s.delay = time.Millisecond
			c, done := objects(t, s.script)
			defer done()
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				n := 0
				err := c.Object(ctx, objectName(4), 0, 1<<20, func([]byte) error {
					if n++; n < 2 {
						return nil
					}
					if test.want == stop {
						return stop
					}
					cancel()
					return nil
				})
				if !errors.Is(err, test.want) || n != 2 {
					t.Errorf("%v after %d deliveries", err, n)
				}
			}
			if got, err := get(t.Context(), c, objectName(3), 0, -1); err != nil || !bytes.Equal(got, s.files[objectName(3)]) {
				t.Errorf("afterwards: %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestObjectsOfAnEndedSession returns the session's error to every call, after the data that came before.
func TestObjectsOfAnEndedSession(t *testing.T) {
	bubble(t, "ended", func(t *testing.T) {
		s := newStore()
		c, done := objects(t, func(p *peer) {
			s.welcome(p)
			for range 2 {
				m := p.next().(*netproto.GetObject)
				p.say(&netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: numbered(int(m.Length))})
			}
			p.say(&netproto.Refuse{Reason: netproto.RefuseGoingDown, Text: "bye"})
		})
		defer done()
		got, err := get(t.Context(), c, objectName(4), 0, 1<<20)
		var refused *session.RefusedError
		if !errors.As(err, &refused) || refused.Reason != netproto.RefuseGoingDown || len(got) != 32<<10 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := get(t.Context(), c, timestampName, 0, -1); !errors.As(err, &refused) {
			t.Errorf("a later call: %v", err)
		}
	})
}

// TestObjectFaults are answers that break the format.
func TestObjectFaults(t *testing.T) {
	for _, test := range []struct {
		name, text string
		id         netproto.MessageID
		answer     func(m *netproto.GetObject) netproto.Message
	}{
		{"more than asked for", "length", netproto.IDRangeData, func(m *netproto.GetObject) netproto.Message {
			return &netproto.RangeData{Request: m.Request, Offset: m.Offset, Data: make([]byte, m.Length+1)}
		}},
		{"another offset", "offset", netproto.IDRangeData, func(m *netproto.GetObject) netproto.Message {
			return &netproto.RangeData{Request: m.Request, Offset: m.Offset + 1}
		}},
		{"another request", "was not requested", netproto.IDRangeData, func(m *netproto.GetObject) netproto.Message {
			return &netproto.RangeData{Request: m.Request + 1000, Offset: m.Offset}
		}},
		{"no object of another request", "was not requested", netproto.IDNoObject, func(m *netproto.GetObject) netproto.Message {
			return &netproto.NoObject{Request: m.Request + 1000}
		}},
	} {
		bubble(t, test.name, func(t *testing.T) {
			c, done := objects(t, func(p *peer) {
				newStore().welcome(p)
				p.say(test.answer(p.next().(*netproto.GetObject)))
				p.waitForClient()
			})
			defer done()
			_, err := get(t.Context(), c, objectName(4), 5, 1000)
			wantFault(t, err, test.id, test.text)
		})
	}
	bubble(t, "no object for a range of the list", func(t *testing.T) {
		c, done := objects(t, func(p *peer) {
			newStore().welcome(p)
			p.say(&netproto.NoObject{Request: p.next().(*netproto.GetRange).Request})
			p.waitForClient()
		})
		defer done()
		err := c.Fetch(t.Context(), []session.FetchRange{{Index: 10, Size: 5}}, func(int, []byte) error { return nil })
		wantFault(t, err, netproto.IDNoObject, "was not requested")
	})
}

// TestObjectMisuse rejects mistakes of the caller, and sends nothing.
func TestObjectMisuse(t *testing.T) {
	bubble(t, "misuse", func(t *testing.T) {
		s := newStore()
		c, done := objects(t, s.script)
		for name, err := range map[string]error{
			"name":   c.Object(t.Context(), "metadata/../numbers.json", 0, 1, nil),
			"offset": c.Object(t.Context(), timestampName, -1, 1, nil),
			"length": c.Object(t.Context(), timestampName, 1<<62, 1<<62, nil),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		done()
		if s.asked != 0 {
			t.Errorf("%d requests", s.asked)
		}
	})
}

// TestWhoHasObjects: objects need both capabilities, and a list is sent only if it is useful.
func TestWhoHasObjects(t *testing.T) {
	const pipeline = netproto.CapPipeline
	for _, test := range []struct {
		name            string
		g               netproto.Generation
		auto            bool
		objects, unlist bool
		caps, says      uint32
		has, lists      bool
	}{
		{"not requested", netproto.C1, false, false, false, pipeline | netproto.CapObjects | netproto.CapUnlisted, 1, false, true},
		{"asked", netproto.C1, false, true, false, pipeline | netproto.CapObjects, 5, true, true},
		{"asked of one that has none", netproto.C1, false, true, false, pipeline, 5, false, true},
		{"without a list", netproto.C1, false, false, true, pipeline | netproto.CapObjects | netproto.CapUnlisted, 13, true, false},
		{"without a list, of an older one", netproto.C1, false, false, true, pipeline | netproto.CapObjects, 13, true, true},
		{"offered", netproto.G2a, true, false, true, pipeline | netproto.CapObjects | netproto.CapUnlisted, 13, true, false},
	} {
		bubble(t, test.name, func(t *testing.T) {
			s := newStore()
			s.caps = test.caps
			var said uint32
			script := func(p *peer) {
				if !test.unlist { // the peer says in its answer what this client did not ask for
					s.welcome(p)
					if test.caps&netproto.CapUnlisted != 0 {
						p.list(testFiles())
					}
				} else {
					s.welcome(p)
				}
				said = p.hello.Capabilities
				s.answer(p)
			}
			opt, wait := play(t, test.g, script)
			opt.Auto, opt.Objects, opt.Unlisted = test.auto, test.objects, test.unlist
			c := connect(t, opt)
			offers, err := c.List(t.Context())
			if c.Objects() != test.has || (err == nil) != test.lists || test.lists && len(offers) != 4 {
				t.Errorf("objects %t, %d files, %v", c.Objects(), len(offers), err)
			}
			if _, err := get(t.Context(), c, timestampName, 0, -1); (err == nil) != test.has {
				t.Errorf("an object: %v", err)
			}
			c.Close()
			wait()
			if said != test.says {
				t.Errorf("the hello says %d, want %d", said, test.says)
			}
		})
	}
}

// TestObjectStride requests less if the connection breaks within an answer.
func TestObjectStride(t *testing.T) {
	stride := new(session.RequestSize)
	for i, want := range []uint32{1 << 20, 256 << 10, 64 << 10, 16 << 10, 16 << 10} {
		bubble(t, fmt.Sprint(i), func(t *testing.T) {
			s := newStore()
			s.portion, s.inFlight = 16<<20, 1
			var asked uint32
			opt, wait := play(t, netproto.C1, func(p *peer) {
				s.welcome(p)
				asked = p.next().(*netproto.GetObject).Length
			})
			opt.Objects, opt.RequestSize = true, stride
			c := connect(t, opt)
			var closed *session.ClosedError
			if _, err := get(t.Context(), c, objectName(4), 0, 1<<20); !errors.As(err, &closed) || asked != want {
				t.Errorf("asks for %d, want %d: %v", asked, want, err)
			}
			c.Close()
			wait()
		})
	}
}

// TestObjectsToldInTheAnswer need no request: the timestamp, and that there is no newer root.
func TestObjectsToldInTheAnswer(t *testing.T) {
	for _, test := range []struct {
		name           string
		asked          string
		offset, length int64
		tags           netproto.Tags
		want           string
		requests       int
		missing, end   bool
	}{
		{"the timestamp", timestampName, 0, -1, told("then", 3), "then", 0, false, false},
		{"exactly", timestampName, 0, 4, told("then", 3), "then", 0, false, false},
		{"a part of it", timestampName, 1, 2, told("then", 3), "he", 0, false, false},
		{"nothing of it", timestampName, 2, 0, told("then", 3), "", 0, false, false},
		{"behind its end", timestampName, 9, -1, told("then", 3), "", 0, false, false},
		{"more than there is", timestampName, 0, 5000, told("then", 3), "then", 0, false, true},
		{"a root that is not there", "metadata/4.root.json", 0, -1, told("then", 3), "", 0, true, false},
		{"the newest root", "metadata/3.root.json", 0, -1, told("then", 3), "", 1, true, false},
		{"another document", "metadata/4.targets.json", 0, -1, told("then", 3), "", 1, true, false},
		{"no tags", timestampName, 0, -1, nil, "now", 1, false, false},
		{"no tags, a root", "metadata/4.root.json", 0, -1, nil, "", 1, true, false},
		{"a number of another length", "metadata/4.root.json", 0, -1, netproto.Tags(nil).With(netproto.TagRoot, []byte{3}), "", 1, true, false},
		{"too long", timestampName, 0, -1, netproto.Tags(nil).With(netproto.TagTimestamp, make([]byte, 16<<10+1)), "now", 1, false, false},
	} {
		bubble(t, test.name, func(t *testing.T) {
			s := newStore()
			s.tags = test.tags
			c, done := objects(t, s.script)
			for range 2 {
				got, err := get(t.Context(), c, test.asked, test.offset, test.length)
				var missing *session.MissingObjectError
				var end *session.ObjectEndError
				if string(got) != test.want || errors.As(err, &missing) != test.missing || errors.As(err, &end) != test.end || err != nil && !test.missing && !test.end {
					t.Errorf("%q, %v", got, err)
				}
				for i := range got { // what was delivered is the caller's
					got[i] = 0
				}
			}
			done()
			if s.asked != 2*test.requests {
				t.Errorf("%d requests", s.asked)
			}
		})
	}
}

func told(timestamp string, root uint64) netproto.Tags {
	return netproto.Tags(nil).With(netproto.TagTimestamp, []byte(timestamp)).With(netproto.TagRoot, binary.LittleEndian.AppendUint64(nil, root))
}
