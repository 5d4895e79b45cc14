package splash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/app/update"
	"collet/assets"
	"collet/netproto/compat"
)

// fullInfo has all details of an end, bareInfo none.
func fullInfo(e update.End) EndInfo {
	info := EndInfo{
		Target: "Linux-x64", Server: "play.example.org:4000", Path: "/home/ada/Games/EmberReach",
		Needed: 412_000_000, Free: 51_000_000, Volume: "/home", RetryAfter: 20 * time.Minute,
		Holders: "scand (process 71)", Vanished: true,
		Astray:     []string{"Resources/Core.zip", "Resources/Art.zip", "Resources/Levels.zip", "Resources/Sound.zip"},
		RolledBack: true, Client: "L5-344f237d92ca82f0", Floor: 7, Offered: true, Code: "R9-12-536c49c9",
		Differences: sampleDifferences(), Allowed: true,
		StoreURL: "https://store.example.org/ember", WebsiteURL: "https://example.org/get", PlayOffline: true,
	}
	if e.Outcome == update.Failed {
		info.Fault = &update.Fault{Cause: e.Cause, Subject: "Resources/Core.zip"}
	}
	return info
}

// variants are the details of an end, from all to none.
func variants(e update.End) map[string]EndInfo {
	full, noURL := fullInfo(e), fullInfo(e)
	noURL.Astray = noURL.Astray[:1]
	noURL.Volume, noURL.Holders, noURL.Vanished = "", "", false
	noURL.StoreURL, noURL.WebsiteURL, noURL.PlayOffline, noURL.RolledBack = "", "", false, false
	noURL.Client, noURL.Floor, noURL.Offered, noURL.Allowed, noURL.ServerOlder = "", 0, false, false, true
	noURL.Differences = &compat.Differences{Age: compat.ClientNewer, Untold: true}
	noURL.Unloadable = "/home/ada/Games/EmberReach/EmberReach.so"
	all := map[string]EndInfo{"1 all is known": full, "2 no page, nothing to play": noURL, "3 nothing is known": {}}
	if e.Outcome == update.ServerMissingNativeUpdate {
		full.Withheld = true
		all["4 withheld"] = full
	}
	return all
}

func TestDialogs(t *testing.T) {
	var out strings.Builder
	texts := assets.TextsFor("en")
	for _, e := range update.Ends() {
		all := variants(e)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(&out, "== %s %s: %s\n%s\n", e.Outcome, e.Cause, name[2:], printed(ComposeEnd(e, all[name], texts)))
		}
	}
	for _, name := range []string{"way", "names"} {
		fmt.Fprintf(&out, "== %s: %s\n%s\n", update.Failed, name, printed(ofDisk(name, texts)))
	}
	golden(t, "dialogs.en.txt", out.String())
}

// ofDisk is the dialog of a disk fault with a special text: something in the way of a file, or no room for more files.
func ofDisk(name string, texts assets.Texts) Dialog {
	info := EndInfo{
		Path: "/home/ada/Games/EmberReach", Needed: 412_000_000, Free: 9_510_000_000, Volume: "/home", PlayOffline: true,
		NoNames: name == "names", InTheWay: name == "way",
	}
	cause, subject := update.DiskFull, info.Path
	if info.InTheWay {
		cause, subject = update.DiskFault, info.Path+"/Resources/Levels/OldHarbour.zip"
	}
	info.Fault = &update.Fault{Cause: cause, Subject: subject}
	return ComposeEnd(update.EndOf(update.Failed, cause), info, texts)
}

func printed(d Dialog) string {
	out := d.Text() + "\n"
	for i, b := range d.Buttons {
		mark := " "
		if i == d.Default {
			mark = "*"
		}
		out += strings.TrimRight(fmt.Sprintf("%s[%s] %s %s", mark, b.Label, b.Action, b.URL), " ") + "\n"
	}
	return out
}

// verbs are the words of an English next step, each with what makes it possible: one of these buttons, or nothing for a step outside
// of the window.
func verbs() map[string][]update.Action {
	anywhere := []update.Action(nil)
	return map[string][]update.Action{
		"try again": {update.Retry}, "Try again": {update.Retry}, "play offline": {update.Offline},
		"website": {update.Website}, "app store": anywhere, "full package": anywhere,
		"Start it again": {update.Play}, "repair": {update.Repair}, "Copy the report": {update.Copy},
		"Switch to": anywhere, "later": {update.Retry}, "Update to": {update.Update}, "Continue": {update.Proceed},
		"report this code": anywhere,
	}
}

// Every message ends in a next step that is possible with the buttons on the screen.
func TestEveryDialogEndsInANextStep(t *testing.T) {
	for _, language := range shownLanguages(t) {
		texts := assets.TextsFor(language)
		for _, e := range update.Ends() {
			for name, info := range variants(e) {
				d := ComposeEnd(e, info, texts)
				if !e.Shown() {
					if len(d.Buttons) != 0 || d.Title == "" || d.Body == "" {
						t.Errorf("%s, %s: an end that is not shown is %+v", language, e.Key, d)
					}
					continue
				}
				checkNextStep(t, language, fmt.Sprint(language, ", ", e.Key, ", ", name), d)
			}
		}
	}
}

