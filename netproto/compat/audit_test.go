package compat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// records are a first start and two changes, chained.
func records() []compat.Audit {
	at := time.Date(2026, 3, 2, 14, 5, 0, 0, time.FixedZone("", 3600))
	first, second, third := compat.Defaults(declared()), everything(), everything()
	third.ActiveMin, third.Revision = 7, 13
	var chain []compat.Audit
	for _, a := range []compat.Audit{
		{Time: at, Actor: compat.ActorBoot, Source: compat.SourceBoot, After: first.Encode(), Keys: []string{"active_min", "active_max"}, Build: "server-8"},
		{Time: at.Add(time.Hour), Actor: "ada", Source: compat.SourceDashboard, Remote: "10.0.0.7", Before: first.Encode(), After: second.Encode(), Keys: compat.Diff(first, second), Build: "server-8"},
		{Time: at.Add(2 * time.Hour), Actor: "grace", Source: compat.SourceCLI, Comment: "«6» is <gone>", Before: second.Encode(), After: third.Encode(),
			Keys: compat.Diff(second, third), Impact: compat.Impact{Sessions: 31, Floors: 2}, Build: "server-8"},
	} {
		var prev *compat.Audit
		if len(chain) > 0 {
			prev = &chain[len(chain)-1]
		}
		chain = append(chain, compat.Chain(prev, a))
	}
	return chain
}

// logOf is the log of some records.
func logOf(chain []compat.Audit) []byte {
	var log bytes.Buffer
	for _, a := range chain {
		log.Write(a.Line())
	}
	return log.Bytes()
}

// TestAuditLine: a record is one line in one form, with all its fields, and its hash is that of this very text. The
// vector was computed with sha256sum.
func TestAuditLine(t *testing.T) {
	a := compat.Chain(nil, compat.Audit{
		Time: time.Date(2026, 3, 2, 15, 5, 0, 0, time.FixedZone("", 3600)), Actor: "ada", Source: compat.SourceCLI, Remote: "10.0.0.7", Comment: "why",
		After: json.RawMessage("{\n  \"revision\": 2\n}\n"), Keys: []string{"active_min"}, Impact: compat.Impact{Sessions: 3, Floors: 1}, Build: "server-8",
	})
	const want = `{"seq":1,"time":"2026-03-02T14:05:00Z","actor":"ada","source":"cli","remote":"10.0.0.7","comment":"why","before":null,"after":{"revision":2},` +
		`"changed":["active_min"],"impact":{"sessions":3,"floors":1},"build":"server-8","prev_sha256":"","sha256":"SUM"}` + "\n"
	const sum = "aeca64fa62d1fa5f6bf524fff82289ea5fc21f576e363dbdd05d849b20e3cbc0"
	if got := string(a.Line()); got != strings.Replace(want, "SUM", sum, 1) {
		t.Errorf("%s", got)
	}
	parsed, err := compat.ParseAudit(a.Line())
	if err != nil || !bytes.Equal(parsed.Line(), a.Line()) || parsed.Sum != a.Sum || !parsed.Time.Equal(a.Time) {
		t.Errorf("%v: %+v", err, parsed)
	}
	next := compat.Chain(&a, compat.Audit{Time: time.Now()})
	if next.Seq != 2 || next.Prev != a.Sum || next.Sum == "" || next.Sum == a.Sum || next.Keys == nil {
		t.Errorf("%+v", next)
	}
	if !reflect.DeepEqual(next, compat.Chain(&a, next)) {
		t.Error("a record that is chained again has another form")
	}
}

// TestVerifyChain: what was written is found good, and its settings come back.
func TestVerifyChain(t *testing.T) {
	chain := records()
	last, err := compat.VerifyChain(iotest.OneByteReader(bytes.NewReader(logOf(chain))))
	if err != nil || last.Seq != 3 || last.Sum != chain[2].Sum {
		t.Fatalf("%v: %+v", err, last)
	}
	s, err := compat.ParseSettings(last.After, compat.Settings{})
	if err != nil || s.ActiveMin != 7 || s.Revision != 13 {
		t.Errorf("%v: %+v", err, s)
	}
	if last, err = compat.VerifyChain(strings.NewReader("")); last != nil || err != nil {
		t.Errorf("an empty log: %v, %v", last, err)
	}
}

