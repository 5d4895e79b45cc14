package operator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"collet/netproto/compat"
)

// State is the full state for display, as returned by GET /api/compat. Hashes are 16 hex digits, because other programs lose bits
// of a JSON number.
type State struct {
	Settings      compat.Settings  `json:"settings"`
	Versioned     bool             `json:"versioned"`         // the server has logic versions
	Supported     compat.Range     `json:"supported"`         // supported by the build; undefined unless versioned
	Compatibility string           `json:"compatibility"`     // compared with the clients' version
	Custom        bool             `json:"custom"`            // Compatibility is the game's own, not derived
	Content       string           `json:"content,omitempty"` // identity of the packs that are served; empty: it is not compared
	Development   bool             `json:"development"`
	Build         BuildState       `json:"build"`
	Baselines     []Baseline       `json:"baselines"` // of every supported version, the oldest first
	Targets       []TargetState    `json:"targets"`   // by name
	Connected     []Group          `json:"connected"` // connected clients
	Games         []GameServer     `json:"games"`     // that tell of their sessions, by name
	LastHour      []Group          `json:"last_hour"` // handshakes of the last hour, by verdict too
	Floors        []FloorCount     `json:"floors"`    // accounts by floor
	Hints         []compat.Mistake `json:"hints"`
	Boot          []BootState      `json:"boot"`    // changes and warnings of the start
	Secured       bool             `json:"secured"` // there is a token; without one only the control socket is answered
	Components    int              `json:"components"`
	ReadOnly      string           `json:"read_only,omitempty"` // why nothing can be changed, and since when; empty: it can
}

// BuildState is a build in JSON.
type BuildState struct {
	Logic      int32  `json:"logic"` // -1 is unknown
	Components string `json:"components,omitempty"`
	Time       int64  `json:"time,omitempty"` // seconds since 1970 of the commit
	Seq        uint64 `json:"seq,omitempty"`
	ID         string `json:"id,omitempty"`
	Branch     string `json:"branch,omitempty"`
}

// Baseline is the component hash for comparison with clients of a logic version.
type Baseline struct {
	Logic      int32  `json:"logic"`
	Components string `json:"components,omitempty"` // empty: unknown, and nothing is compared
}

// TargetState has the native modules for the clients of one target.
type TargetState struct {
	Name      string         `json:"name"`
	Store     bool           `json:"store"` // only a store can replace a module there
	Payloads  []PayloadState `json:"payloads"`
	NoBinary  bool           `json:"no_binary"` // no module would let its outdated clients play
	Why       string         `json:"why,omitempty"`
	Connected int            `json:"connected"`
}

// PayloadState is one native module on offer.
type PayloadState struct {
	Logic      int32      `json:"logic"` // -1: there is no sidecar
	Patch      uint32     `json:"patch"`
	Components string     `json:"components,omitempty"`
	Build      BuildState `json:"build"`
	Active     bool       `json:"active"`        // within the active range
	Why        string     `json:"why,omitempty"` // why it is not offered
}

// Group is a number of clients with the same properties. Unknown values of Logic and Target are "other".
type Group struct {
	Logic   string `json:"logic"`
	Target  string `json:"target"`
	Verdict string `json:"verdict,omitempty"`
	Count   int    `json:"count"`
}

// BootState is one change or warning of the start.
type BootState struct {
	Step    string   `json:"step"`
	Actor   string   `json:"actor,omitempty"` // empty for a warning
	Changed []string `json:"changed,omitempty"`
	Why     string   `json:"why"`
}

// Show is the state of this moment.
func (o *Operator) Show() State {
	st := o.current.Load()
	d := st.declared
	s := State{
		Settings: st.settings, Versioned: d.Versioned, Supported: d.Supported, Development: d.Development,
		Compatibility: st.snapshot.Compatibility, Custom: st.snapshot.Custom, Content: st.snapshot.Content, Build: buildState(d.Build),
		Connected: o.Sessions.connectedGroups(labelsOf(st.snapshot)), Games: o.Games.list(), LastHour: o.Sessions.lastHour(time.Now()), Floors: o.Floors.Counts(),
		Hints: hintsFor(st.settings, *d), Boot: bootStates(o.boot), Secured: o.Tokens.Exist(),
	}
	if err := o.store.Writable(); err != nil {
		s.ReadOnly = err.Error()
	}
	if d.Manifest != nil {
		s.Components = len(d.Manifest.Entries)
	}
	if d.Versioned {
		for logic := d.Supported.Min; len(s.Baselines) < maxShown && logic <= d.Supported.Max; logic++ {
			s.Baselines = append(s.Baselines, Baseline{Logic: logic, Components: HexSum(st.snapshot.Baselines[logic])})
		}
	}
	s.Targets = targetStates(st, o.Sessions.countByTarget())
	return s
}

// maxShown is how many logic versions are listed. A game has a few dozen in its lifetime.
const maxShown = 1000

// hintsFor are never nil.
func hintsFor(s compat.Settings, d compat.Declared) []compat.Mistake {
	return append([]compat.Mistake{}, s.Hints(d)...)
}

func buildState(b compat.Build) BuildState {
	return BuildState{Logic: b.Logic, Components: HexSum(b.Components), Time: b.Time, Seq: b.Seq, ID: b.ID, Branch: b.Branch}
}

// HexSum is a hash as 16 hex digits; empty for 0.
func HexSum(sum uint64) string {
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", sum)
}

func bootStates(changes []compat.Change) []BootState {
	all := make([]BootState, len(changes))
	for i, c := range changes {
		all[i] = BootState{Step: c.Step, Actor: c.Actor, Changed: c.Keys, Why: c.Why}
	}
	return all
}

// targetStates lists the targets with their modules, and whether a module is usable.
func targetStates(st *current, connected map[string]int) []TargetState {
	unserved := map[string]string{}
	for _, u := range st.snapshot.Unserved() {
		unserved[u.Target] = u.Why
	}
	all := make([]TargetState, 0, len(st.declared.Targets))
	for _, name := range slices.Sorted(maps.Keys(st.declared.Targets)) {
		target := TargetState{Name: name, Store: st.declared.Targets[name].Store, Connected: connected[name], Payloads: []PayloadState{}}
		target.Why = unserved[name]
		target.NoBinary = !target.Store && (target.Why != "" || len(st.declared.Targets[name].Payloads) == 0)
		for _, p := range st.declared.Targets[name].Payloads {
			shown := PayloadState{
				Logic: p.Logic, Patch: p.Patch, Components: HexSum(p.Components), Build: buildState(p.Build), Why: p.Why,
				Active: st.declared.Versioned && !p.Undeclared && st.settings.Active().Has(p.Logic),
			}
			target.Payloads = append(target.Payloads, shown)
		}
		all = append(all, target)
	}
	slices.SortFunc(all, func(a, b TargetState) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
