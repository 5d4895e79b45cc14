package splash

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collet/app/update"
	"collet/assets"
	"collet/netproto/compat"
)

// march and february are the times of the two builds in the tests.
var (
	march    = time.Date(2026, 3, 2, 14, 5, 0, 0, time.UTC).Unix()
	february = time.Date(2026, 2, 11, 9, 30, 0, 0, time.UTC).Unix()
)

// manifest makes a manifest with these names; each has its position as id, and a hash that depends on salt.
func manifest(b compat.Build, salt string, names ...string) *compat.Manifest {
	m := &compat.Manifest{Mode: compat.ManifestFull, Build: b}
	for i, name := range names {
		m.Entries = append(m.Entries, compat.Entry{
			Name: name, WireID: uint16(i + 1), Hash: compat.ComponentHash(name + salt), ChangedAt: b.Time,
		})
	}
	if err := m.Seal(); err != nil {
		panic(err)
	}
	return m
}

func serverBuild() compat.Build {
	return compat.Build{Logic: 7, Time: march, Seq: 841, ID: "9f2ac41", Branch: "main"}
}

func clientBuild() compat.Build {
	return compat.Build{Logic: 7, Time: february, Seq: 812, ID: "17be003", Branch: "main"}
}

// sampleDifferences has one difference of each kind but one.
func sampleDifferences() *compat.Differences {
	server := manifest(serverBuild(), "", "Camera", "Mailbox", "Wallet")
	client := manifest(clientBuild(), "", "Camera", "Wallet")
	client.Entries[0].Hash++
	d := compat.DiffManifests(server, client)
	return &d
}

// manyDifferences has n components that exist only on the server.
func manyDifferences(n int) *compat.Differences {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("Component%02d", i))
	}
	d := compat.DiffManifests(manifest(serverBuild(), "", names...), manifest(clientBuild(), ""))
	return &d
}

