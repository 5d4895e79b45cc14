package den

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestJudgement checks which numbers are due, early, old or wrong (docs/PROTOCOL.md, "Protocol 0").
func TestJudgement(t *testing.T) {
	for _, next := range []uint16{0, 1, 5, 100, 32767, 32768, 65524, 65525, 65530, 65534} {
		r := receiver{next: next}
		for ahead, want := range map[int]arrival{
			0: arrivedNow, 1: arrivedEarly, 9: arrivedEarly, 10: arrivedWrong, 32767: arrivedWrong,
			numbers - 1: arrivedAgain, numbers - 10: arrivedAgain, numbers - oldNumbers: arrivedAgain,
		} {
			n := uint16((int(next) + ahead) % numbers)
			if got := r.classify(n); got != want {
				t.Errorf("expecting %d, %d is %d, want %d", next, n, got, want)
			}
		}
	}
}

// TestEveryNumberOnce delivers numbers near a wrap shuffled within the window, doubled and with old ones between.
func TestEveryNumberOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.IntRange(0, numbers-1).Draw(t, "start")
		var got recordingSink
		r := newRelease(&got, Options{}.filled())
		r.in.next = uint16(start)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		const count = 40
		var want [][]byte
		for i := range count {
			want = append(want, binary.LittleEndian.AppendUint16(nil, uint16(i)))
		}
		for len(got.messages) < count {
			i := max(0, len(got.messages)-15) + random.IntN(28)
			if i >= count {
				continue
			}
			d, err := encode(nil, &reliableMessage{Number: uint16((start + i) % numbers), Payload: want[i]})
			if err != nil {
				t.Fatal(err)
			}
			before := len(got.messages)
			r.acks = nil
			if err := r.input(d, testTime); err != nil {
				t.Fatal(err)
			}
			if acked := len(r.acks) == 1; acked != (i < before+windowSize) {
				t.Fatalf("expecting %d, %d was acknowledged: %v", before, i, acked)
			}
		}
		if !reflect.DeepEqual(got.messages, want) {
			t.Fatalf("got %x", got.messages)
		}
	})
}

func TestPartsWithoutBeginningAreDropped(t *testing.T) {
	var a assembly
	for _, step := range []struct {
		flags uint8
		part  string
		whole string
		done  bool
	}{
		{0, "lost", "", false}, {partLast, "lost", "", false},
		{partFirst, "a", "", false}, {0, "b", "", false}, {partLast, "c", "abc", true},
		{partLast, "late", "", false},
		{partFirst, "x", "", false}, {partFirst, "new", "", false}, {partLast, "", "new", true},
		{partFirst | partLast, "single", "single", true},
		{partFirst | partLast, "", "", true},
	} {
		whole, err := a.add(step.flags, []byte(step.part), 100)
		if err != nil || string(whole) != step.whole || (whole != nil) != step.done {
			t.Errorf("%+v: %q, %v", step, whole, err)
		}
	}
	if _, err := a.add(partFirst, make([]byte, 101), 100); !errors.Is(err, errTooLong) {
		t.Errorf("too long: %v", err)
	}
}

// TestFullInboxIsNotAcknowledged: what has no room may come again.
func TestFullInboxIsNotAcknowledged(t *testing.T) {
	got := recordingSink{full: true}
	r := newRelease(&got, Options{}.filled())
	d, err := encode(nil, &reliableMessage{Payload: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	for _, full := range []bool{true, false, true} {
		got.full = full
		if err := r.input(d, testTime); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.acks) != 2 || len(got.messages) != 1 {
		t.Errorf("%d acknowledged, %d delivered", len(r.acks), len(got.messages))
	}
}

func TestUnknownCommandsAreIgnored(t *testing.T) {
	var got recordingSink
	r := newRelease(&got, Options{}.filled())
	for _, d := range []string{"0c", "ff00", "", "04", "0400", "04ffff", "0a00", "060100", "07", "0901", "0b000000000600"} {
		if err := r.input(unhex(t, d), testTime); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	if len(got.messages) != 0 {
		t.Errorf("%x was delivered", got.messages)
	}
}

// FuzzReleaseInput feeds a row of datagrams: u8 length, then the datagram.
func FuzzReleaseInput(f *testing.F) {
	var all []byte
	for _, line := range lines(f, "commands.txt") {
		d := unhex(f, line[1])
		if len(d) < 256 {
			all = append(append(all, byte(len(d))), d...)
			f.Add(append([]byte{byte(len(d))}, d...))
		}
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newRelease(&recordingSink{}, Options{MaxMessage: 1 << 10}.filled())
		for range 3 {
			r.send(make([]byte, 3000))
		}
		var out batch
		for len(data) > 0 {
			n := min(int(data[0]), len(data)-1)
			if r.input(data[1:1+n], testTime) != nil {
				return
			}
			data = data[1+n:]
			out.reset()
			r.output(testTime, &out)
			if under := len(r.out.window); under > windowSize+1 || len(r.parts.buf) > 1<<10 {
				t.Fatalf("%d under way, %d bytes in parts", under, len(r.parts.buf))
			}
		}
	})
}
