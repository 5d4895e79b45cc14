package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Period is a time that a flag takes: as time.ParseDuration does, and before it whole days of 24 hours. So 90s, 12h, 40d and 1d12h are periods.
type Period time.Duration

// day is a day of a Period.
const day = 24 * time.Hour

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Period) UnmarshalText(text []byte) error {
	wrong := fmt.Errorf("%q: want a time such as 90s, 12h, 40d or 1d12h", text)
	days, rest, found := strings.Cut(string(text), "d")
	if !found {
		days, rest = "0", string(text)
	}
	n, err := strconv.ParseUint(days, 10, 64)
	if err != nil || n > uint64(math.MaxInt64/day) {
		return wrong
	}
	more := time.Duration(0)
	if rest != "" || !found {
		if more, err = time.ParseDuration(rest); err != nil {
			return wrong
		}
	}
	if found && (more < 0 || more > math.MaxInt64-time.Duration(n)*day) {
		return wrong
	}
	*p = Period(time.Duration(n)*day + more)
	return nil
}

// Duration returns the period as a time.Duration.
func (p Period) Duration() time.Duration { return time.Duration(p) }

// String writes the period as time.Duration does.
func (p Period) String() string { return p.Duration().String() }
