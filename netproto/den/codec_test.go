package den

import (
	"errors"
	"math"
	"strconv"
	"testing"
	"time"
)

var testTime = time.Unix(1_700_000_000, 0)

func itoa(n int) string { return strconv.Itoa(n) }

// decoders makes an empty one of each layout.
var decoders = map[byte]func() packet{
	cmdRequest:       func() packet { return &connectionRequest{} },
	cmdAck:           func() packet { return &connectionAck{} },
	cmdClose:         func() packet { return &connectionClose{} },
	cmdMessage:       func() packet { return &message{} },
	cmdReliable:      func() packet { return &reliableMessage{} },
	cmdLinkState:     func() packet { return &reliableLinkState{} },
	cmdReliableAck:   func() packet { return &reliableAck{} },
	cmdLinkUp:        func() packet { return &linkUp{} },
	cmdLinkDown:      func() packet { return &linkDown{} },
	cmdLinkUpdate:    func() packet { return &linkUpdate{types: typesOf(true)} },
	cmdReliableLong:  func() packet { return &reliableMessageLong{} },
	cmdLinkStateLong: func() packet { return &reliableLinkStateLong{} },
	kindSegment:      func() packet { return &segment{} },
	kindReceipt:      func() packet { return &receipt{} },
	kindLoose:        func() packet { return &loose{} },
	kindEnd:          func() packet { return &end{} },
}

// TestShortDatagramsAreRefused cuts each recorded datagram everywhere: what is left is refused, or is a datagram whose
// last field goes to the end.
func TestShortDatagramsAreRefused(t *testing.T) {
	open := map[string]int{"message": 1, "reliable": 3}
	for _, line := range lines(t, "commands.txt") {
		whole := unhex(t, line[1])
		if whole[0] == cmdLinkUpdate {
			continue // see TestUnknownLinkEndsAnUpdate
		}
		least, lenient := open[line[0]]
		for n := range whole {
			err := decode(whole[:n], decoders[whole[0]]())
			if wanted := !lenient || n < least; (err != nil) != wanted {
				t.Errorf("%s cut to %d bytes: %v", line[0], n, err)
			}
		}
	}
}

func TestWhatCannotBeSaidIsRefused(t *testing.T) {
	long := make([]byte, math.MaxUint16+1)
	for name, p := range map[string]packet{
		"message of a link": &linkState{Message: long},
		"data":              &linkState{Values: []Value{Data(long)}},
		"text":              &linkState{Values: []Value{Text(string(long))}},
		"values":            &linkState{Values: make([]Value, math.MaxUint16+1)},
		"protocols":         &connectionRequest{Protocols: make([]uint16, maxProtocols+1)},
		"links":             &linkUpdate{Links: make([]linkValues, 256)},
		"number":            &reliableAck{Number: numbers},
	} {
		if _, err := encode(nil, p); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
	if err := decode([]byte{cmdReliableAck, 0xff, 0xff, 0}, &reliableAck{}); !errors.Is(err, errNumber) {
		t.Errorf("number 65535: %v", err)
	}
	if err := decode([]byte{cmdLinkUp, 0, 0}, &linkDown{}); !errors.Is(err, errCommand) {
		t.Errorf("another command: %v", err)
	}
}

// TestUnknownLinkEndsAnUpdate keeps what came before it.
func TestUnknownLinkEndsAnUpdate(t *testing.T) {
	p := linkUpdate{types: func(link uint16) []ValueType {
		if link == 7 {
			return nil
		}
		return []ValueType{TypeUint8}
	}}
	b := []byte{cmdLinkUpdate, 3, 1, 0, 1, 0, 0, 42, 7, 0, 1, 0, 0, 43, 2, 0, 1, 0, 0, 44}
	for n, broken := range map[int]bool{2: false, 5: true, 7: true, 8: false, 9: false, len(b): false} {
		err := decode(b[:n], &p)
		if (err != nil) != broken || len(p.Links) != min(n/8, 1) || n >= 8 && p.Links[0].Values[0].Value != Uint8(42) {
			t.Errorf("%d bytes: got %+v, %v", n, p.Links, err)
		}
	}
}

func TestHalfFloats(t *testing.T) {
	for f, want := range map[float64]uint16{
		0: 0, 1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65519: 0x7bff, 65520: 0x7c00, 1e9: 0x7c00, math.Inf(-1): 0xfc00,
		5.960464477539063e-08: 1, 2.9e-08: 0, 6.103515625e-05: 0x0400, 6.097555160522461e-05: 0x03ff, 1.0 / 3: 0x3555,
	} {
		if got := halfBits(f); got != want {
			t.Errorf("%v: %#04x, want %#04x", f, got, want)
		}
	}
	for bits := range 1 << 16 {
		f := halfOf(uint16(bits))
		if math.IsNaN(f) {
			continue
		}
		if got := halfBits(f); got != uint16(bits) {
			t.Fatalf("%#04x is %v, which is %#04x", bits, f, got)
		}
	}
	if got := halfBits(math.NaN()); !math.IsNaN(halfOf(got)) {
		t.Errorf("NaN became %#04x", got)
	}
}

func TestValuesKeepWhatTheyAreGiven(t *testing.T) {
	for _, v := range allValues() {
		s := v.kind.shape()
		var again Value
		switch s.element {
		case floating:
			again = v.kind.Float(v.Float(0), v.Float(1), v.Float(2), v.Float(3))
		case unsigned:
			again = v.kind.Unsigned(v.Unsigned(0), v.Unsigned(1), v.Unsigned(2))
		case signed:
			again = v.kind.Signed(v.Signed(0), v.Signed(1), v.Signed(2))
		default:
			again = Value{kind: v.kind, bytes: string(v.Data())}
		}
		if again != v || v.Type().String() == "" {
			t.Errorf("%v: %+v became %+v", v.kind, v, again)
		}
	}
	if got := TypeUint8.Signed(-1).Unsigned(0); got != 255 {
		t.Errorf("-1 as a byte is %d", got)
	}
	if got := TypeInt16.Float(-3.9).Signed(0); got != -3 {
		t.Errorf("-3.9 as a short is %d", got)
	}
}

func TestSmallChangesAreNone(t *testing.T) {
	a := TypeFloat64.Float(1e-16)
	for v, same := range map[Value]bool{
		TypeFloat64.Float(2e-16): true, TypeFloat64.Float(1e-14): false, TypeFloat64.Float(math.NaN()): false, a: true,
	} {
		if a.same(v) != same {
			t.Errorf("%v and %v: same is %v", a.Float(0), v.Float(0), !same)
		}
	}
	nan := TypeFloat64.Float(math.NaN())
	if !nan.same(nan) {
		t.Error("the same NaN is a change")
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"commands.txt", "stream.txt"} {
		for _, line := range lines(f, name) {
			f.Add(unhex(f, line[1]))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || decoders[data[0]] == nil {
			return
		}
		p := decoders[data[0]]()
		if decode(data, p) != nil {
			return
		}
		once, err := encode(nil, p)
		if err != nil {
			t.Fatalf("decoded %+v, which can't be encoded: %v", p, err)
		}
		again := decoders[data[0]]()
		if err := decode(once, again); err != nil {
			t.Fatalf("%x became %x, which is broken: %v", data, once, err)
		}
		twice, err := encode(nil, again)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%x became %x, then %x, %v", data, once, twice, err)
		}
	})
}
