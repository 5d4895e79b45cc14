package pack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxMistakes limits the reported mistakes; more usually have one cause.
const maxMistakes = 200

// Mistake is one error in a description.
type Mistake struct {
	File string `json:"file"`           // as it was given to Load; empty for one that is not written yet
	Line int    `json:"line"`           // from 1; of the key, or of the table that lacks it
	Key  string `json:"key,omitempty"`  // such as game.version or target[0].host, counted from 0; empty for the whole file
	What string `json:"what"`           // what is wrong, without a dot
	Want string `json:"want,omitempty"` // the correct value, or advice
}

// String formats the mistake on one line.
func (m Mistake) String() string {
	text := ""
	if m.File != "" {
		text = fmt.Sprintf("%s:%d: ", m.File, m.Line)
	}
	if m.Key != "" {
		text += m.Key + ": "
	}
	text += m.What
	if m.Want != "" {
		text += "; " + m.Want
	}
	return text
}

// Mistakes are all errors of a description, in the order of its lines.
type Mistakes []Mistake

// Error lists them, one a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// ledger collects mistakes.
type ledger struct {
	file   string
	lines  places
	list   Mistakes
	broken map[string]bool // keys with a mistake: further ones are suppressed
}

// isBroken reports whether a key or one of its tables already has a mistake.
func (l *ledger) isBroken(key string) bool {
	for cut := len(key); cut >= 0; cut = strings.LastIndexAny(key[:cut], ".[") {
		if l.broken[key[:cut]] {
			return true
		}
	}
	return false
}

// add records a mistake of a key's value. Only the first mistake of a key counts.
func (l *ledger) add(key, want, what string, args ...any) {
	if l.isBroken(key) {
		return
	}
	l.broken[key] = true
	l.list = append(l.list, Mistake{File: l.file, Line: l.lines.of(key), Key: key, What: fmt.Sprintf(what, args...), Want: want})
}

// err returns all mistakes, or nil.
func (l *ledger) err() error {
	if len(l.list) == 0 {
		return nil
	}
	slices.SortStableFunc(l.list, func(a, b Mistake) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key)) })
	if more := len(l.list) - maxMistakes; more > 0 {
		l.list = append(l.list[:maxMistakes:maxMistakes], Mistake{File: l.file, Line: l.list[maxMistakes].Line, What: fmt.Sprintf("%d more mistakes follow", more)})
	}
	return l.list
}
