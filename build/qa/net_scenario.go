package qa

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/build/qa/proxy"
)

// scenarioExt is the extension of scenario files.
const scenarioExt = ".net"

// maxScenarioLine is the longest line of a scenario file in bytes.
const maxScenarioLine = 4096

//go:embed scenarios/*.net
var standard embed.FS

// Scenario is one file: the faults of a client's connections, and how the client may end. docs/QA.md describes the format. It is a value.
type Scenario struct {
	Name   string
	About  string // description for people
	Slow   bool   // waits for a client's time limit; tried only on request
	Link   proxy.Link
	Refuse time.Duration // connections are refused for this time; -1 is always, 0 is never
	Faults []NetFault
	Exits  []int         // permitted exit codes of the client, at least one
	Limit  time.Duration // time limit of the client
}

// NetFault is a line "fault" of a scenario.
type NetFault struct {
	Kind       proxy.Kind
	Directions []proxy.Direction // at least one, except for a black hole
	At         []Position        // at least one, except for a black hole
	Bytes      int64
	For        time.Duration
	First      int // the first affected connection, counted from 1
	Last       int // the last one; 0 is all later ones
}

// Position is a position in a stream.
type Position struct {
	Bytes    int64
	Percent  float64 // of the bytes of an undisturbed first connection in this direction; used if Relative
	Relative bool
}

// String returns the text as in a file.
func (p Position) String() string {
	if p.Relative {
		return strconv.FormatFloat(p.Percent, 'g', -1, 64) + "%"
	}
	return strconv.FormatInt(p.Bytes, 10)
}

// in returns the position in a stream of total bytes.
func (p Position) in(total int64) int64 {
	if p.Relative {
		return int64(float64(total) * p.Percent / 100)
	}
	return p.Bytes
}

// StandardScenarios returns the scenarios that every release must pass.
func StandardScenarios() ([]Scenario, error) {
	sub, err := fs.Sub(standard, "scenarios")
	if err != nil {
		return nil, err
	}
	return ReadScenarios(sub)
}

// ReadScenarios reads all files of a folder whose names end in ".net", by name. It returns the errors of all files together, with file and
// line.
func ReadScenarios(folder fs.FS) ([]Scenario, error) {
	names, err := fs.Glob(folder, "*"+scenarioExt)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no scenario there: files must end in %s", scenarioExt)
	}
	var all []Scenario
	var faults []error
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		s, err := ParseScenario(name, text)
		if err != nil {
			faults = append(faults, err)
		}
		if i := slices.IndexFunc(all, func(o Scenario) bool { return o.Name == s.Name }); i >= 0 && err == nil {
			faults = append(faults, fmt.Errorf("%s: another file has the name %q too", name, s.Name))
		}
		all = append(all, s)
	}
	return all, errors.Join(faults...)
}

// ParseScenario reads one file. Without a line "name" the scenario gets the file's name.
func ParseScenario(file string, text []byte) (Scenario, error) {
	s := Scenario{Name: strings.TrimSuffix(path.Base(file), scenarioExt), Limit: defaultLimit}
	var faults []error
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxScenarioLine)
	number := 0
	for lines.Scan() {
		number++
		words := strings.Fields(strings.SplitN(lines.Text(), "#", 2)[0])
		if len(words) == 0 {
			continue
		}
		if err := s.readSetting(words); err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", file, number, err))
		}
	}
	if err := lines.Err(); err != nil {
		faults = append(faults, fmt.Errorf("%s:%d: %w", file, number+1, err))
	} else if len(faults) == 0 {
		if err := s.check(); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", file, err))
		}
	}
	return s, errors.Join(faults...)
}

// readSetting parses one line.
func (s *Scenario) readSetting(words []string) (err error) {
	rest := words[1:]
	if len(rest) == 0 && words[0] != "slow" {
		return fmt.Errorf("%q says nothing more", words[0])
	}
	switch words[0] {
	case "name":
		s.Name = strings.Join(rest, " ")
	case "about":
		s.About = strings.TrimSpace(s.About + " " + strings.Join(rest, " "))
	case "slow":
		s.Slow = true
	case "exit":
		s.Exits, err = parseExits(rest)
	case "limit":
		s.Limit, err = parseTime(rest[0])
	case "refuse":
		s.Refuse, err = parseTime(rest[0])
	case "link":
		s.Link, err = parseLink(rest)
	case "fault":
		var f NetFault
		f, err = parseFault(rest)
		s.Faults = append(s.Faults, f)
	default:
		err = fmt.Errorf("unknown word %q; want name, about, slow, link, refuse, fault, exit or limit", words[0])
	}
	return err
}

// check validates the scenario as a whole.
func (s *Scenario) check() error {
	for i, f := range s.Faults {
		if i > 0 && (len(f.At) > 1 || len(f.Directions) > 1) {
			return errors.New("only the first fault may have several ways or places")
		}
	}
	switch {
	case len(s.Exits) == 0:
		return errors.New(`no line "exit": say with which codes the client may end`)
	case s.Limit <= 0:
		return errors.New("the limit is not above zero")
	}
	return nil
}

// faultsOf returns the faults of one connection in one case. The first fault has the case's direction and position.
func (s *Scenario) faultsOf(connection int, direction proxy.Direction, at Position, first [3]int64) (faults []proxy.Fault) {
	for i, f := range s.Faults {
		if connection < f.First || f.Last > 0 && connection > f.Last {
			continue
		}
		d := proxy.Fault{Kind: f.Kind, Bytes: f.Bytes, For: f.For}
		switch {
		case f.Kind == proxy.BlackHole:
		case i == 0:
			d.Direction, d.At = direction, at.in(first[direction])
		default:
			d.Direction, d.At = f.Directions[0], f.At[0].in(first[f.Directions[0]])
		}
		faults = append(faults, d)
	}
	return faults
}
