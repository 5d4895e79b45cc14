package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"collet/app/update"
)

// noting is a view that counts notes.
type noting struct {
	view
	notes int
}

// Note implements view.
func (n *noting) Note(string) { n.notes++ }

// TestReplacedModulesAreWaitedOut: a server whose settings were changed before its modules asks again for the module that the client has
// just installed, or contradicts itself. The client waits and goes on; what an earlier start installed in vain is not waited for.
func TestReplacedModulesAreWaitedOut(t *testing.T) {
	for name, test := range map[string]struct {
		meets   update.Outcome
		guarded bool
		half    int // so often a half catalogue is met; below 0 is always
		asked   int
		ends    update.Outcome
	}{
		"installed just now":           {update.UpdateLoop, true, 2, 3, update.ResourcesReady},
		"installed just now, for good": {update.UpdateLoop, true, -1, maxWaits + 1, update.UpdateLoop},
		"installed by another start":   {update.UpdateLoop, false, -1, 1, update.UpdateLoop},
		"a contradiction":              {update.ContentMismatch, false, maxWaits, maxWaits + 1, update.ResourcesReady},
		"a contradiction for good":     {update.ContentMismatch, true, -1, maxWaits + 1, update.ContentMismatch},
		"another end":                  {update.ClientTooNew, true, -1, 1, update.ClientTooNew},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, f, asked, began := hostWith(setup{log: zerolog.Nop()}, func(h *host) { h.guarded = test.guarded }), &noting{}, 0, time.Now()
				e := h.repeatWhilePublishing(t.Context(), f, func() outcome {
					if asked++; test.half < 0 || asked <= test.half {
						return outcome{outcome: test.meets}
					}
					return outcome{outcome: update.ResourcesReady}
				})
				if e.outcome != test.ends || asked != test.asked || f.notes != asked-1 {
					t.Errorf("ended with %v after %d questions and %d notes", e.outcome, asked, f.notes)
				}
				if waited := time.Since(began); waited > 16*time.Second || asked == maxWaits+1 && waited < 7*time.Second {
					t.Errorf("waited %v", waited)
				}
			})
		})
	}
}

// TestWaitingForACatalogueIsCancelled at once.
func TestWaitingForACatalogueIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		e := hostWith(setup{log: zerolog.Nop()}).repeatWhilePublishing(ctx, &noting{}, func() outcome {
			cancel()
			return outcome{outcome: update.ContentMismatch}
		})
		if e.outcome != update.Cancelled || time.Since(began) != 0 {
			t.Errorf("ended with %v after %v", e.outcome, time.Since(began))
		}
	})
}
