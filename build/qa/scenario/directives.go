package scenario

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// expectation is one expected result of a scenario.
type expectation struct {
	line      int
	direction string // empty: both
	what      string // one of the expect words
	value     string
}

// The words of expect.
const (
	expectSet       = "set"       // old, new or old-or-new, at the end
	expectRecovered = "recovered" // the same after the start without a server, or any
	expectRefused   = "refused"   // a part of the error text; the old set stays
	expectThere     = "there"
	expectAbsent    = "absent"
)

// directive reads one line of the header.
func (p *parser) directive(line string) error {
	if comment, is := strings.CutPrefix(line, "#"); is || line == "" {
		if p.About == "" {
			p.About = strings.TrimSpace(comment)
		}
		return nil
	}
	key, value, found := strings.Cut(line, ":")
	if !found {
		return p.fail("%q: want a comment with #, a directive like expect: new, or a file like -- old/Lathe.so --", line)
	}
	key, direction, _ := strings.Cut(strings.TrimSpace(key), " ")
	if direction = strings.TrimSpace(direction); direction != "" && direction != forward && direction != backward {
		return p.fail("%s %s: want %s or %s behind a directive that is for one direction", key, direction, forward, backward)
	}
	words, err := splitWords(value)
	if err != nil {
		return p.fail("%v", err)
	}
	if len(words) == 0 {
		return p.fail("%s: says nothing", key)
	}
	read, known := directives[key]
	if !known {
		return p.fail("%s: there is no such directive; there are %s", key, strings.Join(slices.Sorted(maps.Keys(directives)), ", "))
	}
	if direction != "" && key != "fault" && key != "expect" {
		return p.fail("%s is for both directions", key)
	}
	return read(p, direction, words)
}

// directives are the directives of a header.
var directives = map[string]func(p *parser, direction string, words []string) error{
	"fault":  (*parser).faultDirective,
	"expect": (*parser).expectDirective,
	"begin": func(p *parser, _ string, words []string) error {
		return p.choose(&p.begin, words, beginConfirmed, beginPlanted, beginNone)
	},
	"judge": func(p *parser, _ string, words []string) error {
		var judge string
		err := p.choose(&judge, words, "binaries", "resources")
		p.resources = judge == "resources"
		return err
	},
	"verify": func(p *parser, _ string, words []string) error {
		var verify string
		err := p.choose(&verify, words, "yes", "no")
		p.verify = verify == "yes"
		return err
	},
	"runs": func(p *parser, _ string, words []string) error {
		n, err := strconv.Atoi(words[0])
		if p.runs = n; err != nil || len(words) > 1 || n < 1 || n > maxRuns {
			return p.fail("runs: want a number from 1 to %d", maxRuns)
		}
		return nil
	},
	"module": func(p *parser, _ string, words []string) error {
		if p.library = words[0]; len(words) > 1 || path.Ext(p.library) == "" || strings.Contains(p.library, "/") {
			return p.fail("module: want a plain file name with an extension, like Lathe.so")
		}
		return nil
	},
	"directions": func(p *parser, _ string, words []string) error {
		return p.chooseSome(&p.directions, words, forward, backward)
	},
	"volumes": func(p *parser, _ string, words []string) error {
		return p.chooseSome(&p.volumes, words, exchanging, moving, folding)
	},
}

// maxRuns limits the runs in which a scenario may converge; one should be enough.
const maxRuns = 10

// choose accepts exactly one of the allowed words.
func (p *parser) choose(to *string, words []string, allowed ...string) error {
	if len(words) != 1 || !slices.Contains(allowed, words[0]) {
		return p.fail("%s: want one of %s", strings.Join(words, " "), strings.Join(allowed, ", "))
	}
	*to = words[0]
	return nil
}

func (p *parser) chooseSome(to *[]string, words []string, allowed ...string) error {
	for _, word := range words {
		if !slices.Contains(allowed, word) {
			return p.fail("%s: want some of %s", word, strings.Join(allowed, ", "))
		}
	}
	*to = words
	return nil
}

func (p *parser) expectDirective(direction string, words []string) error {
	e := expectation{line: p.line, direction: direction, what: words[0], value: strings.Join(words[1:], " ")}
	switch sets := []string{"old", "new", "old-or-new"}; {
	case slices.Contains(sets, e.what) && len(words) == 1:
		e.what, e.value = expectSet, e.what
	case e.what == expectRecovered && (slices.Contains(sets, e.value) || e.value == "any"):
	case slices.Contains([]string{expectRefused, expectThere, expectAbsent}, e.what) && len(words) > 1:
	default:
		return p.fail("expect: want old, new, old-or-new, recovered old|new|old-or-new|any, refused TEXT, there NAME or absent NAME")
	}
	p.expects = append(p.expects, e)
	return nil
}

// expected returns the expectation for a direction, or the default.
func (s *Scenario) expected(direction, what, fallback string) string {
	for _, e := range s.expects {
		if e.what == what && (e.direction == "" || e.direction == direction) {
			return e.value
		}
	}
	return fallback
}

// check validates the scenario as a whole.
func (s *Scenario) check() error {
	for _, side := range []string{"old", "new"} {
		tree := s.sides[side]
		for _, name := range tree.names() {
			f := tree[name]
			switch {
			case !s.isRelease(name):
				return &textError{s.file, f.line, fmt.Sprintf("%s/%s is no file of a release: want %s, a file named after it, or one "+
					"below Resources/; files of others go below player/ or disk/", side, name, s.library)}
			case f.link != "":
				return &textError{s.file, f.line, "a release has no links; put it below player/ or disk/"}
			}
		}
	}
	if len(s.sides["old"]) == 0 && s.begin != beginNone || len(s.sides["new"]) == 0 {
		return &textError{s.file, 0, "declares no old or no new set; want files below old/ and new/, or begin: none"}
	}
	for name, f := range s.sides["disk"] {
		if _, twice := s.sides["player"][name]; twice {
			return &textError{s.file, f.line, name + " is below player/ and below disk/"}
		}
	}
	if s.begin == beginNone && len(s.sides["old"]) == 0 {
		s.directions = []string{forward}
	}
	return nil
}

// base returns the runtime's name.
func (s *Scenario) base() string { return strings.TrimSuffix(s.library, path.Ext(s.library)) }

// isRelease reports whether a release may contain a file of this name.
func (s *Scenario) isRelease(name string) bool {
	return name == s.library || strings.HasPrefix(name, s.library+".") || name == s.base()+".pdb" || strings.HasPrefix(name, "Resources/")
}
