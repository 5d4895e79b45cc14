package dentest

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"time"
)

// goldenSession is the recorded small session of the released programs, one JSON object a line: n the number in the
// recording, ms the time, dir c2s or s2c, hex the UDP payload. Acks are left out.
//
//go:embed testdata/golden-session.jsonl
var goldenSession []byte

// Golden is the recorded small session: connect, three properties, synchronise, change, synchronise again, start, one log
// line, stop, disconnect. Acks are left out.
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

// GoldenServerTree is what the server of the golden session has, before and after its change.
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

// GoldenDeskOptions make a Desk send what the server of the golden session sent: the order of its files comes from a hash map.
func GoldenDeskOptions(root string) DeskOptions {
	return DeskOptions{Root: root, Order: []string{"empty.dat", "sub/part.bin", "a.txt"}, Properties: []string{"properties.names", "profiles.names", "profiles.default"}}
}
