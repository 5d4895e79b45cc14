package download

import "errors"

// busyTries is how often in a row the only remaining mirror may be busy.
const busyTries = 5

// isFinal has the permanent faults: the mirror is not asked for this file again.
var isFinal = map[WrongKind]bool{
	WrongRefused: true, WrongLength: true, WrongEncoded: true, WrongStale: true, WrongPage: true, WrongRedirect: true,
	WrongSignIn: true,
}

// try is what happened to the requests of one scheduler to one mirror.
type try struct {
	barred  bool  // it must not be asked
	gone    error // why it was dropped; nil: it was not
	benched error // why it is not asked while others of its requests are in flight, one of which may succeed
	last    error // its last error
	strikes int   // failures in a row
}

// tries has a try for each mirror of the Fetcher, by its index. It is for one goroutine.
type tries []try

func (t tries) of(m *rankedMirror) *try { return &t[m.index] }

// usable are the mirrors that may still be asked.
func (t tries) usable(all []*rankedMirror) (list []*rankedMirror) {
	for _, m := range all {
		if try := t.of(m); !try.barred && try.gone == nil && try.benched == nil {
			list = append(list, m)
		}
	}
	return list
}

// succeed ends a row of failures.
func (t tries) succeed(m *rankedMirror) { t[m.index].strikes, t[m.index].benched = 0, nil }

// exhausted is the error when no mirror is left for a file: a *MissingError if all say that they don't have it.
func (t tries) exhausted(name string) error {
	e := &ExhaustedError{Name: name}
	everywhere := true
	for _, try := range t {
		reason := try.gone
		if reason == nil {
			reason = try.last
		}
		if reason == nil {
			continue
		}
		var missing *MissingError
		everywhere = everywhere && errors.As(reason, &missing)
		e.Reasons = append(e.Reasons, reason)
	}
	if everywhere && len(e.Reasons) > 0 {
		return &MissingError{Name: name}
	}
	return e
}
