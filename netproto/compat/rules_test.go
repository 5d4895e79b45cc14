package compat_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// TestRulesJudgeAlike: the document has all that the judgement of any client depends on, and what belongs to accounts has no part in it.
func TestRulesJudgeAlike(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 2026))
	data := make([]byte, 160)
	for range 20_000 / testlevel.Stride(4, 20) {
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		in := stream(data)
		s := in.snapshot()
		h := in.hello()
		h.Developer, h.Floor, h.Now = false, 0, time.Unix(1_800_000_000, 0)
		s.RetryAfter, s.Developers = 0, map[string]bool{"ada-lovelace": true}
		if random.IntN(2) == 0 {
			s.Until = h.Now.Add(time.Hour).UTC()
		}
		document, err := compat.Rules{Protocol: 7, Snapshot: *s}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(document), "ada-lovelace") {
			t.Fatalf("an account is public: %s", document)
		}
		rules, err := compat.ParseRules(document)
		if err != nil {
			t.Fatalf("%v: %s", err, document)
		}
		if got, want := compat.Evaluate(&rules.Snapshot, &h), compat.Evaluate(s, &h); !reflect.DeepEqual(plain(got), plain(want)) || rules.Protocol != 7 {
			t.Fatalf("%+v, want %+v: %s", got, want, document)
		}
		if again, err := rules.Encode(); err != nil || !bytes.Equal(again, document) {
			t.Fatalf("%v: %s, then %s", err, document, again)
		}
	}
}

// plain is a judgement whose pointers are compared by what they point to. What the judgement does not read of a payload has no place in it.
func plain(j compat.Judgement) any {
	var to compat.Endpoint
	var gets compat.Payload
	if j.Endpoint != nil {
		to = *j.Endpoint
	}
	if p := j.Payload; p != nil {
		gets = compat.Payload{Logic: p.Logic, Patch: p.Patch, Components: p.Components, Undeclared: p.Undeclared}
	}
	isRedirect, hasPayload := j.Endpoint != nil, j.Payload != nil
	j.Endpoint, j.Payload = nil, nil
	return []any{j, to, gets, isRedirect, hasPayload}
}

// TestRulesThatAreNone: what a reader does not know could change the judgement, and is refused.
func TestRulesThatAreNone(t *testing.T) {
	t.Parallel()
	const good = `{"format":1,"protocol":1,"revision":1,"supported":{},"active":{},"build":{"logic":1}}`
	if _, err := compat.ParseRules([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for document, want := range map[string]string{
		"":                                    "public rules: ",
		"[]":                                  "public rules: ",
		good + "{}":                           "public rules: ",
		strings.Replace(good, "1", "2", 1):    "format 2, and this program knows 1",
		strings.Replace(good, "1", "-1", 1):   "format -1",
		good[:len(good)-1] + `,"ban":["x"]}`:  "unknown field",
		good[:len(good)-1] + `,"policy":"x"}`: `unknown policy "x"`,
		good[:len(good)-1] + `,"components":"12"}`:                                  "no hash of 16 hex digits",
		good[:len(good)-1] + `,"components":"xxxxxxxxxxxxxxxx"}`:                    "no hash of 16 hex digits",
		good[:len(good)-1] + `,"targets":{"a":{"payloads":[{"logic":1,"cmd":1}]}}}`: "unknown field",
	} {
		if _, err := compat.ParseRules([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want …%s…", document, err, want)
		}
	}
}

// FuzzParseRules: whatever is read can be judged by, and is written as it was read.
func FuzzParseRules(f *testing.F) {
	for i := range 8 {
		in := stream(bytes.Repeat([]byte{byte(i), 1, byte(3 * i), 7}, 30))
		document, err := compat.Rules{Protocol: 1, Snapshot: *in.snapshot()}.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(document)
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		rules, err := compat.ParseRules(document)
		if err != nil {
			return
		}
		h := compat.Hello{Target: "Linux-x64", Tagged: true, Now: time.Unix(1_800_000_000, 0)}
		compat.Evaluate(&rules.Snapshot, &h)
		first, err := rules.Encode()
		if err != nil {
			return // a time that JSON does not have
		}
		again, err := compat.ParseRules(first)
		if err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v: %s, then %s", err, first, second)
		}
	})
}
