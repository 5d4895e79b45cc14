package compat

import (
	"path"
	"strings"
	"time"
)

// Updater says how a client's updater generation stands to the server's.
type Updater uint8

const (
	UpdaterSame  Updater = 0
	UpdaterOlder Updater = 1 // the client's is older
	UpdaterNewer Updater = 2
)

// Flags are what a client says about itself in its hello. Unknown bits are ignored, and none of them is believed where it
// would matter: whether a server is a developer's is its own setting.
type Flags uint32

const (
	FlagDevelopment Flags = 1 // a developer's build; only shown
	FlagManifest    Flags = 2 // it can show a manifest
	FlagRedirected  Flags = 4 // another server sent it here
	FlagAfterUpdate Flags = 8 // it installed a module from here a moment ago
)

// Hello is what a client said about itself, which is not trusted, and what the server knows of its target and its account.
type Hello struct {
	Updater Updater
	Build   Build
	Patch   uint32
	Target  string
	Content string // identity of its packs; empty is none
	Tagged  bool   // it said anything beyond the compatibility version and its target: an engine generation can't
	Flags   Flags

	Store     bool      // a client of its target can't replace its own module, whatever Targets say
	Floor     int32     // lowest logic version with which the account may play; 0 and less is none
	Developer bool      // the account is a developer's: maintenance and floor don't stop it
	Now       time.Time // when the server was asked; zero is when the snapshot was made
}

// Logic is the logic version that a client says it has, in its tags or in a derived compatibility version; NoLogic for none.
func (h Hello) Logic() int32 {
	if h.Tagged {
		return h.Build.Logic
	}
	if logic, _, derived := ParseDerived(h.Build.Compatibility); derived {
		return logic
	}
	return NoLogic
}

// Evaluate judges h against s, neither of which it changes. It is total: any input gets a verdict. It allocates nothing; what
// the judgement points to belongs to the snapshot.
func Evaluate(s *Snapshot, h *Hello) Judgement {
	v := view{Snapshot: s, Hello: h, client: h.Build, age: AgeOf(h.Build, s.Build)}
	v.know()
	reasons := v.reasons()
	j := v.decide(reasons)
	j.Compatibility, j.Revision, j.Age = s.Compatibility, s.Revision, v.age
	j.Reasons, j.Warnings = reasons, v.warnings(j)
	return j
}

// view is one judgement under way.
type view struct {
	*Snapshot
	*Hello
	client Build // what is known of the client's build
	age    Age
	ranged bool   // its logic version counts
	hashed bool   // its components count
	least  uint32 // patch that its logic version must have
	floor  int32  // 0 is none
}

// know finds out what of the client's build can be compared. Who can only say a compatibility version is known by that if it is
// a derived one; beside a custom one that is equal there is nothing to add.
func (v *view) know() {
	v.ranged, v.hashed = v.Versioned, v.Versioned && v.Policy != PolicyOff && v.Policy != ""
	v.floor = max(v.Floor, 0)
	if v.Developer {
		v.floor = 0
	}
	if !v.Tagged {
		v.client.Logic, v.client.Components = NoLogic, 0
		if logic, sum, derived := ParseDerived(v.client.Compatibility); derived {
			v.client.Logic, v.client.Components = logic, sum
		} else if v.Custom {
			v.ranged, v.hashed = false, false
		}
	}
	v.least = v.minPatch(v.Target, v.client.Logic)
}

// minPatch is the strictest of the rules for a target and a logic version.
func (s *Snapshot) minPatch(target string, logic int32) (least uint32) {
	if len(s.PatchRules) == 0 {
		return 0
	}
	plain := isPlain(target)
	for i := range s.PatchRules {
		r := &s.PatchRules[i]
		if r.Logic == logic && r.MinPatch > least && matchesPlain(r.Target, target, plain) {
			least = r.MinPatch
		}
	}
	return least
}

// matches reports whether a pattern stands for a target. One that is no pattern, which no settings have, stands for none. What
// nearly all patterns are, a name or the beginning of one, takes no more than comparing it: the dozens that settings may have are
// looked through for each handshake.
func matches(pattern, target string) bool { return matchesPlain(pattern, target, isPlain(target)) }

