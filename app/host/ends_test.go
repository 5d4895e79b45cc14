package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"collet/app/acquire"
	"collet/app/install"
	"collet/app/splash"
	"collet/app/update"
	"collet/assets"
	"collet/netproto"
	"collet/netproto/compat"
)

// notebook is a view that writes down what it is shown, and answers as it was told.
type notebook struct {
	lines  []string
	toasts []splash.Toast
	asked  []outcome
	more   bool          // a toast is pressed
	answer update.Action // to everything
}

func (n *notebook) Follow(context.Context, watcher) func() { return func() {} }
func (n *notebook) Note(text string)                       { n.lines = append(n.lines, text) }
func (n *notebook) ReleaseNotes(string)                    {}
func (n *notebook) Report(acquire.Report)                  {}
func (n *notebook) Toast(_ context.Context, t splash.Toast) bool {
	n.toasts = append(n.toasts, t)
	return n.more
}
func (n *notebook) Ask(_ context.Context, e outcome) update.Action {
	n.asked = append(n.asked, e)
	return n.answer
}

// TestPagesThatServersName: a button only opens pages of known shops, or of an authenticated server.
func TestPagesThatServersName(t *testing.T) {
	for page, want := range map[string][2]bool{ // of an unauthenticated and of an authenticated server
		"https://play.google.com/store/apps/details?id=x": {true, true},
		"https://APPS.apple.com/app/id1":                  {true, true},
		"https://studio.itch.io/game":                     {true, true},
		"https://evil-itch.io/":                           {false, true},
		"https://play.google.com:8443/x":                  {false, true},
		"https://play.google.com@evil.example/":           {false, false},
		"https://play.google.com.evil.example/":           {false, true},
		"https://example.org/get":                         {false, true},
		"http://play.google.com/store":                    {false, false},
		"file:///etc/passwd":                              {false, false},
		"javascript:alert(1)":                             {false, false},
		"market://details?id=x":                           {false, false},
		"https://":                                        {false, false},
		"":                                                {false, false},
		"\x00":                                            {false, false},
	} {
		for i, secure := range []bool{false, true} {
			if got := opens(page, secure); got != want[i] {
				t.Errorf("%q, vouched for %t: %t", page, secure, got)
			}
		}
	}
}

// TestWhatAVerdictExplains looks at what reaches the dialogs.
func TestWhatAVerdictExplains(t *testing.T) {
	h := hostWith(setup{texts: assets.TextsFor("en"), log: zerolog.Nop(), target: "Linux-x64"})
	h.meta.CompatibilityVersion = version6
	h.reply = serverReply{tags: netproto.AnswerTags{Floor: 7, StoreURL: "https://play.google.com/x", MessageKey: compat.PopupPinned, Message: "Ask us."}}
	pinned := outcome{outcome: update.PlayerPinned, status: update.Status{Judgement: compat.Judgement{Verdict: compat.UpdateBinaries, Rule: compat.RuleFloor}}}
	info := h.endInfo(pinned)
	if info.Floor != 7 || !info.Offered || info.Message != "Ask us." || info.StoreURL == "" || info.Client != version6 {
		t.Errorf("%+v", info)
	}
	pinned.status.Judgement.Verdict = compat.UpdateViaStore
	if info := h.endInfo(pinned); info.Offered {
		t.Error("an update is offered that a store has")
	}
	h.settings.Client.StoreUrl = "https://our.example.org"
	if info := h.endInfo(pinned); info.StoreURL != "https://our.example.org" {
		t.Errorf("the server's page goes before ours: %q", info.StoreURL)
	}
	if info := h.endInfo(outcome{outcome: update.ClientTooNew}); info.Message != "" {
		t.Errorf("words for another popup: %q", info.Message)
	}
	h.reply.updater, h.reply.tags.MessageKey = compat.UpdaterNewer, compat.PopupNewer
	if info := h.endInfo(outcome{outcome: update.UpdaterOutdated}); !info.ServerOlder || info.Message != "Ask us." {
		t.Errorf("%+v", info)
	}
	loop := outcome{outcome: update.UpdateLoop, status: update.Status{Offer: update.Offer{Rule: 9, Revision: 12, Hash: "536c49c90dc3ebf0"}}}
	if info := h.endInfo(loop); info.Code != "R9-12-536c49c9" {
		t.Errorf("code %q", info.Code)
	}
	if info := h.endInfo(outcome{outcome: update.Maintenance}); info.Code != "" || info.Differences != nil || info.Allowed {
		t.Errorf("%+v", info)
	}
	h.reply.tags.Warnings = compat.WarnComponents
	if info := h.endInfo(outcome{outcome: update.ComponentsMismatch}); info.Differences == nil || !info.Allowed {
		t.Errorf("%+v", info)
	}
}

