package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/remote"
	"collet/netproto/launcher/desk"
)

// shown is a show whose output and clock a test has.
type shown struct {
	*show
	out, err bytes.Buffer
	at       time.Time
}

func newShown(json, terminal bool) *shown {
	s := &shown{at: time.Unix(1000, 0)}
	s.show = newShow(console.Console{Out: &s.out, Err: &s.err}, json)
	s.show.terminal, s.show.now = terminal, func() time.Time { return s.at }
	return s
}

const box = "Box@10.0.0.1"

func deviceEvent(connected, running, ours bool) remote.Event {
	return remote.Event{Kind: remote.KindDevice, Device: box, Info: &remote.Device{ID: box, Name: "Box", Connected: connected, Running: running, Collet: ours}}
}

func TestEventsAsText(t *testing.T) {
	s := newShown(false, false)
	for _, e := range []remote.Event{
		{Kind: remote.KindDesk, Desk: &remote.Desk{Root: "/game", Address: "127.0.0.1:3413"}},
		deviceEvent(true, false, true), deviceEvent(true, true, true), deviceEvent(true, true, true), deviceEvent(true, false, true), deviceEvent(false, false, true), deviceEvent(true, false, false),
		{Kind: remote.KindProblem, Path: "link\x1b[2J", Error: "leads out"},
		{Kind: remote.KindResult, Device: box, Result: &remote.Result{Do: remote.VerbPush, OK: true, Took: 1500 * time.Millisecond, Attempts: 1}},
		{Kind: remote.KindResult, Device: box, Result: &remote.Result{Do: remote.VerbPush, OK: true, Written: 3, Deleted: 1, Blocks: 7, BytesSent: 12_345_678, Took: time.Second, Attempts: 2}},
		{Kind: remote.KindResult, Device: box, Result: &remote.Result{Do: remote.VerbPush}, Error: "disk full"},
		{Kind: remote.KindResult, Device: box, Result: &remote.Result{Do: remote.VerbStart, OK: true}},
		{Kind: remote.KindResult, Device: box, Result: &remote.Result{Do: remote.VerbStop, OK: true}},
		{Kind: remote.KindPushed, Result: &remote.Result{}, Error: "the working copy is gone"},
		{Kind: remote.KindNote, Text: "a word"},
	} {
		s.event(e)
	}
	want := []string{
		"/game is served on 127.0.0.1:3413", box + " is here", box + ": the game runs", box + ": the game has ended", box + " went away",
		box + " is here (plain protocol)", "left out: link\uFFFD[2J: leads out", box + ": nothing had changed, 1.5 s",
		box + ": files written 3 (12.3 MB sent in 7 blocks), deleted 1, attempts 2, 1.0 s", box + ": disk full", box + ": the game is stopped",
		"push: the working copy is gone", "a word",
	}
	if got := strings.TrimSpace(s.err.String()); got != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	if s.out.Len() > 0 {
		t.Errorf("standard output is for logs of games: %s", &s.out)
	}
}

func TestLogsGoToStandardOutput(t *testing.T) {
	s := newShown(false, false)
	line := func(level, source, text string, lost uint64) remote.Event {
		return remote.Event{Kind: remote.KindLog, Time: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.Local), Device: box, Log: &remote.Line{Level: level, Source: source, Text: text, Lost: lost}}
	}
	s.event(line("info", "", "a desk's word about a device that tells nothing itself", 0))
	s.event(deviceEvent(true, false, true))
	s.event(line("info", "", "a desk's word", 0))
	s.event(line("info", "Game", "hello\x1b[2J", 0))
	s.event(line("error", "Collet", "crashed", 9))
	s.event(line("warning", "", "", 4)) // nothing came after them
	want := "03:04:05.006 Box | a desk's word about a device that tells nothing itself\n03:04:05.006 Box | Game hello\uFFFD[2J\n03:04:05.006 Box | warning: lines that came too fast and are lost: 9\n03:04:05.006 Box | Collet error: crashed\n" +
		"03:04:05.006 Box | warning: lines that came too fast and are lost: 4\n"
	if s.out.String() != want {
		t.Errorf("got:\n%swant:\n%s", &s.out, want)
	}
}

func writing(done, total int64) remote.Event {
	return remote.Event{Kind: remote.KindProgress, Device: box, Progress: &remote.Progress{
		Phase: desk.PushWriting, Current: "Resources/Levels.zip", Files: 1, FilesTotal: 4, Bytes: done, BytesTotal: total, Began: time.Unix(998, 0),
	}}
}

// On a terminal the bars stand below everything else, and what is printed pushes them down.
func TestBarsOnATerminal(t *testing.T) {
	s := newShown(false, true)
	s.event(writing(0, 100_000_000))
	s.event(writing(10_000_000, 100_000_000)) // too soon to be drawn
	s.at = s.at.Add(time.Second)
	s.event(writing(50_000_000, 100_000_000))
	s.event(remote.Event{Kind: remote.KindNote, Text: "a word"})
	s.event(remote.Event{Kind: remote.KindProgress, Device: box, Progress: &remote.Progress{Phase: desk.PushDone}})
	bar := func(text string) string { return text + "\n" }
	full := "Box          [########........]  50 % 50.0 MB of 100 MB, 16.7 MB/s, file 2 of 4"
	empty := "Box          [................]   0 % 0 B of 100 MB, 0 B/s, file 2 of 4 Resourc"
	const up = "\x1b[1A\r\x1b[J"
	want := bar(empty) + up + bar(full) + up + "a word\n" + bar(full) + up
	if got := s.err.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for line := range strings.Lines(strings.ReplaceAll(s.err.String(), up, "")) {
		if len([]rune(line)) > console.LineWidth+1 {
			t.Errorf("%q is too wide", line)
		}
	}
}

