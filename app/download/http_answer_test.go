package download

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestContentRange has what servers send, and what they should not.
func TestContentRange(t *testing.T) {
	for _, test := range []struct {
		text               string
		first, last, total int64
		ok                 bool
	}{
		{"bytes 0-0/1", 0, 0, 1, true},
		{"bytes 5-9/10", 5, 9, 10, true},
		{" bytes 5-9/* ", 5, 9, -1, true},
		{text: ""},
		{text: "bytes"},
		{text: "bytes */10"},
		{text: "bytes 5-9"},
		{text: "bytes 9-5/10"},
		{text: "bytes 5-10/10"},
		{text: "bytes -5-9/10"},
		{text: "bytes +5-9/10"},
		{text: "bytes 5-9/10/11"},
		{text: "items 5-9/10"},
		{text: "bytes 5 - 9/10"},
		{text: "bytes 0x1-9/10"},
		{text: "bytes 1-99999999999999999999/999999999999999999999"},
		{text: "bytes 0-9223372036854775807/*"},
	} {
		first, last, total, ok := contentRange(test.text)
		if ok != test.ok || ok && (first != test.first || last != test.last || total != test.total) {
			t.Errorf("%q: %d %d %d %v", test.text, first, last, total, ok)
		}
	}
}

// FuzzContentRange parses any text: accepted ranges are consistent.
func FuzzContentRange(f *testing.F) {
	for _, seed := range []string{"bytes 0-0/1", "bytes 5-9/*", "bytes */10", "bytes 5-9/10/11"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, last, total, ok := contentRange(text)
		if ok && (first < 0 || last < first || last+1 < first || total >= 0 && total <= last || total < -1) {
			t.Errorf("%q: %d %d %d", text, first, last, total)
		}
	})
}

// FuzzRetryAfter takes anything: it is never a time in the past, nor longer than a life.
func FuzzRetryAfter(f *testing.F) {
	now := time.Unix(1_700_000_000, 0)
	for _, seed := range []string{"0", "120", "-1", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if wait := retryAfter(http.Header{"Retry-After": {text}}, now); wait < 0 {
			t.Errorf("%q: %v", text, wait)
		}
	})
}

func TestClip(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "abc", "a\r\nb\x00\x7f": "a b\ufffd\ufffd", strings.Repeat("ä", 100): strings.Repeat("ä", 50) + "…", "x" + strings.Repeat("ä", 100): "x" + strings.Repeat("ä", 49) + "…",
	} {
		if got := clip(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestQuestionHeader has each form of range.
func TestQuestionHeader(t *testing.T) {
	for _, test := range []struct {
		from, to int64
		ranged   bool
		header   string
	}{{0, -1, false, "bytes=0-"}, {5, -1, true, "bytes=5-"}, {0, 1, true, "bytes=0-0"}, {5, 10, true, "bytes=5-9"}} {
		q := question{from: test.from, to: test.to}
		if q.ranged() != test.ranged || q.header() != test.header {
			t.Errorf("%+v: %v %s", test, q.ranged(), q.header())
		}
	}
}
