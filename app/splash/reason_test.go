package splash

import (
	"strings"
	"testing"

	"collet/app/update"
	"collet/assets"
)

// TestReasonOfTheGamesEnd checks that the window shows the cleaned reason for the game's end, and a rollback.
func TestReasonOfTheGamesEnd(t *testing.T) {
	info := EndInfo{Reason: "reported a fatal error: no maps\x1b\u202e" + strings.Repeat(" more", 100), RolledBack: true}
	d := ComposeEnd(update.EndOf(update.RuntimeFailed, update.NoCause), info, assets.TextsFor("en"))
	if !strings.Contains(d.Body, "Reason: reported a fatal error: no maps") || !strings.Contains(d.Body, "put back") ||
		strings.ContainsAny(d.Body, "\x1b\u202e") || len(d.Body) > 700 {
		t.Errorf("%q", d.Body)
	}
	info.Unloadable = "/games/Lathe.so"
	if d = ComposeEnd(update.EndOf(update.RuntimeFailed, update.NoCause), info, assets.TextsFor("en")); strings.Contains(d.Body, "no maps") {
		t.Errorf("never ran: %q", d.Body)
	}
}