// TestTampering: whatever was done to a log, the first record that is not as it was is named.
func TestTampering(t *testing.T) {
	chain := records()
	lines := bytes.SplitAfter(logOf(chain), []byte("\n"))[:3]
	forged := chain[1]
	forged.Actor = "nobody"
	rechained := compat.Chain(&chain[0], forged)
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	for _, e := range []struct {
		name string
		log  []byte
		line int
		why  string
	}{
		{"another actor", join(lines[0], forged.Line(), lines[2]), 2, "altered"},
		{"another actor, and its hash made again", join(lines[0], rechained.Line(), lines[2]), 3, "follows another record"},
		{"the first is missing", join(lines[1], lines[2]), 1, "missing"},
		{"one in between is missing", join(lines[0], lines[2]), 2, "missing"},
		{"two have changed places", join(lines[0], lines[2], lines[1]), 2, "another order"},
		{"one is there twice", join(lines[0], lines[1], lines[1], lines[2]), 3, "another order"},
		{"the last is cut off", join(lines[0], lines[1], lines[2][:len(lines[2])-1]), 3, "cut off"},
		{"the last was begun", join(lines[0], lines[1], lines[2][:40]), 3, "cut off"},
		{"a blank", join(lines[0], bytes.Replace(lines[1], []byte(":"), []byte(": "), 1), lines[2]), 2, "altered"},
		{"another line ending", join(lines[0], bytes.Replace(lines[1], []byte("\n"), []byte("\r\n"), 1), lines[2]), 2, "altered"},
		{"an empty line", join(lines[0], []byte("\n"), lines[1], lines[2]), 2, "no record"},
		{"another key", join(lines[0], bytes.Replace(lines[1], []byte(`{"seq"`), []byte(`{"x":1,"seq"`), 1), lines[2]), 2, "altered"},
		{"an upper-case hash", join(lines[0], bytes.Replace(lines[1], []byte(chain[1].Sum), []byte(strings.ToUpper(chain[1].Sum)), 1), lines[2]), 2, "altered"},
		{"something else", join(lines[0], []byte("hello\n")), 2, "no record"},
		{"a line without an end", join(lines[0], bytes.Repeat([]byte("x"), compat.MaxAuditLine+1)), 2, "more than"},
		{"a first one that follows another", compat.Chain(&compat.Audit{Sum: "ab"}, compat.Audit{}).Line(), 1, "follows another"},
	} {
		last, err := compat.VerifyChain(bytes.NewReader(e.log))
		var bad *compat.ChainError
		if !errors.As(err, &bad) || bad.Line != e.line || !strings.Contains(bad.Why, e.why) || !strings.Contains(err.Error(), bad.Why) {
			t.Errorf("%s: %v, want line %d: %s", e.name, err, e.line, e.why)
			continue
		}
		if good := uint64(e.line - 1); bad.Seq != good || (last == nil) != (good == 0) || last != nil && last.Seq != good {
			t.Errorf("%s: the last good record is %+v, want number %d", e.name, last, good)
		}
	}
}

// TestEveryBit flips each bit of a log, one after another, in make check one of each thirteen: none goes unnoticed.
func TestEveryBit(t *testing.T) {
	log := logOf(records()[:2])
	for n := 0; n < 8*len(log); n += testlevel.Stride(1, 13) {
		i, bit := n/8, byte(1)<<(n%8)
		log[i] ^= bit
		var bad *compat.ChainError
		if _, err := compat.VerifyChain(bytes.NewReader(log)); !errors.As(err, &bad) {
			t.Fatalf("bit %#x of byte %d of %q: %v", bit, i, log, err)
		}
		log[i] ^= bit
	}
}

// TestUnreadableLog: a disk that doesn't read is no bad record.
func TestUnreadableLog(t *testing.T) {
	broken := errors.New("the disk is on fire")
	last, err := compat.VerifyChain(io.MultiReader(bytes.NewReader(logOf(records()[:2])), iotest.ErrReader(broken)))
	var bad *compat.ChainError
	if !errors.Is(err, broken) || errors.As(err, &bad) || last.Seq != 2 || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v after %+v", err, last)
	}
}

// FuzzVerifyChain: no log makes it panic, and what it finds good is what Line writes.
func FuzzVerifyChain(f *testing.F) {
	log := logOf(records())
	f.Add([]byte{})
	f.Add(log)
	f.Add(log[:len(log)-1])
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		last, err := compat.VerifyChain(bytes.NewReader(log))
		if err == nil && last != nil && (int(last.Seq) != bytes.Count(log, []byte("\n")) || !bytes.HasSuffix(log, last.Line())) {
			t.Errorf("%q ends with %q", log, last.Line())
		}
	})
}