func TestProgressInALogFile(t *testing.T) {
	s := newShown(false, false)
	for range 25 {
		s.event(writing(1, 2))
		s.at = s.at.Add(time.Second)
	}
	if n := strings.Count(s.err.String(), "\n"); n != 2 || strings.Contains(s.err.String(), "\x1b") {
		t.Errorf("%d lines in 25 s:\n%s", n, &s.err)
	}
}

func TestBarsOfOtherPhases(t *testing.T) {
	for phase, want := range map[desk.PushPhase]string{
		desk.PushScanning: "Box          scanning", desk.PushHashing: "Box          hashing", desk.PushWaiting: "Box          waits: for the device to come back",
	} {
		b := bar{name: "Box", p: remote.Progress{Phase: phase}}
		if got := b.line(time.Now()); got != want {
			t.Errorf("%s: %q, want %q", phase, got, want)
		}
	}
}

func TestEndsAndTheirCodes(t *testing.T) {
	failure := func(f remote.Fault) error { return &remote.Failure{Fault: f, Text: "because"} }
	for _, test := range []struct {
		err  error
		code int
		says string
	}{
		{nil, 0, ""}, {failure(remote.FaultOther), 1, "because"}, {failure(remote.FaultDevice), 1, "because"}, {failure(remote.FaultUsage), 2, "because"},
		{failure(remote.FaultNoDevice), 3, "because"}, {failure(remote.FaultNotStarted), 4, "because"}, {failure(remote.FaultGame), 5, "because"},
		{failure(remote.FaultCancelled), 1, "the next push goes on from there"}, {errors.New("plain"), 1, "plain"}, {console.Usage(errors.New("usage")), 2, "usage"},
	} {
		var told bytes.Buffer
		if code := console.ExitCode(newShown(false, false).finish(test.err), "collet remote push", &told); code != test.code || !strings.Contains(told.String(), test.says) {
			t.Errorf("%v: code %d, want %d; %s", test.err, code, test.code, &told)
		}
		s := newShown(true, false)
		told.Reset()
		code := console.ExitCode(s.finish(test.err), "collet remote push", &told)
		var end struct {
			Event remote.Kind
			Exit  int
		}
		if err := json.Unmarshal(s.out.Bytes(), &end); err != nil || end.Event != remote.KindEnd || end.Exit != test.code || code != test.code || told.Len() > 0 {
			t.Errorf("%v as JSON: code %d, %s%s, %v", test.err, code, &s.out, &told, err)
		}
	}
}

func TestEventsAsJSON(t *testing.T) {
	s := newShown(true, true)
	s.event(writing(1, 2))
	s.event(deviceEvent(true, false, true))
	for line := range strings.Lines(s.out.String()) {
		var e remote.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind == "" {
			t.Errorf("%s: %v", line, err)
		}
	}
	if strings.Count(s.out.String(), "\n") != 2 || s.err.Len() > 0 {
		t.Errorf("printed:\n%s%s", &s.out, &s.err)
	}
}

func TestQuestionsAboutDevices(t *testing.T) {
	phone := netip.MustParseAddr("192.168.1.5")
	for answer, want := range map[string]bool{"yes\n": true, " YES \n": true, "y\n": false, "no\n": false, "\n": false, "": false} {
		s := newShown(false, false)
		g := &gatekeeper{in: strings.NewReader(answer), show: s.show}
		if got := g.confirmDevice(t.Context(), "Phone\x1b[2J", phone); got != want {
			t.Errorf("%q: %v", answer, got)
		}
		if text := s.err.String(); !strings.Contains(text, `"Phone\x1b[2J" at 192.168.1.5`) || strings.Contains(text, "\x1b") {
			t.Errorf("asked %q", text)
		}
	}
	in, _ := io.Pipe()
	s := newShown(false, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if (&gatekeeper{in: in, show: s.show}).confirmDevice(ctx, "Phone", phone) || !strings.Contains(s.err.String(), "waits no longer") {
		t.Errorf("no device answered: %s", &s.err)
	}
	in.Close()
}

func TestTextsOfDevices(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	d := remote.Device{Connected: true, Since: at, Profiles: []string{"a", "b"}, DefaultProfile: "b"}
	if got := fmt.Sprint(stateText(d), "|", gameText(d), "|", profilesText(d)); got != "here since 03:04:05|stopped|a, b*" {
		t.Errorf("got %s", got)
	}
	d.Connected, d.Running, d.RunningSince = false, true, at
	if got := fmt.Sprint(stateText(d), "|", gameText(d)); got != "gone since 03:04:05|runs since 03:04:05" {
		t.Errorf("got %s", got)
	}
	d.Running, d.End = false, "crashed after 1s"
	if got := gameText(d); got != "crashed after 1s" {
		t.Errorf("got %s", got)
	}
}
