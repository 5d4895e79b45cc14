package splash

import (
	"os"
	"testing"
	"time"
	_ "unsafe" // for go:linkname
)

// remembers is how long the toolkit keeps what it made for widgets that it has not drawn.
//
//go:linkname remembers fyne.io/fyne/v2/internal/cache.ValidDuration
var remembers time.Duration

// TestWindowOutlivesSleep checks that the window survives a night of suspend and a change of the clock by a year.
func TestWindowOutlivesSleep(t *testing.T) {
	if remembers < 365*24*time.Hour {
		t.Errorf("the toolkit forgets what is on the screen after %v", remembers)
	}
	if value, there := os.LookupEnv("FYNE_CACHE"); there {
		t.Errorf("games inherit FYNE_CACHE=%s", value)
	}
}
