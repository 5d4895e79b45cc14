package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/publish"
)

// TestPublishProgress: stage, step, share, time left and file, as lines without a terminal and as one line on it.
func TestPublishProgress(t *testing.T) { synctest.Test(t, testPublishProgress) }

func testPublishProgress(t *testing.T) {
	var out bytes.Buffer
	w := &workshop{shows: console.NewProgress(&out)}
	at := func(after time.Duration, p publish.Progress) {
		time.Sleep(after)
		w.step(p)
	}
	at(0, publish.Progress{Doing: "hash", Stage: 1, Stages: 5})
	at(20*time.Second, publish.Progress{Doing: "pack", Total: 400, Stage: 2, Stages: 5})
	at(console.LineEvery, publish.Progress{Doing: "pack", Done: 4, Total: 400, Stage: 2, Stages: 5})
	at(console.LineEvery, publish.Progress{Doing: "pack", Done: 100, Total: 400, Stage: 2, Stages: 5, What: "Core\x1b.zip"})
	at(console.LineEvery, publish.Progress{Doing: "upload", Done: 1, Total: 2})
	want := "stage 2 of 5, pack 0 B of 400 B (0 %)\n" +
		"stage 2 of 5, pack 4 B of 400 B (1 %)\n" +
		"stage 2 of 5, pack 100 B of 400 B (25 %), about 1m0s left: Core\uFFFD.zip\n" +
		"upload 1 B of 2 B (50 %)\n"
	if got := out.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	out.Reset()
	w.shows.Terminal = true
	at(time.Second, publish.Progress{Doing: "sign", Stage: 5, Stages: 5})
	at(time.Second, publish.Progress{Doing: "patch from 7", Stage: 4, Stages: 5, What: strings.Repeat("long ", 50)})
	if got := out.String(); strings.Contains(got, "\n") || strings.Count(got, "\r\x1b[K") != 2 || len(got) > 2*(console.LineWidth+4) {
		t.Errorf("%q", got)
	}
}
