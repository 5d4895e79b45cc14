package console

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) { synctest.Test(t, testProgress) }

func testProgress(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out)
	p.ShowCount(1, 100, 0, "too early")
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
	time.Sleep(LineEvery)
	p.ShowCount(25, 100, 2, "cut\x1b[2J\n")
	p.ShowCount(26, 100, 2, "too soon")
	p.ClearLine()
	if got, want := out.String(), "25 of 100 (25 %), 10s, about 30s left, violations 2: cut\uFFFD[2J \n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	out.Reset()
	p.Terminal = true
	time.Sleep(time.Minute)
	p.ShowCount(7, 0, 0, strings.Repeat("long ", 100))
	if got := out.String(); !strings.HasPrefix(got, "\r\x1b[K7, 1m10s: long") || strings.Contains(got, "\n") || len(got) != len("\r\x1b[K")+LineWidth {
		t.Errorf("%q", got)
	}
	out.Reset()
	p.ClearLine()
	p.ClearLine()
	if got := out.String(); got != "\r\x1b[K" {
		t.Errorf("%q", got)
	}
}
