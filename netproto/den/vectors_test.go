package den

import (
	"bytes"
	"encoding/hex"
	"os"
	"reflect"
	"strings"
	"testing"

	"collet/netproto/wire"
)

// lines are the fields of each line of a file in testdata.
func lines(t testing.TB, name string) [][]string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
			out = append(out, fields)
		}
	}
	return out
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// recorded has what the recorded datagrams say.
var recorded = map[string]packet{
	"request":         &connectionRequest{Protocols: []uint16{0}},
	"ack-accepted":    &connectionAck{Result: 0, Protocol: 0},
	"ack-rejected":    &connectionAck{Result: 1},
	"ack-no-protocol": &connectionAck{Result: 2},
	"close":           &connectionClose{},
	"message":         &message{Payload: []byte("u:hi")},
	"reliable":        &reliableMessage{Number: 0, Payload: []byte("hello")},
	"link-state": &reliableLinkState{Number: 1, linkState: linkState{
		Link: 0, Message: []byte{1}, Values: []Value{Uint8(0)}}},
	"link-state-read-only": &reliableLinkState{Number: 10, linkState: linkState{
		Link: 1, Flags: 1, Message: []byte("one"), Values: []Value{Uint8(0)}}},
	"reliable-ack": &reliableAck{Number: 1},
	"link-up":      &linkUp{Link: 0},
	"link-down":    &linkDown{Link: 2},
	"link-update":  &linkUpdate{Links: []linkValues{{0, []indexedValue{{0, Uint8(1)}}}}},
	"link-update-two": &linkUpdate{Links: []linkValues{
		{0, []indexedValue{{0, Uint8(1)}}}, {1, []indexedValue{{0, Uint8(2)}}}}},
	"link-state-long": &reliableLinkStateLong{Number: 4, linkState: linkState{
		Link: 12, Flags: 6, Message: []byte{1}, Values: []Value{Uint8(1)}}},
	"link-state-all": &reliableLinkState{Number: 0, linkState: linkState{
		Link: 0, Message: []byte("all"), Values: allValues()}},
	"link-update-all": &linkUpdate{Links: []linkValues{{0, allChanged()}}},
}

// allValues has one value of each type, as they were recorded.
func allValues() []Value {
	third, turn := []float64{0.5, -1.25, 1024}, []float64{0, 0, 0.70710678, 0.70710678}
	points := [][]int64{{1, -2, 3}, {2, 3, 4}, {3, -4, 5}, {4, 5, 6}, {5, -6, 7}, {6, 7, 8}, {7, -8, 9}, {8, 9, 10}}
	out := []Value{
		TypeInt8.Signed(-2), TypeUint8.Unsigned(200), TypeInt16.Signed(-300), TypeUint16.Unsigned(60000),
		TypeInt32.Signed(-70000), TypeUint32.Unsigned(4000000000), TypeInt64.Signed(-5000000000), TypeUint64.Unsigned(0x8000000000000005),
		TypeFloat16.Float(1.5), TypeFloat32.Float(3.25), TypeFloat64.Float(-2.1), Text("héllo"), Data([]byte{0, 1, 2, 0xff}),
	}
	for t := TypePoint2Int8; t <= TypePoint3Uint64; t++ {
		out = append(out, t.Signed(points[int(t-TypePoint2Int8)%len(points)]...))
	}
	for t := TypeVector2F16; t <= TypeVector3F64; t++ {
		out = append(out, t.Float(third...))
	}
	for t := TypeQuaternF16; t <= TypeQuaternF64; t++ {
		out = append(out, t.Float(turn...))
	}
	return out
}

// allChanged are the same values after the recorded change: one more, or a character or byte appended.
func allChanged() []indexedValue {
	var out []indexedValue
	for i, v := range allValues() {
		switch v.kind.shape().element {
		case floating:
			v = v.kind.Float(v.Float(0)+1, v.Float(1), v.Float(2), v.Float(3))
		case unsigned:
			v.lanes[0]++
		case signed:
			v = v.kind.Signed(v.Signed(0)+1, v.Signed(1), v.Signed(2))
		default:
			v.bytes += map[ValueType]string{TypeString: "+", TypeData: "\xaa"}[v.kind]
		}
		out = append(out, indexedValue{uint16(i), v})
	}
	return out
}

// typesOf knows every link: link 0 has all types where there are many values, else one byte.
func typesOf(all bool) func(uint16) []ValueType {
	return func(uint16) []ValueType {
		if all {
			return NewState(allValues()...).types()
		}
		return []ValueType{TypeUint8}
	}
}

func TestRecordedDatagrams(t *testing.T) {
	for _, line := range lines(t, "commands.txt") {
		name, want := line[0], unhex(t, line[1])
		p := recorded[name]
		if p == nil {
			t.Errorf("no expectation for %q", name)
			continue
		}
		got, err := encode(nil, p)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: encoded as %x, %v; want %x", name, got, err, want)
		}
		back := reflect.New(reflect.TypeOf(p).Elem()).Interface().(packet)
		if u, is := back.(*linkUpdate); is {
			u.types = typesOf(strings.HasSuffix(name, "all"))
		}
		if err := decode(want, back); err != nil {
			t.Errorf("%s: decoded: %v", name, err)
			continue
		}
		if u, is := back.(*linkUpdate); is {
			u.types = nil
		}
		if !reflect.DeepEqual(back, p) {
			t.Errorf("%s: decoded as %+v, want %+v", name, back, p)
		}
	}
	if n := len(lines(t, "commands.txt")); n != len(recorded) {
		t.Errorf("%d lines, but %d expectations", n, len(recorded))
	}
}

func TestRecordedValues(t *testing.T) {
	values, changed := allValues(), allChanged()
	for i, line := range lines(t, "values.txt") {
		c := wire.Writer([]byte{byte(values[i].kind)})
		codeValue(c, &values[i])
		if got := hex.EncodeToString(c.Written()); got != line[1] {
			t.Errorf("%v: encoded as %s, want %s", values[i].kind, got, line[1])
		}
		c = wire.Writer(nil)
		index := changed[i].Index
		c.U16("index", &index)
		codeValue(c, &changed[i].Value)
		if got := hex.EncodeToString(c.Written()); got != line[2] {
			t.Errorf("%v: change encoded as %s, want %s", values[i].kind, got, line[2])
		}
	}
}

// TestLongMessageBorder: a message of up to 1357 bytes is one datagram, and a longer one is sent in parts.
func TestLongMessageBorder(t *testing.T) {
	for n, want := range map[int][]string{
		1357: {"040000|1360"},
		1358: {"0a000001|1361", "0a010002|5"},
		5000: {"0a000001|1361", "0a010000|1361", "0a020000|1361", "0a030002|933"},
	} {
		s := sender{sizes: newSizer(DefaultPartMin, DefaultPartMin)}
		s.push(outgoing{payload: make([]byte, n)})
		var got []string
		s.output(testTime, func(p packet) bool {
			d, err := encode(nil, p)
			if err != nil {
				t.Fatal(err)
			}
			header := 3
			if d[0] == cmdReliableLong {
				header = 4
			}
			got = append(got, hex.EncodeToString(d[:header])+"|"+itoa(len(d)))
			return true
		})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d bytes go as %v, want %v", n, got, want)
		}
	}
}
