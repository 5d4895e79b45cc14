package dentest

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// goldenSession is the recorded small session of the released programs, one JSON object a line: n the number in the
// recording, ms the time, dir c2s or s2c, hex the UDP payload. Acks are left out. (trace 2)
//
//go:embed testdata/golden-session.jsonl
var goldenSession []byte

// Golden is the recorded small session: connect, three properties, synchronise, change, synchronise again, start, one log
// line, stop, disconnect (trace 2). Acks are left out.
func Golden() ([]Datagram, error) {
	var all []Datagram
	for dec := json.NewDecoder(bytes.NewReader(goldenSession)); dec.More(); {
		var row struct {
			MS       float64
			Dir, Hex string
		}
		if err := dec.Decode(&row); err != nil {
			return nil, err
		}
		data, err := hex.DecodeString(row.Hex)
		if err != nil {
			return nil, err
		}
		d := Datagram{At: time.Duration(row.MS * float64(time.Millisecond)), Direction: ToServer, Data: data}
		if row.Dir == ToClient.String() {
			d.Direction = ToClient
		}
		all = append(all, d)
	}
	return all, nil
}

// GoldenServerTree is what the server of the golden session has, before and after its change (trace 2).
func GoldenServerTree(changed bool) map[string][]byte {
	part := make([]byte, 1500)
	for i := range part {
		part[i] = byte(7*i + i/256)
	}
	if changed {
		part[len(part)-1] = '!'
		return map[string][]byte{"a.txt": []byte("HELLO\n"), "sub/part.bin": part}
	}
	return map[string][]byte{"a.txt": []byte("hello\n"), "empty.dat": {}, "sub/part.bin": part}
}

// GoldenDeviceTree is what the device of the golden session has before.
func GoldenDeviceTree() map[string][]byte {
	return map[string][]byte{"a.txt": []byte("jello\n"), "old.txt": []byte("x")}
}

// Orders of the files in the golden session, which come from hash maps of the recorded programs.
var (
	goldenWrites = []string{"empty.dat", "sub/part.bin", "a.txt"}
	goldenLayout = []string{"sub/part.bin", "empty.dat", "a.txt", "old.txt"}
)

// GoldenServerOptions make a ReferenceServer behave as the server of the golden session.
func GoldenServerOptions(root string) ServerOptions {
	return ServerOptions{Root: root, Order: goldenWrites, Properties: []string{"properties.names", "profiles.names", "profiles.default"}}
}

// GoldenClientOptions make a ReferenceClient behave as the device of the golden session.
func GoldenClientOptions(root string) ClientOptions {
	return ClientOptions{Root: root, Name: "Lab", Order: goldenLayout, Start: func(c *ReferenceClient, _ Message) {
		c.Log(0, "FakeApp", "log line 0")
		c.SetRunning(true)
	}}
}

// CompareSessions compares two recordings byte by byte, each direction for itself, without acks: between the directions
// the order is a matter of microseconds.
func CompareSessions(want, got []Datagram) error {
	for _, d := range []Direction{ToServer, ToClient} {
		a, b := oneWay(want, d), oneWay(got, d)
		for i := range max(len(a), len(b)) {
			switch {
			case i >= len(b):
				return fmt.Errorf("%s: datagram %d is missing: %s", d, i, (&Decoder{}).Line(a[i]))
			case i >= len(a):
				return fmt.Errorf("%s: datagram %d is too much: %s", d, i, (&Decoder{}).Line(b[i]))
			case !bytes.Equal(a[i].Data, b[i].Data):
				return fmt.Errorf("%s: datagram %d: want %x, got %x", d, i, a[i].Data, b[i].Data)
			}
		}
	}
	return nil
}

func oneWay(all []Datagram, d Direction) (some []Datagram) {
	for _, g := range all {
		if g.Direction == d && len(g.Data) > 0 && g.Data[0] != CmdReliableAck {
			some = append(some, g)
		}
	}
	return some
}
