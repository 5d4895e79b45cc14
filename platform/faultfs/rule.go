package faultfs

import (
	"slices"
	"strings"
)

// Rule is an injected fault: matching calls fail. Rules apply in their order; the first one that fails a call counts.
type Rule struct {
	Verb  Verb   // empty matches every verb
	Name  string // pattern; empty matches every name. Of two names one has to match
	Nth   int    // the first matching call that fails, from 1; 0 means 1
	Times int    // number of calls that fail; 0 means no limit
	Err   error  // the call's error; nil means EIO, or only the short count for a short read or write
	Short int    // reads and writes: number of bytes that still go through; ignored for other verbs
	Bytes int64  // reads and writes: calls pass until that many bytes went through; later ones fail. 0: no such limit
	Late  bool   // the call has its effect and fails nevertheless, as over a network
}

// verdict is the decision about a call.
type verdict struct {
	err    error // its error; nil: the error of its effect
	limit  int   // number of bytes that go through; negative: all
	spared bool  // the effect is skipped
	last   bool  // the process ends with it
}

// pass lets a call through.
var pass = verdict{limit: -1}

// armed is an active rule with its counters.
type armed struct {
	Rule
	seen, failed int
	left         int64 // of Bytes
}

// decide decides about a call. ok is false if the rule does not apply.
func (a *armed) decide(o Op) (v verdict, ok bool) {
	if !a.matches(o) {
		return pass, false
	}
	a.seen++
	if a.seen < a.Nth || a.Times > 0 && a.failed >= a.Times {
		return pass, false
	}
	if a.Bytes > 0 && a.left >= o.Size {
		a.left -= o.Size
		return pass, false
	}
	a.failed++
	return a.fail(o), true
}

// fail is the verdict for a call that fails.
func (a *armed) fail(o Op) verdict {
	through := int64(a.Short)
	if a.Bytes > 0 {
		through, a.left = a.left, 0
	}
	v := verdict{err: a.Err, limit: int(through), spared: through == 0 || !o.portions()}
	if a.Late {
		v.limit, v.spared = -1, false
	}
	if a.Err == nil && (v.spared || a.Late) {
		v.err = EIO
	}
	return v
}

func (a *armed) matches(o Op) bool {
	return (a.Verb == "" || a.Verb == o.Verb) && (a.Bytes == 0 || o.portions()) &&
		(a.Name == "" || matches(a.Name, o.Name) || o.To != "" && matches(a.Name, o.To))
}

// portions reports whether the operation transfers bytes.
func (o Op) portions() bool { return o.Verb == Read || o.Verb == Write }

// matches compares a name with a pattern, in which * stands for anything without a slash, ** for anything, and ? for one
// character. A pattern without a slash is compared with the last element of the name.
func matches(pattern, name string) bool {
	if !strings.Contains(pattern, "/") && pattern != "**" {
		name = name[strings.LastIndex(name, "/")+1:]
	}
	return glob([]rune(pattern), []rune(name))
}

func glob(pattern, name []rune) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	switch pattern[0] {
	case '*':
		rest, crosses := pattern[1:], false
		if len(rest) > 0 && rest[0] == '*' {
			rest, crosses = rest[1:], true
		}
		end := len(name)
		if slash := slices.Index(name, '/'); !crosses && slash >= 0 {
			end = slash
		}
		for i := 0; i <= end; i++ {
			if glob(rest, name[i:]) {
				return true
			}
		}
		return false
	case '?':
		return len(name) > 0 && name[0] != '/' && glob(pattern[1:], name[1:])
	default:
		return len(name) > 0 && name[0] == pattern[0] && glob(pattern[1:], name[1:])
	}
}
