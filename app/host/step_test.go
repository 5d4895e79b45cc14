package host

import (
	"testing"

	"collet/app/update"
)

// TestStepAfterAnUpdate: the steps of the usual ends.
func TestStepAfterAnUpdate(t *testing.T) {
	for want, u := range map[step]updateResult{
		stepPlay:       {outcome: update.ResourcesReady, packs: true},
		stepSwap:       {outcome: update.BinariesStaged, prepared: true, packs: true},
		stepOffline:    {outcome: update.Failed, offline: true, packs: true},
		stepEnd:        {outcome: update.Maintenance, packs: true},
		stepPlayBefore: {outcome: update.BinariesStaged, blocked: true, packs: true},
		stepNothing:    {outcome: update.BinariesStaged, blocked: true},
		stepNoModule:   {outcome: update.ResourcesReady, bare: true},
		stepMakeRoom:   {outcome: update.ResourcesReady, due: true, packs: true},
	} {
		if got := u.nextStep(); got != want {
			t.Errorf("%+v: %s, want %s", u, got, want)
		}
	}
}

// TestStepAfterARepair: the installed set is repaired although the offered one is blocked.
func TestStepAfterARepair(t *testing.T) {
	for _, bare := range []bool{false, true} {
		u := updateResult{outcome: update.ResourcesReady, blocked: true, bare: bare, prepared: true, packs: true}
		if got := u.nextStep(); got != stepSwap {
			t.Errorf("%+v: %s, want %s", u, got, stepSwap)
		}
	}
}

// TestStepsOfAllUpdates: what holds in every combination.
func TestStepsOfAllUpdates(t *testing.T) {
	for o := update.ResourcesReady; o <= update.SetIncomplete; o++ {
		for bits := range 1 << 6 {
			is := func(i int) bool { return bits>>i&1 == 1 }
			u := updateResult{outcome: o, blocked: is(0), due: is(1), bare: is(2), prepared: is(3), packs: is(4), offline: is(5)}
			got := u.nextStep()
			plays := got == stepPlay || got == stepOffline || got == stepPlayBefore
			switch {
			case u.due != (got == stepMakeRoom):
				t.Errorf("%+v: %s beside a newer version of this program", u, got)
			case plays && u.bare:
				t.Errorf("%+v: %s without a module", u, got)
			case got == stepSwap && (!isReady(o) || u.blocked && !u.prepared):
				t.Errorf("%+v: a module that was taken back, or is not there, is swapped in", u)
			case got == stepPlay && (u.prepared || o != update.ResourcesReady):
				t.Errorf("%+v: plays before the swap", u)
			case got == stepOffline && (!u.offline || u.blocked):
				t.Errorf("%+v: plays offline", u)
			}
		}
	}
}
