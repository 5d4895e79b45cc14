package compat

// Reach says how a client of some target can come by a new native module.
type Reach uint8

const (
	ReachSelf  Reach = 1 // it replaces its own module, and one for its target is on offer
	ReachNone  Reach = 2 // it could, but nothing is on offer for its target
	ReachStore Reach = 3 // only a store can replace it (Android, iOS, Web)
)

// Snapshot is what the server knows at the moment of judging.
type Snapshot struct {
	Compatibility string // the gameplay compatibility version that is served
	Maintenance   bool
	RetryAfter    uint32 // seconds, told to clients under maintenance
}

// Hello is what a client said about itself, together with what its target allows. It is untrusted.
type Hello struct {
	Compatibility string
	UpdaterMatch  bool // the client's updater generation is one the server speaks
	Reach         Reach
}

// Evaluate judges h against s. It is total: any input gets a verdict.
func Evaluate(s Snapshot, h Hello) Judgement {
	j := Judgement{Compatibility: s.Compatibility}
	switch {
	case !h.UpdaterMatch:
		j.Verdict, j.Rule = UpdaterMismatch, RuleUpdater
	case s.Maintenance:
		j.Verdict, j.Rule, j.RetryAfter = Maintenance, RuleMaintenance, s.RetryAfter
	case h.Compatibility != s.Compatibility:
		j.Verdict, j.Rule = byReach(h.Reach), RuleString
	default:
		j.Verdict, j.Rule = Accept, RuleAccept
	}
	return j
}

func byReach(r Reach) Verdict {
	switch r {
	case ReachSelf:
		return UpdateBinaries
	case ReachStore:
		return UpdateViaStore
	default:
		return NoNativeUpdate
	}
}

// CompatibilityOutdated is the first boolean of the engine's handshake answer.
func (j Judgement) CompatibilityOutdated() bool {
	return j.Verdict != Accept && j.Verdict != UpdateResources
}

// UpdaterOutdated is the second boolean of the engine's handshake answer.
func (j Judgement) UpdaterOutdated() bool { return j.Verdict == UpdaterMismatch }
