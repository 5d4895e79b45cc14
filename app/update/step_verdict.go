package update

import (
	"encoding/hex"

	"collet/netproto/compat"
	"collet/netproto/release"
)

// judged acts on the verdict: it starts a transfer or ends the update.
func (s State) judged() (State, []Effect) {
	mode, refused := route(s.Judgement, s.Policy)
	if s.Judgement.Verdict == compat.Maintenance && s.Policy.Prefetch {
		mode = ahead(s.Judgement, s.Policy)
		s.Ahead = mode != Undecided
	}
	if mode == Undecided {
		return s.finish(refused)
	}
	s.Phase, s.Mode = Listing, mode
	return s, []Effect{List{}}
}

// route returns the mode that a verdict requires, or Undecided and the outcome. An unknown verdict comes from a newer
// server; only a newer updater can follow it.
func route(j compat.Judgement, p Policy) (mode Mode, refused Outcome) {
	switch j.Verdict {
	case compat.Accept, compat.UpdateResources:
		return Resources, 0
	case compat.UpdateBinaries:
		switch {
		case p.CanSelfUpdate && !(j.Pinned() && p.AskPinned):
			return Binaries, 0
		case j.Pinned():
			return Undecided, PlayerPinned
		}
		return Undecided, PlatformUnsupported
	case compat.UpdateViaStore:
		return Undecided, unlessPinned(j, PlatformUnsupported)
	case compat.NoNativeUpdate:
		return Undecided, unlessPinned(j, ServerMissingNativeUpdate)
	case compat.ClientTooNew:
		return Undecided, unlessPinned(j, ClientTooNew)
	case compat.Redirect:
		if j.Endpoint != nil && !p.Redirected {
			return Undecided, Redirected
		}
		return Undecided, ClientTooNew
	case compat.ComponentsMismatch:
		return Undecided, ComponentsMismatch
	case compat.Maintenance:
		return Undecided, Maintenance
	default: // UpdaterMismatch and unknown verdicts
		return Undecided, UpdaterOutdated
	}
}

// unlessPinned returns PlayerPinned if the account's floor is the obstacle, whatever action would help, and otherwise o.
func unlessPinned(j compat.Judgement, o Outcome) Outcome {
	if j.Pinned() {
		return PlayerPinned
	}
	return o
}

// ahead returns the mode of the update after a maintenance, derived from the other rules that stopped the client. It is
// Undecided if nothing can be prefetched.
func ahead(j compat.Judgement, p Policy) Mode {
	replaced := compat.ReasonOf(compat.RuleTooOld) | compat.ReasonOf(compat.RulePatch) | compat.ReasonOf(compat.RuleFloor) |
		compat.ReasonOf(compat.RuleString) | compat.ReasonOf(compat.RuleComponents)
	lost := compat.ReasonOf(compat.RuleUpdater) | compat.ReasonOf(compat.RuleTooNew)
	switch {
	case j.Reasons&lost != 0, j.Reasons&replaced != 0 && !p.CanSelfUpdate:
		return Undecided
	case j.Reasons&replaced != 0:
		return Binaries
	default:
		return Resources
	}
}

// offered identifies the module that a server requests. An engine generation names no rule; the Offer is then zero.
func (s State) offered(files []release.File) (o Offer) {
	if s.Mode != Binaries || s.Judgement.Rule == compat.RuleNone {
		return o
	}
	sum, modules := release.SHA256.NewHash(), 0
	for _, f := range files {
		if f.Role == release.Binary {
			sum.Write(append(f.Digest.Append([]byte(f.Path+"\n")), '\n')) // Hash.Write never fails
			modules++
		}
	}
	if modules == 0 {
		return o
	}
	return Offer{
		Server: s.Server, Revision: s.Judgement.Revision, Rule: uint8(s.Judgement.Rule), Hash: hex.EncodeToString(sum.Sum(nil)),
	}
}

// loops reports whether the server requests the very module that the last update installed although it is present and
// intact. Another download can't help then.
func (s State) loops(p Plan) bool {
	if s.Offer == (Offer{}) || s.Offer != s.Policy.Applied {
		return false
	}
	for _, w := range p.Wants {
		if w.File.Role == release.Binary {
			return false
		}
	}
	return true
}
