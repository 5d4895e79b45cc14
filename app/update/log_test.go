package update_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/app/update"
	"collet/netproto/compat"

	"github.com/rs/zerolog"
)

// logged runs an update of w and returns its log, one map per line.
func logged(t *testing.T, w *world, level zerolog.Level) (lines []map[string]any) {
	t.Helper()
	var out bytes.Buffer
	u := w.updater(func(c *update.Config) { c.Log = zerolog.New(zerolog.SyncWriter(&out)).Level(level) })
	w.letGo(u.Run(t.Context()))
	for text := range strings.Lines(out.String()) {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		lines = append(lines, line)
	}
	return lines
}

// with returns the lines with one message.
func with(lines []map[string]any, message string) []map[string]any {
	return slices.DeleteFunc(slices.Clone(lines), func(l map[string]any) bool { return l["message"] != message })
}

func phasesOf(lines []map[string]any) string {
	var names []string
	for _, l := range with(lines, "phase") {
		names = append(names, l["phase"].(string))
	}
	return strings.Join(names, " ")
}

func TestOneLineForEachPhase(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25))
		w.cut = func(fetch int, sent int64) error {
			if fetch == 1 && sent == 10 {
				return lost()
			}
			return nil
		}
		lines := logged(t, w, zerolog.InfoLevel)
		const want = "connecting judging listing comparing fetching waiting connecting judging listing comparing fetching committing done"
		if got := phasesOf(lines); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		keys := []map[string]any{
			{"phase": "connecting", "mode": "undecided", "attempt": 1.0, "bytes": 0.0, "verdict": nil, "rule": nil, "cause": nil, "file": nil},
			{"phase": "judging", "mode": "undecided", "attempt": 1.0, "verdict": "ACCEPT", "rule": 11.0},
			{"phase": "listing", "mode": "resources", "attempt": 1.0, "verdict": "ACCEPT", "rule": 11.0, "cause": nil},
			{"phase": "comparing"},
			{"phase": "fetching", "bytes": 0.0},
			{"phase": "waiting", "cause": "interrupted", "bytes": 10.0, "attempt": 1.0, "wait": 500.0, "error": "interrupted: game.example:4000: reset by peer"},
			{"phase": "connecting", "attempt": 2.0, "cause": nil, "mode": "resources"},
		}
		for i, want := range keys {
			line := with(lines, "phase")[i]
			for key, value := range want {
				if line[key] != value {
					t.Errorf("line %d (%s): %s is %v, want %v", i+1, line["phase"], key, line[key], value)
				}
			}
		}
		last := lines[len(lines)-1]
		for key, value := range map[string]any{
			"message": "update ended", "level": "info", "outcome": "ResourcesReady", "phase": "done", "mode": "resources",
			"bytes": 25.0, "files": 1.0, "attempt": 2.0, "took": 500.0, "cause": nil, "error": nil,
		} {
			if last[key] != value {
				t.Errorf("outcome line: %s is %v, want %v", key, last[key], value)
			}
		}
	})
}

func TestFilesAreLoggedForThoseWhoLookClosely(t *testing.T) {
	bubble(t, func(t *testing.T) {
		lines := logged(t, newWorld(t, pack("A.zip", 5), pack("B.zip", 5)), zerolog.DebugLevel)
		const want = "connecting judging listing comparing fetching verifying fetching verifying fetching committing done"
		if got := phasesOf(lines); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		var files []string
		for _, l := range with(lines, "phase") {
			if l["phase"] == "verifying" {
				files = append(files, l["file"].(string))
			}
		}
		if !slices.Equal(files, []string{"A.zip", "B.zip"}) {
			t.Errorf("verified %v", files)
		}
	})
}

func TestFailureIsLoggedAsSuch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 5))
		w.hold = func(_ context.Context, method string) error {
			if method == "Write" {
				return &update.Fault{Cause: update.DiskFull, Subject: "A.zip", Err: errors.New("no space left")}
			}
			return nil
		}
		lines := logged(t, w, zerolog.InfoLevel)
		last := lines[len(lines)-1]
		if last["level"] != "error" || last["outcome"] != "Failed" || last["cause"] != "disk full" || last["error"] != "disk full: A.zip: no space left" {
			t.Errorf("outcome line: %v", last)
		}
	})
}

// TestUnknownVerdictIsSaidAloud: the outcome alone would not show that the server is newer.
func TestUnknownVerdictIsSaidAloud(t *testing.T) {
	for v, level := range map[compat.Verdict]string{200: "warn", compat.UpdaterMismatch: "info", compat.Accept: "info"} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			w.judge = func(int) (compat.Judgement, error) {
				return compat.Judgement{Verdict: v, Rule: 42, Compatibility: "c9", RetryAfter: 7}, nil
			}
			text := "server judged"
			if level == "warn" {
				text = "server gave a verdict that only a newer updater knows"
			}
			lines := with(logged(t, w, zerolog.InfoLevel), text)
			if len(lines) != 1 {
				t.Fatalf("%s: %d lines", v, len(lines))
			}
			for key, value := range map[string]any{"level": level, "verdict": v.String(), "rule": 42.0, "compatibility": "c9", "retry_after": 7.0} {
				if lines[0][key] != value {
					t.Errorf("%s: %s is %v, want %v", v, key, lines[0][key], value)
				}
			}
		})
	}
}

// TestTroubleWithLettingGoIsOnlyLogged checks that errors while closing do not change the outcome.
func TestTroubleWithLettingGoIsOnlyLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 5))
		w.closing, w.abandoning = errors.New("already gone"), errors.New("handle is bad")
		lines := logged(t, w, zerolog.InfoLevel)
		for message, text := range map[string]string{"close the connection": "already gone", "could not release the parts": "handle is bad"} {
			if found := with(lines, message); len(found) != 1 || found[0]["error"] != text || found[0]["level"] != "warn" {
				t.Errorf("%s: %v", message, found)
			}
		}
		if last := lines[len(lines)-1]; last["outcome"] != "ResourcesReady" {
			t.Errorf("ended %v", last["outcome"])
		}
	})
}

// TestWaitCountsFromTheFault checks that the time for closing is part of the pause.
func TestWaitCountsFromTheFault(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.letting = 300 * time.Millisecond
		w.judge = func(connect int) (compat.Judgement, error) {
			if connect == 1 {
				return compat.Judgement{}, lost()
			}
			return compat.Judgement{}, nil
		}
		w.run(t.Context())
		if want := times(2); !slices.Equal(w.connects, want) {
			t.Errorf("connected at %v, want %v", w.connects, want)
		}
	})
}
