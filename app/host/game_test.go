//go:build unix

package host

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"collet/app/splash"
	"collet/app/update"
	"collet/assets"
	"collet/build/testprograms"
	"collet/netproto"
	"collet/netproto/compat"
)

// playing is a host whose built-in game is ready to run, with what a server that tolerates differences said.
func playing(t *testing.T, program string, game ...string) *host {
	t.Helper()
	dir := t.TempDir()
	h := hostWith(setup{exe: program, folder: dir, base: "Lathe", target: "Linux-x64", paths: paths{install: dir, data: dir}, log: zerolog.Nop(), texts: assets.TextsFor("en"), opt: Options{Args: append([]string{"--headless"}, game...), Generation: "c1"}})
	var err error
	if h.settings, err = h.packed.settings(filepath.Join(dir, "Lathe.toml")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.startEmbedded(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, later := older(t)
	h.reply = serverReply{tags: netproto.AnswerTags{Warnings: compat.WarnComponents}, differences: compat.DiffManifests(&later, &client)}
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// patient is a view whose toasts stay until their time is over or the context ends.
type patient struct {
	notebook
	took time.Duration
}

func (p *patient) Toast(ctx context.Context, t splash.Toast) bool {
	begun := time.Now()
	<-ctx.Done()
	p.took = time.Since(begun)
	return false
}

// TestToleranceBesideTheGame: the game runs while a developer reads; what they press decides what becomes of it.
func TestToleranceBesideTheGame(t *testing.T) {
	program := testprograms.Client(t)
	const long = "1000000" // frames
	for _, test := range []struct {
		name    string
		view    *notebook
		change  func(*host)
		outcome update.Outcome
		running bool
		toasts  int
		asked   int
	}{
		{"read and gone", &notebook{}, nil, update.ResourcesReady, true, 1, 0},
		{"looked at, go on", &notebook{more: true, answer: update.Proceed}, nil, update.ResourcesReady, true, 1, 1},
		{"looked at, quit", &notebook{more: true, answer: update.Quit}, nil, update.Cancelled, false, 1, 1},
		{"looked at, again", &notebook{more: true, answer: update.Retry}, func(h *host) { h.offline = true }, update.ResourcesReady, true, 1, 1},
		{"nothing to tell", &notebook{more: true, answer: update.Quit}, func(h *host) { h.reply.tags.Warnings = 0 }, update.ResourcesReady, true, 0, 0},
		{"a player", &notebook{more: true, answer: update.Quit}, func(h *host) { h.reply.differences = compat.Differences{Untold: true} }, update.ResourcesReady, true, 0, 0},
		{"a developer without a server's text", &notebook{}, func(h *host) {
			h.reply.differences = compat.Differences{Untold: true}
			h.settings.Compatibility.Development = true
		}, update.ResourcesReady, true, 1, 0},
	} {
		h := playing(t, program, "--frames", long)
		if test.change != nil {
			test.change(h)
		}
		e := h.playAndToast(t.Context(), test.view)
		if e.outcome != test.outcome || h.running != test.running || (h.child != nil) != test.running {
			t.Errorf("%s: %s, running %t; %s", test.name, e.outcome, h.running, e.reason())
		}
		if len(test.view.toasts) != test.toasts || len(test.view.asked) != test.asked {
			t.Errorf("%s: %d toasts, %d questions", test.name, len(test.view.toasts), len(test.view.asked))
		}
		for _, asked := range test.view.asked {
			if info := h.endInfo(asked); asked.outcome != update.ComponentsMismatch || !info.Allowed {
				t.Errorf("%s: asked %+v", test.name, asked)
			}
		}
	}
	h, stays := playing(t, program, "--frames", "1"), &patient{}
	e := h.playAndToast(t.Context(), stays)
	if e.outcome != update.ResourcesReady || stays.took > time.Minute {
		t.Errorf("a game that is over: %s, the toast stayed for %v", e.outcome, stays.took)
	}
}
