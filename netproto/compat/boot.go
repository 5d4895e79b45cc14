package compat

import (
	"fmt"
	"slices"
)

// Actors of what happens at a start without an operator. The words stand in audit records.
const (
	ActorBoot   = "boot"        // there was nothing stored
	ActorForced = "boot-forced" // the build can't serve what was stored
	ActorAuto   = "boot-auto"   // the operator asked for it beforehand: auto_upgrade
)

// BootOptions are the options of a start, from the command line and the store.
type BootOptions struct {
	AcceptRollback bool   // accept an older server than the last one
	LastBuild      string // id of the build that stored the settings; empty is unknown
}

// Change is a change of the settings by a start, or a warning.
type Change struct {
	Step  string   // "B1" to "B7": docs/COMPATIBILITY.md
	Actor string   // one of the actors; empty for a warning
	Keys  []string // what it changed, as in Diff; none for a warning
	Why   string
}

// Warning reports whether nothing was changed.
func (c Change) Warning() bool { return len(c.Keys) == 0 }

// RollbackError refuses a start that would lock out all clients of a newer server (boot rule B4).
type RollbackError struct {
	Active    Range // what is stored
	Declared  Declared
	LastBuild string // id of the build that stored it; empty is unknown
}

func (e *RollbackError) Error() string {
	return fmt.Sprintf("the active range %s of build %s goes beyond what this build %s supports, %s: players who used the newest version would be locked out; start a newer server, or this one with --accept-rollback",
		e.Active, named(e.LastBuild), named(e.Declared.Build.ID), e.Declared.supported())
}

// named is a build's id for people.
func named(id string) string {
	if id == "" {
		return "(unnamed)"
	}
	return fmt.Sprintf("%q", id)
}

// Boot reconciles stored settings, nil for none, with what a build brings: boot rules B1 to B7 in their order, but for B2, which is
// the store's. Whatever was changed makes one more revision. The error is a *RollbackError or a *SettingsError; nothing is to be
// stored and nothing served then.
func Boot(stored *Settings, d Declared, o BootOptions) (Settings, []Change, error) {
	if err := d.Check(); err != nil {
		return Settings{}, nil, err
	}
	b := booting{d: d, o: o, Settings: Defaults(d)}
	if stored == nil {
		b.noteChange("B1", ActorBoot, "nothing is stored: everything that this build supports may connect", "active_min", "active_max")
	} else {
		b.Settings = stored.clone()
		if err := b.reconcile(); err != nil {
			return Settings{}, nil, err
		}
		if len(b.changes) > 0 {
			b.Revision++
		}
	}
	if err := b.Check(d); err != nil {
		return Settings{}, nil, err
	}
	b.addWarnings()
	return b.Settings, b.changes, nil
}

// booting is the state of a start.
type booting struct {
	Settings
	d       Declared
	o       BootOptions
	changes []Change
}

func (b *booting) noteChange(step, actor, why string, keys ...string) {
	b.changes = append(b.changes, Change{Step: step, Actor: actor, Keys: keys, Why: why})
}

// reconcile takes stored settings through B1 and B3 to B5.
func (b *booting) reconcile() error {
	none, can := Range{Min: NoLogic, Max: NoLogic}, b.d.Supported
	switch {
	case !b.d.Versioned && b.Active() == none:
		return nil
	case !b.d.Versioned:
		if err := b.lowerActive(none); err != nil {
			return err
		}
	case b.Active() == none:
		b.setActive("B1", ActorBoot, can, "the settings are from before the server had a logic version: everything that this build supports may connect")
	default:
		if b.ActiveMin < can.Min {
			b.setActive("B3", ActorForced, Range{Min: can.Min, Max: max(b.ActiveMax, can.Min)}, fmt.Sprintf("this build supports nothing below %d", can.Min))
		}
		if b.ActiveMax > can.Max {
			if err := b.lowerActive(Range{Min: min(b.ActiveMin, can.Max), Max: can.Max}); err != nil {
				return err
			}
		}
		if b.AutoUpgrade && b.ActiveMax < can.Max {
			b.setActive("B5", ActorAuto, Range{Min: b.ActiveMin, Max: can.Max}, fmt.Sprintf("auto_upgrade is on and this build supports %s", can))
		}
	}
	b.dropRules()
	return nil
}

// setActive makes to the active range.
func (b *booting) setActive(step, actor string, to Range, why string) {
	before := b.Settings
	b.ActiveMin, b.ActiveMax = to.Min, to.Max
	if keys := Diff(before, b.Settings); len(keys) > 0 {
		b.noteChange(step, actor, fmt.Sprintf("%s: active was %s and is %s", why, before.Active(), to), keys...)
	}
}

// lowerActive is B4: an older server needs AcceptRollback.
func (b *booting) lowerActive(to Range) error {
	if !b.o.AcceptRollback {
		return &RollbackError{Active: b.Active(), Declared: b.d, LastBuild: b.o.LastBuild}
	}
	b.setActive("B4", ActorForced, to, fmt.Sprintf("a rollback from build %s to build %s was accepted", named(b.o.LastBuild), named(b.d.Build.ID)))
	if !b.d.Versioned && b.Redirect.Enabled {
		b.Redirect.Enabled = false
		b.noteChange("B4", ActorForced, "without a logic version no client is too new", "redirect.enabled")
	}
	return nil
}

// dropRules removes patch rules for logic versions that the build does not have: they have no effect and are no longer valid.
func (b *booting) dropRules() {
	can, had := b.d.Supported, len(b.PatchRules)
	below := 0
	b.PatchRules = slices.DeleteFunc(b.PatchRules, func(r PatchRule) bool {
		if r.Logic < can.Min {
			below++
		}
		return !b.d.Versioned || !can.Has(r.Logic)
	})
	step := "B4"
	if below > 0 && b.d.Versioned {
		step = "B3"
	}
	if dropped := had - len(b.PatchRules); dropped > 0 {
		b.noteChange(step, ActorForced, fmt.Sprintf("%d patch rules are for logic versions that this build doesn't support", dropped), "patch_rules")
	}
}

// addWarnings is B6 and B7.
func (b *booting) addWarnings() {
	if !b.d.Versioned {
		return
	}
	s := b.d.snapshot(b.Settings)
	if released, known := b.d.Baselines[b.d.Build.Logic]; known && released != b.d.Build.Components {
		b.noteChange("B6", "", fmt.Sprintf("this build's components are %016x, those that were released as logic version %d are %016x: clients are compared with this build's",
			b.d.Build.Components, b.d.Build.Logic, released))
	}
	if missing := s.missingBaselines(); len(missing) > 0 && b.Components != PolicyOff {
		b.noteChange("B6", "", fmt.Sprintf("the components of logic version %s are unknown: its clients are not compared", ranges(missing)))
	}
	for _, u := range s.Unserved() {
		b.noteChange("B7", "", fmt.Sprintf("clients of %s can't be updated here: %s", u.Target, u.Why))
	}
}