// checkNextStep: the body is what happened and what to do, in sentences. What an English one says to do is possible; the other languages
// say the same by their keys.
func checkNextStep(t *testing.T, language, name string, d Dialog) {
	t.Helper()
	paragraphs := strings.Split(d.Body, "\n\n")
	step := paragraphs[len(paragraphs)-1]
	if len(paragraphs) != 2 || !strings.HasSuffix(step, ".") && !strings.HasSuffix(step, "。") {
		t.Errorf("%s: body is %q", name, d.Body)
	}
	if language != "en" {
		return
	}
	words := verbs()
	said := 0
	for word, needs := range words {
		if !strings.Contains(step, word) {
			continue
		}
		said++
		if len(needs) > 0 && !slices.ContainsFunc(needs, d.Offers) {
			t.Errorf("%s: %q speaks of %q, but the buttons are %v", name, step, word, d.Buttons)
		}
	}
	if said == 0 {
		t.Errorf("%s: %q says nothing to do", name, step)
	}
	for _, action := range []update.Action{update.Offline, update.Website} {
		mentioned := slices.ContainsFunc(wordsFor(words, action), func(word string) bool {
			return strings.Contains(step, word)
		})
		if d.Offers(action) != mentioned {
			t.Errorf("%s: a button for %q is there: %v; the text speaks of it: %v", name, action, d.Offers(action), mentioned)
		}
	}
}

func wordsFor(words map[string][]update.Action, action update.Action) []string {
	var found []string
	for word, needs := range words {
		if slices.Contains(needs, action) {
			found = append(found, word)
		}
	}
	return found
}

// Buttons have the table's order, without those that have no function; the last one always ends the dialog.
func TestButtonsFollowTheTable(t *testing.T) {
	texts := assets.TextsFor("en")
	for _, e := range update.Ends() {
		for name, info := range variants(e) {
			d := ComposeEnd(e, info, texts)
			var got []update.Action
			for _, b := range d.Buttons {
				got = append(got, b.Action)
				if b.Label == "" || strings.Contains(b.Label, ".") {
					t.Errorf("%s: label %q", e.Key, b.Label)
				}
				if page := b.Action == update.Store || b.Action == update.Website; page != (b.URL != "") {
					t.Errorf("%s: button %+v", e.Key, b)
				}
			}
			actions := e.Actions
			if e.Outcome == update.UpdaterOutdated && info.ServerOlder {
				actions = update.EndOf(update.ClientTooNew, update.NoCause).Actions
			}
			if info.Withheld {
				actions = []update.Action{update.Retry, update.Offline, update.Details, update.Quit}
			}
			want := slices.DeleteFunc(slices.Clone(actions), func(a update.Action) bool {
				return a == update.Store && info.StoreURL == "" || a == update.Website && info.WebsiteURL == "" ||
					a == update.Offline && (!info.PlayOffline || info.Allowed && slices.Contains(actions, update.Proceed)) || a == update.Update && !info.Offered || a == update.Proceed && !info.Allowed
			})
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: buttons %v, want %v", e.Key, name, got, want)
			}
			if e.Shown() && got[len(got)-1] != update.Quit {
				t.Errorf("%s, %s: the last button is %v", e.Key, name, got[len(got)-1])
			}
		}
	}
}

func TestDefaultButton(t *testing.T) {
	for _, c := range []struct {
		actions []update.Action
		want    int
	}{
		{nil, 0}, {[]update.Action{update.Quit}, 0}, {[]update.Action{update.Retry, update.Quit}, 0},
		{[]update.Action{update.Details, update.Quit}, 1}, {[]update.Action{update.Details, update.Retry, update.Quit}, 1},
		{[]update.Action{update.Details}, 0},
	} {
		var buttons []Button
		for _, a := range c.actions {
			buttons = append(buttons, Button{Action: a})
		}
		if got := defaultButton(buttons); got != c.want {
			t.Errorf("default of %v is %d, want %d", c.actions, got, c.want)
		}
	}
}

// Texts from a server or file names can't break the dialog.
func TestDialogsAreCleaned(t *testing.T) {
	const nasty = "evil\x1b[2J\nQuit now \u202e{path}\u0000"
	texts := assets.TextsFor("en")
	info := EndInfo{
		Server: nasty, Target: nasty, Path: nasty, Unloadable: nasty, Fault: &update.Fault{Subject: nasty},
		Differences: &compat.Differences{
			Items: slices.Repeat([]compat.Difference{{Name: nasty, Class: compat.ClassAdded}}, 50), Client: compat.Build{ID: nasty, Branch: nasty},
		},
		RetryAfter: time.Hour, Needed: -1, Client: nasty, Code: nasty,
	}
	for _, e := range update.Ends() {
		d := ComposeEnd(e, info, texts)
		if strings.ContainsAny(d.Text(), "\x1b\x00\u202e") || strings.Count(d.Body, "\n") > 3+maxRows+3 {
			t.Errorf("%s: %q", e.Key, d.Body)
		}
		if strings.Count(d.Body, "evil") > maxRows+4 {
			t.Errorf("%s: too long: %q", e.Key, d.Body)
		}
	}
}

// For a read-only folder the next step names another folder, if there is one that needs no permission.
func TestRemedyOfAFolderThatCantBeWritten(t *testing.T) {
	for _, language := range shownLanguages(t) {
		texts := assets.TextsFor(language)
		for _, e := range update.Ends() {
			info := fullInfo(e)
			without := ComposeEnd(e, info, texts)
			info.Remedy = `"EmberReach" "--UserWritablePath=*"`
			d := ComposeEnd(e, info, texts)
			if e.Cause != update.NoPermission {
				if d.Text() != without.Text() {
					t.Errorf("%s, %s: speaks of a remedy: %q", language, e.Key, d.Body)
				}
				continue
			}
			checkNextStep(t, language, language+", "+e.Key, d)
			if !strings.Contains(d.Body, info.Remedy) {
				t.Errorf("%s: %q does not say how to start the game", language, d.Body)
			}
		}
	}
}
