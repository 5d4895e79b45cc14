package install

import (
	"cmp"
	"slices"

	"collet/netproto/release"
)

const (
	// MaxFailed is the number of failed starts after which an unproven set is rolled back.
	MaxFailed = 2
	// maxSilent is the number of starts of such a set that may end without a result, as after a power cut or a kill of the
	// whole client. These are rarely the set's fault, unless it freezes the machine every time.
	maxSilent = 5
	// maxSwaps is the number of times that one set is swapped in without proof. Before each further swap something removed
	// it again, such as a virus scanner; without the limit the set would be fetched forever.
	maxSwaps = 3
	// maxTries is the number of remembered sets, the newest ones: more than appear between two proven sets in practice.
	maxTries = 8
)

// Try is the history of an unproven set.
type Try struct {
	Set     release.Digest `json:"set"`               // its identity
	Swaps   int            `json:"swaps,omitempty"`   // number of swaps that made it live
	Begun   int            `json:"begun,omitempty"`   // starts without a result so far
	Failed  int            `json:"failed,omitempty"`  // starts that failed
	Cause   string         `json:"cause,omitempty"`   // cause of the last failure
	Blocked bool           `json:"blocked,omitempty"` // it was rolled back and is not installed again automatically
}

// failedTooOften reports whether a live set must be rolled back.
func (t Try) failedTooOften() bool { return t.Failed >= MaxFailed || t.Begun >= maxSilent }

// MayInstall reports whether an offered set may be installed: it is neither blocked on record nor swapped in too often.
func (t Try) MayInstall() bool { return !t.Blocked && t.Swaps < maxSwaps }

// Reason says why the set is not installed again, for the log and the terminal.
func (t Try) Reason() string {
	return cmp.Or(t.Cause, "this version was removed again before it had run successfully; it is not installed again automatically")
}

// tryOf is the Try of a set; a zero one with its identity if the set is not listed.
func tryOf(tries []Try, set release.Digest) Try {
	if i := slices.IndexFunc(tries, func(t Try) bool { return t.Set == set }); i >= 0 {
		return tries[i]
	}
	return Try{Set: set}
}

// with returns the list with the Try of one set changed and moved to the end. If the list is too long it drops the oldest
// unblocked ones.
func with(tries []Try, set release.Digest, change func(*Try)) []Try {
	t := tryOf(tries, set)
	change(&t)
	list := append(without(tries, set), t)
	for len(list) > maxTries {
		oldest := max(0, slices.IndexFunc(list[:len(list)-1], func(t Try) bool { return !t.Blocked }))
		list = slices.Delete(list, oldest, oldest+1)
	}
	return list
}

// without returns the list without a set. It is never nil, so that a record with it replaces the previous list.
func without(tries []Try, set release.Digest) []Try {
	list := make([]Try, 0, len(tries)+1)
	for _, t := range tries {
		if t.Set != set {
			list = append(list, t)
		}
	}
	return list
}