// TestEveryPopupHasAnEnd holds the ends against the table of popups.
func TestEveryPopupHasAnEnd(t *testing.T) {
	shown := map[string]bool{}
	for _, e := range update.Ends() {
		if key := (serverReply{}).popup(e.Outcome); key != "" {
			shown[key] = true
			if !e.Shown() {
				t.Errorf("%s has the popup %s and is not shown", e.Outcome, key)
			}
		}
	}
	for _, key := range compat.Popups() {
		if !shown[key] {
			t.Errorf("%s belongs to no end", key)
		}
	}
}

// TestAnswersToPopups: what a person presses becomes the next attempt.
func TestAnswersToPopups(t *testing.T) {
	for action, want := range map[update.Action]struct{ again, agreed, offline bool }{
		update.Retry: {true, false, false}, update.Update: {true, true, false}, update.Proceed: {true, false, true},
		update.Offline: {true, false, true}, update.Quit: {false, false, false},
	} {
		h := hostWith(setup{}, func(h *host) { h.acceptedUpdate = true; h.offline = true })
		again := h.decide(t.Context(), &notebook{answer: action}, outcome{outcome: update.PlayerPinned})
		if again != want.again || h.acceptedUpdate != want.agreed || h.offline != want.offline {
			t.Errorf("%s: again %t, agreed %t, offline %t", action, again, h.acceptedUpdate, h.offline)
		}
	}
	h := hostWith(setup{target: "Linux-x64"}, func(h *host) { h.canAsk = true })
	if !h.policy(update.Config{}).AskPinned || !h.policy(update.Config{}).Prefetch {
		t.Error("a person is not asked")
	}
	if !h.policy(update.Config{}).First {
		t.Error("what arrives where nothing can be played is called an update")
	}
	if h.updates.loaded = true; h.policy(update.Config{}).First {
		t.Error("an update of an installed game is called its installation")
	}
	if h.acceptedUpdate = true; h.policy(update.Config{}).AskPinned {
		t.Error("a person who agreed is asked again")
	}
}

// TestWhoWasToldMayPlay: an incomplete set starts only after the player's confirmation; the next attempt asks again.
func TestWhoWasToldMayPlay(t *testing.T) {
	for _, test := range []struct {
		end    outcome
		answer update.Action
		dir    *install.Dir
		want   bool
	}{
		{outcome{outcome: update.SetIncomplete}, update.Offline, &install.Dir{}, true},
		{outcome{outcome: update.SetIncomplete}, update.Retry, &install.Dir{}, false},
		{outcome{outcome: update.Failed}, update.Offline, &install.Dir{}, false},
		{outcome{outcome: update.Failed}, update.Offline, nil, true}, // told that the install could not be opened
	} {
		h := hostWith(setup{}, func(h *host) { h.dir = test.dir; h.playIncomplete = true })
		h.decide(t.Context(), &notebook{answer: test.answer}, test.end)
		if h.playIncomplete != test.want {
			t.Errorf("%s, %s: plays it all the same: %t", test.end.outcome, test.answer, h.playIncomplete)
		}
	}
}