func TestDifferencesInWords(t *testing.T) {
	texts := assets.TextsFor("en")
	got := strings.Join(differences(*sampleDifferences(), texts), "\n")
	want := `Client is older by 19 d, rebuild the client.
client ` + compat.Derived(7, sampleDifferences().Client.Components) + ` 17be003 main #812 2026-02-11 09:30Z
server ` +
		compat.Derived(7, sampleDifferences().Server.Components) + ` 9f2ac41 main #841 2026-03-02 14:05Z
~ Camera (client 2026-02-11, server 2026-03-02)
+ Mailbox (new there)
# Wallet (id on client 2, on server 3)`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	turned := compat.DiffManifests(manifest(clientBuild(), "", "A", "B"), manifest(serverBuild(), "", "A", "C"))
	got = strings.Join(differences(turned, texts), "\n")
	for _, line := range []string{"Server is older by 19 d, rebuild the server.", "+ B (removed in the newer build)", "- C (new there)"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
}

// If the builds are unknown, no age is claimed.
func TestDifferencesWithoutAnAge(t *testing.T) {
	texts := assets.TextsFor("en")
	unknown := compat.Build{Logic: compat.NoLogic, Compatibility: "custom-4"}
	d := compat.DiffManifests(manifest(unknown, "", "A"), manifest(unknown, "x", "A", "B"))
	got := strings.Join(differences(d, texts), "\n")
	want := "Cannot tell which side is older.\nclient custom-4\nserver custom-4\n~ A\n- B"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := sentence(compat.Differences{Age: compat.ClientOlder}, texts); got != "Client is older, rebuild the client." {
		t.Error(got)
	}
	if got := differences(compat.Differences{Untold: true}, texts); got[len(got)-1] != texts.Get("differ.untold") {
		t.Errorf("%q", got)
	}
}

func TestLongListsAreCut(t *testing.T) {
	texts := assets.TextsFor("en")
	for n, want := range map[int]string{12: "+ Component11 (new there)", 13: "and 1 more, see the log", 300: "and 288 more, see the log"} {
		lines := differences(*manyDifferences(n), texts)
		if last := lines[len(lines)-1]; last != want || len(lines) > 3+maxRows+1 {
			t.Errorf("%d differences: %d lines, the last is %q", n, len(lines), last)
		}
	}
}

func TestOperatorWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \n \n": "", "Back at noon.": "Back at noon.", "One.\n\n\n  Two.\x1b[2J\u202e\n": "One.\nTwo.\uFFFD[2J\uFFFD",
	} {
		if got := operatorWords(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := operatorWords(strings.Repeat("word ", 4000)); len(got) > maxWords+len("…") {
		t.Errorf("%d bytes are shown", len(got))
	}
	texts := assets.TextsFor("en")
	for _, e := range update.Ends() {
		if !e.Shown() {
			continue
		}
		d := ComposeEnd(e, EndInfo{Message: "The servers move on Friday."}, texts)
		if !strings.HasPrefix(d.Body, "The servers move on Friday.") || d.Title != texts.Get(e.Key+".title") {
			t.Errorf("%s: %q", e.Key, d.Body)
		}
	}
}

// If the server is older than the updater, the player is asked to wait and not to install anything.
func TestServerOlderThanTheUpdater(t *testing.T) {
	texts := assets.TextsFor("en")
	e := update.EndOf(update.UpdaterOutdated, update.NoCause)
	d := ComposeEnd(e, EndInfo{ServerOlder: true, WebsiteURL: "https://example.org"}, texts)
	if d.Title != texts.Get("end.toonew.title") || d.Offers(update.Website) || !d.Offers(update.Retry) {
		t.Errorf("%q with %v", d.Title, d.Buttons)
	}
	if d := ComposeEnd(e, EndInfo{WebsiteURL: "https://example.org"}, texts); !d.Offers(update.Website) {
		t.Errorf("%q with %v", d.Title, d.Buttons)
	}
}

// A toast has the four counts, and stays for two seconds plus three tenths of a second for each of its words.
func TestToast(t *testing.T) {
	for _, language := range shownLanguages(t) {
		s, _ := stage(t, language)
		toast := ComposeToast(*sampleDifferences(), s.texts)
		if want := 2*time.Second + time.Duration(countWords(toast.Text))*300*time.Millisecond; toast.Shown != want {
			t.Errorf("%s: shown for %v, want %v", language, toast.Shown, want)
		}
		if counts := regexp.MustCompile(`\d+`).FindAllString(toast.Text, -1); !slices.Equal(counts, []string{"1", "0", "1", "1"}) {
			t.Errorf("%s: %q has the counts %q", language, toast.Text, counts)
		}
		pressed := 0
		s.progress.setNote("a note")
		s.toast(ComposeToast(*manyDifferences(4000), s.texts), func() { pressed++ })
		if l := s.progress.note; l.Text.Text != l.whole || l.whole == "a note" {
			t.Errorf("%s: %q is cut to %q", language, l.whole, l.Text.Text)
		}
		if !s.progress.steer.more.Visible() || s.progress.steer.more.label != toast.Label {
			t.Errorf("%s: the button %q is not there", language, toast.Label)
		}
		s.progress.steer.more.press()
		s.toast(Toast{}, func() {})
		if s.progress.steer.more.Visible() || s.progress.note.whole != "a note" || pressed != 1 {
			t.Errorf("%s: %q is left, pressed %d times", language, s.progress.note.whole, pressed)
		}
	}
}

// Without components of the server there is nothing to count.
func TestToastWithoutComponents(t *testing.T) {
	for _, language := range shownLanguages(t) {
		s, _ := stage(t, language)
		toast := ComposeToast(compat.Differences{Age: compat.ClientOlder, Client: clientBuild(), Server: serverBuild(), Untold: true}, s.texts)
		if strings.Contains(toast.Text, ": 0") || !strings.Contains(toast.Text, s.texts.Get("differ.toast.untold")) {
			t.Errorf("%s: %q", language, toast.Text)
		}
		s.toast(toast, func() {})
		if l := s.progress.note; l.Text.Text != l.whole {
			t.Errorf("%s: %q is cut to %q", language, l.whole, l.Text.Text)
		}
	}
}

func TestToastTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newView(assets.TextsFor("en"))
		begun := time.Now()
		if v.Toast(t.Context(), Toast{Text: "x", Shown: 5 * time.Second}) || time.Since(begun) != 5*time.Second {
			t.Errorf("it took %v", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if v.Toast(ctx, Toast{Text: "x", Shown: 5 * time.Second}) || time.Since(begun) != time.Second {
			t.Errorf("it took %v without a waiter", time.Since(begun))
		}
		close(v.gone)
		begun = time.Now()
		if v.Toast(t.Context(), Toast{Text: "x", Shown: 5 * time.Second}) || time.Since(begun) != 0 {
			t.Errorf("it took %v without a window", time.Since(begun))
		}
	})
}

// The button of a toast ends it at once, and the covered line returns.
func TestToastIsPressed(t *testing.T) {
	s, _ := stage(t, "en")
	v, result := newView(s.texts), make(chan bool, 1)
	go func() { result <- v.Toast(t.Context(), Toast{Text: "x", Shown: time.Hour, Label: "More"}) }()
	for waiting := true; waiting; runtime.Gosched() {
		v.mu.Lock()
		waiting = len(v.early) == 0
		v.mu.Unlock()
	}
	v.open(s)
	if s.progress.note.whole != "x" || !s.progress.steer.more.Visible() {
		t.Errorf("the note says %q", s.progress.note.whole)
	}
	s.progress.steer.more.press()
	if !<-result {
		t.Error("the press was not noticed")
	}
	if s.progress.note.whole != "" || s.progress.steer.more.Visible() {
		t.Errorf("the note still says %q", s.progress.note.whole)
	}
}

// The list for a developer scrolls by keys if it is longer than the window.
func TestDifferencesScroll(t *testing.T) {
	for _, language := range shownLanguages(t) {
		s, _ := stage(t, language)
		e := update.EndOf(update.ComponentsMismatch, update.NoCause)
		s.ask(ComposeEnd(e, EndInfo{Server: "play.example.org:4000", Differences: manyDifferences(40), Allowed: true}, s.texts), func(update.Action) {})
		if s.card.body.content.MinSize().Height <= s.card.body.Size().Height {
			t.Fatalf("%s: %d rows fit into the window; the test needs more", language, maxRows)
		}
		if !s.card.body.page("End") || s.card.body.Offset.Y <= 0 {
			t.Errorf("%s: the end can't be reached", language)
		}
		if !slices.ContainsFunc(s.card.choices, func(c *choice) bool { return c.label == s.texts.Get("button.proceed") }) {
			t.Errorf("%s: no way to go on", language)
		}
	}
}
