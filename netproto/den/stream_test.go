package den

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// streamPackets has what the datagrams of stream.txt say.
var streamPackets = map[string]packet{
	"segment":       &segment{Token: 0x11223344, Number: 7, Offset: 5, Bytes: []byte("\x06\x00\x00\x00\x04hello")},
	"segment-ping":  &segment{Token: 0x11223344, Number: 8, Offset: 6, Bytes: []byte{}},
	"receipt-hello": &receipt{Token: 0x11223344, Limit: 0x1000000, Room: 0x400000, Ranges: []numberRange{}},
	"receipt": &receipt{Token: 0x11223344, Limit: 0x1010000, Room: 0x400000, Delay: 150,
		Ranges: []numberRange{{9, 9}, {0, 7}}},
	"loose": &loose{Token: 0x11223344, Payload: []byte("u:hi")},
	"end":   &end{Token: 0x11223344},
}

func TestStreamDatagrams(t *testing.T) {
	for _, line := range lines(t, "stream.txt") {
		name, want := line[0], unhex(t, line[1])
		p := streamPackets[name]
		if p == nil {
			t.Errorf("no expectation for %q", name)
			continue
		}
		got, err := encode(nil, p)
		if got = seal(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: encoded as %x, %v; want %x", name, got, err, want)
		}
		want, whole := unseal(want)
		if !whole {
			t.Errorf("%s: the seal is wrong", name)
		}
		back := reflect.New(reflect.TypeOf(p).Elem()).Interface().(packet)
		if err := decode(want, back); err != nil || !reflect.DeepEqual(back, p) {
			t.Errorf("%s: decoded as %+v, %v; want %+v", name, back, err, p)
		}
	}
}

// recordingSink is a sink that keeps what arrives.
type recordingSink struct {
	messages [][]byte
	full     bool
	requests []linkState
	updates  [][]byte
}

func (i *recordingSink) room() bool                     { return !i.full }
func (i *recordingSink) deliver(payload []byte, _ bool) { i.messages = append(i.messages, payload) }
func (i *recordingSink) linkRequested(r linkState)      { i.requests = append(i.requests, r) }
func (i *recordingSink) linkAnswered(uint16, bool)      {}
func (i *recordingSink) linkUpdated(u []byte) error     { i.updates = append(i.updates, u); return nil }

func newIn(s sink) *streamIn {
	return &streamIn{sink: s, maxMessage: 1 << 20, window: 1 << 20, limit: 1 << 20, pool: &buffers{}}
}

// TestSegmentsInAnyOrder cuts a stream into overlapping segments and delivers them shuffled and repeated.
func TestSegmentsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got recordingSink
		in := newIn(&got)
		s := &stream{out: newStreamOut(false, testTime)}
		var want [][]byte
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 5000), 1, 20).Draw(t, "sizes") {
			want = append(want, bytes.Repeat([]byte{byte(i)}, n))
			s.send(want[i])
		}
		var all []segment
		for at := uint64(0); at < s.out.buf.end; {
			n := min(uint64(rapid.IntRange(1, 2000).Draw(t, "n")), s.out.buf.end-at)
			from := at - min(at, uint64(rapid.IntRange(0, 50).Draw(t, "overlap")))
			all = append(all, segment{Number: uint64(len(all)), Offset: from, Bytes: s.out.buf.read(nil, from, int(at+n-from))})
			at += n
		}
		all = append(all, all[:len(all)/3]...)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, p := range all {
			if err := in.handleSegment(&p, testTime); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got.messages, want) {
			t.Fatalf("%d messages arrived, want %d", len(got.messages), len(want))
		}
		if len(in.early) != 0 || in.next != s.out.buf.end {
			t.Fatalf("%d segments are left", len(in.early))
		}
	})
}