// isPlain reports whether nothing in a target's name has a meaning in patterns or paths, as in all that there are.
func isPlain(target string) bool {
	for i := range len(target) {
		if c := target[i]; c == '[' || c == '\\' || c == '/' {
			return false
		}
	}
	return true
}

// matchesPlain is matches for a target of which it is known whether it is plain: then what begins with the beginning of a pattern that
// ends in a star matches it, because a star or a question mark in there stands for itself, too.
func matchesPlain(pattern, target string, plain bool) bool {
	if n := len(pattern) - 1; plain && n >= 0 && pattern[n] == '*' && strings.HasPrefix(target, pattern[:n]) {
		return true
	}
	for i := range len(pattern) {
		switch c := pattern[i]; {
		case c == '*' && i == len(pattern)-1:
			return strings.IndexByte(target[i:], '/') < 0
		case c == '*' || c == '?' || c == '[' || c == '\\':
			is, err := path.Match(pattern[i:], target[i:])
			return err == nil && is
		case i == len(target) || target[i] != c:
			return false
		}
	}
	return pattern == "" || len(pattern) == len(target)
}

// fails reports whether a rule applies, by itself.
func (v *view) fails(r Rule) bool {
	logic := v.client.Logic
	switch r {
	case RuleUpdater:
		return v.Updater != UpdaterSame
	case RuleRedirect:
		return v.ranged && logic > v.Active.Max && v.Redirect != nil && v.Flags&FlagRedirected == 0
	case RuleMaintenance:
		return v.Maintenance && !v.Developer && v.underMaintenance()
	case RuleTooNew:
		return v.ranged && logic > v.Active.Max
	case RuleTooOld:
		return v.ranged && logic < v.Active.Min
	case RulePatch:
		return v.ranged && v.Patch < v.least
	case RuleFloor:
		return v.ranged && v.floor > max(logic, 0)
	case RuleString:
		return (v.Custom || !v.Versioned) && v.client.Compatibility != v.Snapshot.Compatibility
	case RuleComponents:
		return v.hashed && v.differs()
	case RuleContent:
		return v.Tagged && v.otherContent()
	default:
		return false
	}
}

// otherContent reports whether the client has not the packs that are served to it. Where those are unknown nobody knows.
func (v *view) otherContent() bool {
	served := v.ContentFor(v.Target)
	return served != "" && v.Hello.Content != served
}

func (v *view) underMaintenance() bool {
	plain := isPlain(v.Target)
	for _, pattern := range v.Targeted {
		if matchesPlain(pattern, v.Target, plain) {
			return true
		}
	}
	return len(v.Targeted) == 0
}

// differs reports whether the client's components are not those of its logic version. Where that has no baseline nobody knows.
func (v *view) differs() bool {
	want, known := v.baseline(v.client.Logic)
	return known && v.client.Components != want
}

// baseline is the set hash that clients of a logic version have.
func (s *Snapshot) baseline(logic int32) (sum uint64, known bool) {
	sum = s.Baselines[logic]
	return sum, sum != 0
}

// decide finds the first rule that applies.
func (v *view) decide(reasons Reasons) Judgement {
	if v.Policy == PolicyWarn {
		reasons &^= ReasonOf(RuleComponents)
	}
	for r := RuleUpdater; r < RuleAccept; r++ {
		if reasons&ReasonOf(r) != 0 {
			return v.apply(r)
		}
	}
	return Judgement{Verdict: Accept, Rule: RuleAccept}
}

// apply is what a rule leads to.
func (v *view) apply(r Rule) Judgement {
	switch r {
	case RuleUpdater:
		return Judgement{Verdict: UpdaterMismatch, Rule: r}
	case RuleRedirect:
		return Judgement{Verdict: Redirect, Rule: r, Endpoint: v.Redirect}
	case RuleMaintenance:
		return Judgement{Verdict: Maintenance, Rule: r, RetryAfter: v.retryAfter()}
	case RuleTooNew:
		return Judgement{Verdict: ClientTooNew, Rule: r}
	case RuleFloor:
		if v.floor > v.Active.Max {
			return Judgement{Verdict: ClientTooNew, Rule: r, Floor: v.floor}
		}
	case RuleString, RuleComponents:
		told := r == RuleString || v.client.Components != 0
		switch {
		case v.Development:
			return Judgement{Verdict: ComponentsMismatch, Rule: r}
		case told && v.age == ClientNewer:
			return Judgement{Verdict: ClientTooNew, Rule: r}
		}
	case RuleContent:
		return Judgement{Verdict: UpdateResources, Rule: r}
	}
	j := v.byTarget(r)
	switch r {
	case RulePatch:
		j.MinPatch = v.least
	case RuleFloor:
		j.Floor = v.floor
	}
	return j
}

