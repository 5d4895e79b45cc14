package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzPairs: whatever is in the file, what is read of it can be shown and written again.
func FuzzPairs(f *testing.F) {
	for _, seed := range []string{`{"devices":[{"name":"Phone","address":"192.168.1.5","since":"2026-01-02T03:04:05Z"}]}`, `{}`, `{"devices":[{"name":"a","address":"fe80::1%eth0"}]}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pairs, err := decodePairs(data)
		if err != nil {
			return
		}
		for _, p := range pairs {
			if checkName(p.Name) != nil || !p.Address.IsValid() {
				t.Errorf("%+v was taken", p)
			}
		}
		text, err := json.Marshal(pairsFile{pairs})
		if err != nil {
			return // a year that JSON can't say
		}
		if again, err := decodePairs(text); err != nil || len(again) != len(pairs) {
			t.Errorf("%s became %s: %v", data, text, err)
		}
	})
}

// FuzzRequest: what a client says is a request or a failure of usage.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{`{"do":"push","wait":5,"launch":{"config":"x"}}`, "{}", "[", `{"wait":1e99}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, maxLine)
		r, err := readRequest(lines)
		if err != nil {
			faultIs(t, err, FaultUsage, "")
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%q can't be said again: %v", data, err)
		}
	})
}

// FuzzGame: a description that is taken has what launchers demand.
func FuzzGame(f *testing.F) {
	for _, seed := range []string{"<degame><identifier/><pathConfig/><pathCapture/></degame>", "<a/>", "<degame", strings.Repeat("<degame>", 99)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkGame(data) == nil && !bytes.Contains(data, []byte("pathCapture")) {
			t.Errorf("%q was taken", data)
		}
	})
}