// TestReportOfDifferences: the report names all of them, however short the dialog is.
func TestReportOfDifferences(t *testing.T) {
	h := hostWith(setup{log: zerolog.Nop()})
	server, client := sampleManifest(t), sampleManifest(t)
	for i := range 40 {
		server.Entries = append(server.Entries, compat.Entry{Name: "New" + string(rune('A'+i/26)) + string(rune('a'+i%26)), WireID: uint16(i + 10), Hash: 5})
	}
	if err := server.Seal(); err != nil {
		t.Fatal(err)
	}
	h.reply.differences = compat.DiffManifests(&server, &client)
	last := outcome{outcome: update.ComponentsMismatch, status: update.Status{Judgement: compat.Judgement{Verdict: compat.ComponentsMismatch, Rule: 9, Revision: 12}}}
	h.last.Store(&last)
	report := h.report()
	if strings.Count(report, "+ New") != 40 || !strings.Contains(report, "COMPONENTS_MISMATCH by rule 9") || !strings.Contains(report, "2 components are the same") {
		t.Errorf("report:\n%s", report)
	}
	h.last.Store(&outcome{outcome: update.UpdateLoop, status: update.Status{Offer: update.Offer{Rule: 5, Revision: 1, Hash: "00112233"}}})
	if report := h.report(); !strings.Contains(report, "code R5-1-00112233") {
		t.Errorf("report:\n%s", report)
	}
}

// TestPlayingWhatIsInstalled: an attempt that the player cuts short is followed by one without a server, and nothing else is.
func TestPlayingWhatIsInstalled(t *testing.T) {
	h := hostWith(setup{log: zerolog.Nop()})
	h.playInstalled() // no attempt is under way
	waits := func(ctx context.Context) outcome { <-ctx.Done(); return outcome{outcome: update.Cancelled} }
	if _, cut := h.attemptOnce(t.Context(), func(ctx context.Context) outcome { h.playInstalled(); return waits(ctx) }); !cut {
		t.Error("the attempt was not cut short")
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, cut := h.attemptOnce(ctx, func(ctx context.Context) outcome { h.playInstalled(); cancel(); return waits(ctx) }); cut {
		t.Error("a client that is told to end goes on")
	}
	if e, cut := h.attemptOnce(t.Context(), func(context.Context) outcome { return outcome{outcome: update.Maintenance} }); cut || e.outcome != update.Maintenance {
		t.Errorf("an attempt of its own end: %t, %s", cut, e.outcome)
	}
	h.running = true
	if _, cut := h.attemptOnce(t.Context(), func(context.Context) outcome { h.playInstalled(); return outcome{} }); cut {
		t.Error("a game that runs already is started once more")
	}
}

// TestEveryDialogAboutAServerOffersToPlay: after any answer of a server the installed game can be played.
func TestEveryDialogAboutAServerOffersToPlay(t *testing.T) {
	h := hostWith(setup{texts: assets.TextsFor("en"), log: zerolog.Nop(), target: "Linux-x64"})
	for _, end := range update.Ends() {
		e := outcome{outcome: end.Outcome, info: splash.EndInfo{PlayOffline: true}}
		if end.Cause != update.NoCause {
			e.fault = &update.Fault{Cause: end.Cause, Err: context.DeadlineExceeded}
		}
		d := splash.ComposeEnd(e.row(), h.endInfo(e), h.texts)
		game := e.outcome == update.RuntimeFailed || e.outcome == update.AlreadyRunning
		if want := end.Shown() && !game; d.Offers(update.Offline) != want {
			t.Errorf("%s %s: offers to play what is installed: %t", end.Outcome, end.Cause, !want)
		}
		h.windowless = true
		if want := map[bool]update.Action{true: update.Offline, false: update.Quit}[end.Shown() && !game && e.outcome != update.SetIncomplete]; h.answer(e) != want {
			t.Errorf("%s %s: without a window the answer is %s", end.Outcome, end.Cause, h.answer(e))
		}
	}
}

// TestTroubleshooting: docs/TROUBLESHOOTING.md has each exit code of a start with its headline.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "TROUBLESHOOTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	texts := assets.TextsFor("en")
	for _, end := range update.Ends() {
		if end.Outcome == update.Redirected || end.Outcome == update.BinariesStaged {
			continue // no player sees the first one, and the second one has the code of a start
		}
		row := fmt.Sprintf("| %d | *%s*", end.Exit, texts.Get(end.Key+".title"))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/TROUBLESHOOTING.md has no %q", row)
		}
	}
}