// retryAfter is how long the maintenance goes on.
func (v *view) retryAfter() uint32 {
	if v.Until.IsZero() || v.Now.IsZero() {
		return v.RetryAfter
	}
	return retryAfter(v.Until, v.Now)
}

// leastRetry is what clients wait where the maintenance takes longer than was thought, and mostRetry is what fits the wire.
const (
	leastRetry = 60 * time.Second
	mostRetry  = time.Duration(1<<32-1) * time.Second
)

// retryAfter are the seconds until a time; 0 where that is not known.
func retryAfter(until, now time.Time) uint32 {
	if until.IsZero() {
		return 0
	}
	wait := min(max(until.Sub(now), leastRetry), mostRetry)
	return uint32((wait + time.Second - 1) / time.Second)
}

// byTarget is how a client comes by another module: here, from a store, or not at all.
func (v *view) byTarget(r Rule) Judgement {
	t := v.Targets[v.Target]
	if t.Store || v.Store {
		return Judgement{Verdict: UpdateViaStore, Rule: r}
	}
	for i := range t.Payloads {
		if p := &t.Payloads[i]; v.helps(p, r) {
			return Judgement{Verdict: UpdateBinaries, Rule: r, Payload: p}
		}
	}
	return Judgement{Verdict: NoNativeUpdate, Rule: r}
}

// helps reports whether a client that installs a payload would be let in by the rule that stopped it, and by those for its
// logic version: an update that can't help is never offered. Only R8 and R9 replace a module by one of the same or an older logic
// version and the same patch, and not that of a client that is known to be newer.
func (v *view) helps(p *Payload, r Rule) bool {
	if !v.Versioned {
		return true
	}
	same, another := p.Logic == v.client.Logic, r == RuleString || r == RuleComponents
	switch {
	case v.unfit(v.Target, p) != "", p.Logic < v.floor:
		return false
	case p.Logic < v.client.Logic, same && p.Patch <= v.Patch:
		return another && v.age != ClientNewer
	}
	return true
}

// unfit is why nobody who installs a payload would be let in; empty where someone would.
func (s *Snapshot) unfit(target string, p *Payload) string {
	baseline, known := s.baseline(p.Logic)
	switch {
	case !s.Versioned:
		return ""
	case p.Undeclared:
		return "without a sidecar"
	case !s.Active.Has(p.Logic):
		return "of a logic version that is not active"
	case s.Policy == PolicyEnforce && known && p.Components != baseline:
		return "with other components than their logic version has"
	case p.Patch < s.minPatch(target, p.Logic):
		return "with a patch that the rules refuse"
	default:
		return ""
	}
}

// reasons are all rules that apply, each by itself.
func (v *view) reasons() (bits Reasons) {
	for r := RuleUpdater; r < RuleAccept; r++ {
		if v.fails(r) {
			bits |= ReasonOf(r)
		}
	}
	return bits
}

// warnings are what a client is told beside a verdict that lets it play.
func (v *view) warnings(j Judgement) (bits Warnings) {
	if v.hashed && v.Policy == PolicyWarn && v.differs() {
		bits |= WarnComponents
	}
	if v.ranged && j.Plays() && v.Active.Max > v.client.Logic {
		bits |= WarnNewer
	}
	if _, known := v.baseline(v.client.Logic); v.hashed && v.Active.Has(v.client.Logic) && !known {
		bits |= WarnNoBaseline
	}
	return bits
}

// CompatibilityOutdated is the first boolean of the engine's handshake answer.
func (j Judgement) CompatibilityOutdated() bool { return !j.Plays() }

// UpdaterOutdated is the second boolean of the engine's handshake answer.
func (j Judgement) UpdaterOutdated() bool { return j.Verdict == UpdaterMismatch }

// Plays reports whether the client may play, with these packs or with those that it fetches first.
func (j Judgement) Plays() bool { return j.Verdict == Accept || j.Verdict == UpdateResources }
