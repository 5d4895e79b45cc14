package install

import (
	"cmp"
	"slices"

	"collet/netproto/release"
)

const (
	// maxFailed is how many failed starts of a set that never proved itself end in going back (design 2, section 3.4).
	maxFailed = 2
	// maxSilent is how many starts of such a set may end without a word, as after a power cut or when the whole client is
	// killed: that is hardly the set's fault, unless it freezes the machine every time.
	maxSilent = 5
	// maxSwaps is how often one set is swapped in without ever proving itself. Each time but the first something took it
	// away again, such as a virus scanner; fetching it once more would not end otherwise.
	maxSwaps = 3
	// maxTries is how many sets are remembered, the newest ones: more than one player meets between two proofs.
	maxTries = 8
)

// Try is what is known about a set that has not proven itself.
type Try struct {
	Set     release.Digest `json:"set"`               // its identity
	Swaps   int            `json:"swaps,omitempty"`   // how often it was made live
	Begun   int            `json:"begun,omitempty"`   // starts of which nothing was heard since
	Failed  int            `json:"failed,omitempty"`  // starts that failed
	Cause   string         `json:"cause,omitempty"`   // how the last one failed
	Blocked bool           `json:"blocked,omitempty"` // it was taken back, and is not taken again by itself
}

// hopeless reports whether a live set should be taken back.
func (t Try) hopeless() bool { return t.Failed >= maxFailed || t.Begun >= maxSilent }

// refused reports whether an offered set is not to be taken.
func (t Try) refused() bool { return t.Blocked || t.Swaps >= maxSwaps }

// Reason says why the set is not taken again, for the log and the terminal.
func (t Try) Reason() string {
	return cmp.Or(t.Cause, "the set on offer was taken back before it had proven itself, and is not taken again by itself")
}

// tryOf is what is known about a set; the zero Try where nothing is.
func tryOf(tries []Try, set release.Digest) Try {
	if i := slices.IndexFunc(tries, func(t Try) bool { return t.Set == set }); i >= 0 {
		return tries[i]
	}
	return Try{Set: set}
}

// with is the list with one set changed, which makes it the newest. The oldest ones that are not blocked go first.
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

// without is the list without a set. It is never nil, so that it can replace the one before it in a record.
func without(tries []Try, set release.Digest) []Try {
	list := make([]Try, 0, len(tries)+1)
	for _, t := range tries {
		if t.Set != set {
			list = append(list, t)
		}
	}
	return list
}
