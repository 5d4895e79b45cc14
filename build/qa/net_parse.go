package qa

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/build/qa/proxy"
)

// defaultLimit is the client's time limit in a scenario without one. It is twice the time after which a client gives up on a dead link
// (idle limit, pauses between attempts), for slow machines.
const defaultLimit = 2 * time.Minute

// forever is the word for an unlimited time.
const forever = "forever"

// maxNumber limits bytes and rates, so that products do not overflow.
const maxNumber = 1 << 50

// parseExits reads exit codes.
func parseExits(words []string) (codes []int, err error) {
	for _, w := range words {
		code, err := strconv.Atoi(w)
		if err != nil || code < 0 || code > 255 {
			return nil, fmt.Errorf("exit code %q: want a number from 0 to 255", w)
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// parseTime reads a time above zero; forever is -1.
func parseTime(word string) (time.Duration, error) {
	if word == forever {
		return -1, nil
	}
	d, err := time.ParseDuration(word)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("time %q: want something like 300ms, 2s or forever", word)
	}
	return d, nil
}

// units are the units of bytes.
var units = []struct {
	name string
	size int64
}{{"kB", 1000}, {"MB", 1_000_000}, {"B", 1}, {"", 1}}

// parseBytes reads a number of bytes, 0 or more.
func parseBytes(word string) (int64, error) {
	for _, u := range units {
		digits, is := strings.CutSuffix(word, u.name)
		if !is {
			continue
		}
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 && n <= maxNumber/u.size {
			return n * u.size, nil
		}
	}
	return 0, fmt.Errorf("bytes %q: want a number like 100, 64kB or 2MB", word)
}

// parsePosition reads a number of bytes or a percentage.
func parsePosition(word string) (Position, error) {
	number, relative := strings.CutSuffix(word, "%")
	if !relative {
		n, err := parseBytes(word)
		return Position{Bytes: n}, err
	}
	share, err := strconv.ParseFloat(number, 64)
	if err != nil || !(share >= 0 && share <= 1000) {
		return Position{}, fmt.Errorf("place %q: want a share from 0%% to 1000%%", word)
	}
	return Position{Percent: share, Relative: true}, nil
}

// settings parses words of the form key=value, each key at most once and in allowed.
func settings(words []string, allowed ...string) (map[string]string, error) {
	found := map[string]string{}
	for _, w := range words {
		key, value, is := strings.Cut(w, "=")
		_, twice := found[key]
		switch {
		case !is || !slices.Contains(allowed, key):
			return nil, fmt.Errorf("%q: want %s=…", w, strings.Join(allowed, "=… or "))
		case twice:
			return nil, fmt.Errorf("%q: there are two of them", key)
		}
		found[key] = value
	}
	return found, nil
}

// parseLink reads the settings of a link.
func parseLink(words []string) (l proxy.Link, err error) {
	s, err := settings(words, "rate", "delay")
	if err != nil {
		return l, err
	}
	if rate, is := s["rate"]; is {
		if l.Rate, err = parseBytes(rate); err == nil && l.Rate == 0 {
			err = errors.New("rate 0: want bytes a second")
		}
	}
	if delay, is := s["delay"]; is && err == nil {
		if l.Delay, err = parseTime(delay); err == nil && l.Delay < 0 {
			err = errors.New("a delay without end is a stall")
		}
	}
	return l, err
}

// requires names the setting that a kind requires in addition to the common ones; empty for none.
var requires = map[proxy.Kind]string{
	proxy.Cut: "", proxy.Reset: "", proxy.Truncate: "",
	proxy.Stall: "for", proxy.HalfOpen: "for", proxy.BlackHole: "for",
	proxy.Duplicate: "bytes", proxy.Corrupt: "bytes", proxy.Swallow: "bytes",
}

// parseFault reads: kind, directions, positions, settings. A black hole has neither directions nor positions.
func parseFault(words []string) (f NetFault, err error) {
	f = NetFault{Kind: proxy.Kind(words[0]), First: 1, Last: 1}
	needs, known := requires[f.Kind]
	if !known {
		return f, fmt.Errorf("unknown fault %q; want cut, reset, truncate, stall, half-open, duplicate, corrupt, swallow or black-hole", words[0])
	}
	words = words[1:]
	if f.Kind != proxy.BlackHole {
		if len(words) < 2 {
			return f, fmt.Errorf("fault %s: want a way (up, down) and a place (100, 64kB, 50%%)", f.Kind)
		}
		if err := f.where(words[0], words[1]); err != nil {
			return f, err
		}
		words = words[2:]
	}
	s, err := settings(words, append([]string{"connections"}, strings.Fields(needs)...)...)
	if err != nil {
		return f, err
	}
	return f, f.setFields(s, needs)
}

// where parses directions and positions.
func (f *NetFault) where(ways, places string) error {
	for _, w := range strings.Split(ways, ",") {
		d, known := map[string]proxy.Direction{"up": proxy.Up, "down": proxy.Down}[w]
		if !known {
			return fmt.Errorf("way %q: want up (from the client) or down (to it)", w)
		}
		f.Directions = append(f.Directions, d)
	}
	for _, w := range strings.Split(places, ",") {
		p, err := parsePosition(w)
		if err != nil {
			return err
		}
		f.At = append(f.At, p)
	}
	return nil
}

// setFields stores the settings.
func (f *NetFault) setFields(s map[string]string, needs string) (err error) {
	if _, is := s[needs]; needs != "" && !is {
		return fmt.Errorf("fault %s: want %s=…", f.Kind, needs)
	}
	switch needs {
	case "for":
		if f.For, err = parseTime(s["for"]); f.For < 0 {
			f.For = 0
		}
	case "bytes":
		if f.Bytes, err = parseBytes(s["bytes"]); err == nil && f.Bytes == 0 {
			err = fmt.Errorf("fault %s: 0 bytes are nothing", f.Kind)
		}
	}
	if c, is := s["connections"]; is && err == nil {
		f.First, f.Last, err = parseConnections(c)
	}
	return err
}

// parseConnections reads "all", a number, or a range of them.
func parseConnections(word string) (first, last int, err error) {
	if word == "all" {
		return 1, 0, nil
	}
	from, to, isRange := strings.Cut(word, "-")
	if !isRange {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("connections %q: want all, a number from 1, or a range like 1-3", word)
	}
	return first, last, nil
}
