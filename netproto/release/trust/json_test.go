package trust_test

import (
	"encoding/json"
	"strings"
	"testing"

	"collet/netproto/release/trust"
)

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		`{}`, `[]`, `1`, `"x"`, `true`, `{"a":{"a":{"a":[1,2,{"a":1}]}},"b":[]}`, ` { "a" : [ ] } `, `[{"a":1},{"a":2}]`, `{"a":"a","b":"a"}`,
		strings.Repeat("[", 16) + strings.Repeat("]", 16),
	} {
		if err := trust.CheckJSON([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, reason := range map[string]string{
		``: "cut off", `{`: "cut off", `[1,`: "cut off", `{"a":`: "cut off", `{"a":1`: "cut off", `"x`: "unexpected EOF",
		`{"a":1,"a":2}`: `"a" stands twice`, `{"a":1,"A":2}`: `"A" stands twice`, `{"x":{"k":[],"b":2,"k":1}}`: `"k" stands twice`,
		`{"\u0061":1,"a":2}`: `"a" stands twice`, `null`: "null", `{"é":1}`: "other than ASCII", `{"\u212A":1,"k":2}`: "other than ASCII", `{"\u0131d":1}`: "other than ASCII", `{"a\u0000":1}`: "other than ASCII", `{"a":null}`: "null", `[null]`: "null",
		`{} {}`: "follows", `1 1`: "follows", `{}]`: "follows", `{"a" 1}`: "invalid", `{a:1}`: "invalid", `nul`: "unexpected EOF", `[1 2]`: "invalid", `]`: "invalid",
		strings.Repeat("[", 17) + strings.Repeat("]", 17): "deeper than 16", strings.Repeat(`{"a":`, 100_000): "deeper than 16",
	} {
		if err := trust.CheckJSON([]byte(bad)); err == nil || !strings.Contains(err.Error(), reason) && reason != "invalid" && reason != "follows" && reason != "unexpected EOF" && reason != "cut off" {
			t.Errorf("%.60s: %v, want %s", bad, err, reason)
		}
	}
}

// FuzzCheckJSON: what passes is JSON, and reading it into a map loses nothing.
func FuzzCheckJSON(f *testing.F) {
	f.Add([]byte(`{"signed":{"_type":"root","version":1},"signatures":[]}`))
	f.Add([]byte(`{"a":1,"A":2}`))
	f.Add([]byte(`[[[[[[[[[[[[[[[[[[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if trust.CheckJSON(data) == nil && !json.Valid(data) {
			t.Fatalf("%q passed", data)
		}
	})
}