func TestBrokenRecordsEndTheConnection(t *testing.T) {
	for name, record := range map[string]string{
		"empty":       "0000000004",
		"too long":    "0200100004",
		"link":        "0300000005ffff",
		"link answer": "020000000701",
	} {
		in := newIn(&recordingSink{})
		err := in.handleSegment(&segment{Bytes: unhex(t, record)}, testTime)
		var peer *PeerError
		if !errors.As(err, &peer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownRecordsArePassedOver(t *testing.T) {
	var got recordingSink
	in := newIn(&got)
	if err := in.handleSegment(&segment{Bytes: unhex(t, "03000000630102"+"0200000004"+"2a")}, testTime); err != nil {
		t.Fatal(err)
	}
	if len(got.messages) != 1 || !bytes.Equal(got.messages[0], []byte{42}) {
		t.Errorf("got %x", got.messages)
	}
}

func TestNothingIsTakenBeyondTheLimit(t *testing.T) {
	in := newIn(&recordingSink{})
	for _, p := range []segment{
		{Offset: in.limit - 1, Bytes: []byte{1, 2}},
		{Offset: 1<<64 - 1, Bytes: []byte{1, 2}},
	} {
		if err := in.handleSegment(&p, testTime); err != nil {
			t.Fatal(err)
		}
	}
	if len(in.early) != 0 || len(in.numbers) != 0 || in.dropped != 2 {
		t.Errorf("%d kept, %d acknowledged", len(in.early), len(in.numbers))
	}
}

// TestLimitFollowsTheApplication stops a sender whose receiver does not read, and lets it go on when it does.
func TestLimitFollowsTheApplication(t *testing.T) {
	var got recordingSink
	in := newIn(&got)
	s := &stream{out: newStreamOut(false, testTime)}
	for range 4 {
		s.send(make([]byte, 300<<10))
	}
	feed := func(to uint64) {
		for in.next < to {
			n := min(32<<10, to-in.next)
			if err := in.handleSegment(&segment{Offset: in.next, Bytes: s.out.buf.read(nil, in.next, int(n))}, testTime); err != nil {
				t.Fatal(err)
			}
		}
	}
	var p receipt
	feed(1 << 20)
	in.receipt(&p, testTime)
	if unread := uint64(3 * 300 << 10); p.Limit != 1<<21-unread {
		t.Errorf("the limit is %d with %d bytes unread", p.Limit, unread)
	}
	if in.consumed(1) {
		t.Error("one byte is worth a receipt")
	}
	if !in.consumed(300<<10 - 1) {
		t.Error("a quarter of the window is not")
	}
	in.receipt(&p, testTime)
	feed(s.out.buf.end)
	if len(got.messages) != 4 {
		t.Errorf("%d messages", len(got.messages))
	}
}

func FuzzStreamInput(f *testing.F) {
	for _, line := range lines(f, "stream.txt") {
		f.Add(unhex(f, line[1]), uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint64) {
		o := Options{MaxMessage: 1 << 16, ReceiveBytes: 1 << 18}.filled()
		s := newStream(&recordingSink{}, o, &buffers{}, 0x11223344, false, 1<<20, testTime)
		s.send(make([]byte, 5000))
		var out batch
		s.output(testTime, &out)
		for at := 0; at < len(data); { // several datagrams
			n := 1 + int(cut%97)
			cut = cut*6364136223846793005 + 1
			end := min(at+n, len(data))
			if s.input(seal(bytes.Clone(data[at:end]), 0), testTime) != nil {
				return
			}
			at = end
		}
		out.reset()
		s.output(testTime, &out)
	})
}

// TestBrokenDatagramsAreDropped changes each bit of a datagram in turn.
func TestBrokenDatagramsAreDropped(t *testing.T) {
	for _, line := range lines(t, "stream.txt") {
		d := unhex(t, line[1])
		for bit := range 8 * len(d) {
			var got recordingSink
			s := newStream(&got, Options{}.filled(), &buffers{}, 0, false, 1<<20, testTime)
			d[bit/8] ^= 1 << (bit % 8)
			if d[0] != cmdClose {
				if err := s.input(d, testTime); err != nil || s.known || len(got.messages) > 0 || s.in.next > 0 {
					t.Errorf("%s with bit %d changed was taken: %v", line[0], bit, err)
				}
			}
			d[bit/8] ^= 1 << (bit % 8)
		}
	}
}
