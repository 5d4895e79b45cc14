package dashboard

import (
	"strconv"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// flowColumn is a column of the flow card: the treatment of clients below, within or above the active range. Titles and details are
// keys of texts.
type flowColumn struct {
	Kind, Title, Range string
	Min, Max           int32 // of the active range
	Count              int
	Steps              []flowStep
}

// flowStep is the treatment of some of them.
type flowStep struct {
	Kind, Title, Detail string
	To                  string // stands in the detail
	Rules               int    // the detail counts them; 0 where it counts nothing
	Targets             []string
}

// flowOf is the flow card.
func flowOf(s operator.State) []flowColumn {
	active := s.Settings.Active()
	column := func(kind, where string) flowColumn {
		return flowColumn{Kind: kind, Title: "flow." + kind, Range: where, Min: active.Min, Max: active.Max}
	}
	older, within, newer := column("older", "flow.below"), column("active", "flow.within"), column("newer", "flow.above")
	if active.Min == active.Max {
		within.Range = "flow.only"
	}
	older.Steps, within.Steps, newer.Steps = olderSteps(s), activeSteps(s.Settings), newerSteps(s.Settings.Redirect)
	for _, g := range s.Connected {
		logic, err := strconv.ParseInt(g.Logic, 10, 32)
		switch {
		case g.Logic == operator.NoLogicGroup || err == nil && int32(logic) < active.Min:
			older.Count += g.Count
		case err != nil || int32(logic) > active.Max:
			newer.Count += g.Count
		default:
			within.Count += g.Count
		}
	}
	return []flowColumn{older, within, newer}
}

// newerSteps are for clients that are too new.
func newerSteps(r compat.RedirectSettings) []flowStep {
	if r.Enabled {
		return []flowStep{{Kind: kindWait, Title: "flow.elsewhere", Detail: "flow.elsewhere.to", To: r.Host + ":" + strconv.Itoa(int(r.Port))}}
	}
	return []flowStep{{Kind: kindBad, Title: "flow.wait", Detail: "flow.wait.why"}}
}

// olderSteps group targets by how their clients can update.
func olderSteps(s operator.State) (steps []flowStep) {
	update := flowStep{Kind: kindGood, Title: "flow.update", Detail: "flow.update.why"}
	store := flowStep{Kind: kindWait, Title: "flow.store", Detail: "flow.store.why"}
	stuck := flowStep{Kind: kindBad, Title: "flow.stuck", Detail: "flow.stuck.why"}
	for _, t := range s.Targets {
		to := &update
		switch {
		case t.Store:
			to = &store
		case t.NoBinary:
			to = &stuck
		}
		to.Targets = append(to.Targets, t.Name)
	}
	for _, step := range []flowStep{update, store, stuck} {
		if len(step.Targets) > 0 {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		steps = append(steps, flowStep{Kind: kindBad, Title: "flow.away", Detail: "flow.away.why"})
	}
	return steps
}

// activeSteps are the conditions for clients of an active version.
func activeSteps(set compat.Settings) (steps []flowStep) {
	switch {
	case !set.Maintenance.Enabled:
		steps = append(steps, flowStep{Kind: kindGood, Title: "flow.play"})
	case set.Maintenance.AllowDownload:
		steps = append(steps, flowStep{Kind: kindWait, Title: "flow.maintenance", Detail: "flow.maintenance.fetch", Targets: set.Maintenance.Targets})
	default:
		steps = append(steps, flowStep{Kind: kindWait, Title: "flow.maintenance", Detail: "flow.maintenance.shut", Targets: set.Maintenance.Targets})
	}
	if n := len(set.PatchRules); n > 0 {
		steps = append(steps, flowStep{Kind: kindWait, Title: "flow.patch", Detail: "flow.rules", Rules: n})
	}
	switch set.Components {
	case compat.PolicyEnforce:
		steps = append(steps, flowStep{Kind: kindWait, Title: "flow.equal", Detail: "flow.equal.why"})
	case compat.PolicyWarn:
		steps = append(steps, flowStep{Kind: kindGood, Title: "flow.told", Detail: "flow.told.why"})
	}
	return steps
}
