package compat

import (
	"path"
	"strings"
	"time"
)

// Updater compares a client's updater generation with the server's.
type Updater uint8

const (
	UpdaterSame  Updater = 0
	UpdaterOlder Updater = 1 // the client's is older
	UpdaterNewer Updater = 2
)

// Flags are a client's claims about itself in its hello. Unknown bits are ignored. They are untrusted: for example, a server's
// own setting decides whether it is a developer's server.
type Flags uint32

const (
	FlagDevelopment Flags = 1 // a developer's build; only shown
	FlagManifest    Flags = 2 // it can show a manifest
	FlagRedirected  Flags = 4 // another server sent it here
	FlagAfterUpdate Flags = 8 // it has just installed a module from this server
)

// Hello has a client's untrusted claims about itself, and the server's own data about its target and its account.
type Hello struct {
	Updater Updater
	Build   Build
	Patch   uint32
	Target  string
	Content string // identity of its packs; empty is none
	Tagged  bool   // it sent more than the compatibility version and its target; engine generations can't
	Flags   Flags

	Store     bool      // a client of its target can't replace its own module, regardless of Targets
	Floor     int32     // lowest logic version with which the account may play; 0 and less is none
	Developer bool      // the account is a developer's: maintenance and floor do not apply
	Now       time.Time // time of the request; zero: that of the snapshot
}

// Logic is a client's logic version, from its tags or a derived compatibility version; NoLogic for none.
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
	v.selectComparableFields()
	reasons := v.reasons()
	j := v.decide(reasons)
	j.Compatibility, j.Revision, j.Age = s.Compatibility, s.Revision, v.age
	j.Reasons, j.Warnings = reasons, v.warnings(j)
	return j
}

// view is the state of one judgement.
type view struct {
	*Snapshot
	*Hello
	client Build // the known part of the client's build
	age    Age
	ranged bool   // its logic version is compared
	hashed bool   // its components are compared
	least  uint32 // patch that its logic version must have
	floor  int32  // 0 is none
}

// selectComparableFields determines which parts of the client's build can be compared. An untagged client has logic version and components only
// from a derived compatibility version. If the server's version is custom, other untagged clients are compared by that version
// alone.
func (v *view) selectComparableFields() {
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

// matches reports whether a pattern stands for a target. An invalid pattern, which settings can't have, matches nothing. Nearly
// all patterns are a name or a prefix and need only a comparison, because each handshake tries all patterns of the settings.
func matches(pattern, target string) bool { return matchesPlain(pattern, target, isPlain(target)) }

// isPlain reports whether a target's name has no characters with a meaning in patterns or paths; all known names are plain.
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

// ruleApplies reports whether a rule applies, by itself.
func (v *view) ruleApplies(r Rule) bool {
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

// otherContent reports whether the client has other packs than its target is served. It is false if those are unknown.
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

// differs reports whether the client's components are not those of its logic version. It is false without a baseline.
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

// apply is the judgement of a rule.
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

// retryAfter is the expected rest of the maintenance in seconds.
func (v *view) retryAfter() uint32 {
	if v.Until.IsZero() || v.Now.IsZero() {
		return v.RetryAfter
	}
	return retryAfter(v.Until, v.Now)
}

// leastRetry is the wait of clients when the maintenance takes longer than expected, and mostRetry the largest value on the wire.
const (
	leastRetry = 60 * time.Second
	mostRetry  = time.Duration(1<<32-1) * time.Second
)

// retryAfter are the seconds until a time; 0 if unknown.
func retryAfter(until, now time.Time) uint32 {
	if until.IsZero() {
		return 0
	}
	wait := min(max(until.Sub(now), leastRetry), mostRetry)
	return uint32((wait + time.Second - 1) / time.Second)
}

// byTarget is how a client gets another module: from this server, from a store, or not at all.
func (v *view) byTarget(r Rule) Judgement {
	t := v.Targets[v.Target]
	if t.Store || v.Store {
		return Judgement{Verdict: UpdateViaStore, Rule: r}
	}
	for i := range t.Payloads {
		if p := &t.Payloads[i]; v.payloadSatisfiesRule(p, r) {
			return Judgement{Verdict: UpdateBinaries, Rule: r, Payload: p}
		}
	}
	return Judgement{Verdict: NoNativeUpdate, Rule: r}
}

// payloadSatisfiesRule reports whether a payload would satisfy the rule that stopped the client, and the rules for its logic
// version: a useless update is never offered. Only R8 and R9 replace a module by one of an older logic version, or of the same one without a higher
// patch, and not if the client is known to be newer.
func (v *view) payloadSatisfiesRule(p *Payload, r Rule) bool {
	if !v.Versioned {
		return true
	}
	same, another := p.Logic == v.client.Logic, r == RuleString || r == RuleComponents
	switch {
	case v.payloadRejection(v.Target, p) != "", p.Logic < v.floor:
		return false
	case p.Logic < v.client.Logic, same && p.Patch <= v.Patch:
		return another && v.age != ClientNewer
	}
	return true
}

// payloadRejection is why clients with a payload would not be accepted; empty if they would.
func (s *Snapshot) payloadRejection(target string, p *Payload) string {
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
		if v.ruleApplies(r) {
			bits |= ReasonOf(r)
		}
	}
	return bits
}

// warnings are the warnings that accompany a verdict.
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
