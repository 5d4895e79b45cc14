package adoption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"collet/netproto/beacon"
)

// Window is the time that a report is about. The texts are those of flags, addresses and answers.
type Window string

// The windows: the hour that runs and the one before; the hour that runs and 24 before; today and 29 days before.
const (
	Hour  Window = "hour"
	Day   Window = "day"
	Month Window = "month"
)

// ParseWindow reads a window; empty is Day.
func ParseWindow(text string) (Window, error) {
	switch w := Window(cmp.Or(text, string(Day))); w {
	case Hour, Day, Month:
		return w, nil
	default:
		return "", fmt.Errorf("%q is no window: want %s, %s or %s", text, Hour, Day, Month)
	}
}

// step is the length of a bucket.
func (w Window) step() time.Duration {
	if w == Month {
		return day
	}
	return time.Hour
}

// Begins are the begins of its buckets, the oldest first, the last one at now.
func (w Window) Begins(now time.Time) (begins []time.Time) {
	count := map[Window]int{Hour: 2, Day: 25, Month: 30}[w]
	last := now.UTC().Truncate(w.step())
	for i := range count {
		begins = append(begins, last.Add(-time.Duration(count-1-i)*w.step()))
	}
	return begins
}

// Report is what the beacons of a window tell.
type Report struct {
	Window   Window      `json:"window"`
	Begins   []time.Time `json:"begins"`             // of its buckets: hours, or days
	Beacons  uint64      `json:"beacons"`            // counted ones
	Limited  uint64      `json:"limited"`            // not counted, because their range of addresses had its share
	Installs []uint64    `json:"installs,omitempty"` // of a month: about how many addresses started the game on each day
	Releases []Release   `json:"releases"`
	Outcomes []Outcome   `json:"outcomes"`
}

// Release is what became of a release.
type Release struct {
	Has
	Starts    uint64   `json:"starts"`           // confirmed ones
	Share     float64  `json:"share"`            // of the confirmed starts of its channel and target, 0 to 1
	Spread    []uint64 `json:"spread"`           // confirmed starts of each bucket
	Installs  uint64   `json:"installs"`         // of a month: about how many addresses started it on the day with most
	Confirmed uint64   `json:"first_confirmed"`  // first starts
	Failed    uint64   `json:"first_failed"`     // first starts
	Updates   uint64   `json:"updates"`          // attempts after which it was there
	Attempts  uint64   `json:"updates_failed"`   // attempts that ended otherwise
	Bytes     uint64   `json:"bytes"`            // received by all attempts
	Saved     *uint64  `json:"saved,omitempty"`  // against fetching all of it each time; nil: its size is unknown
	Seconds   float64  `json:"update_seconds"`   // of an attempt after which it was there, on average
	Before    []From   `json:"before,omitempty"` // releases that it replaced
}

// From counts the updates from one release.
type From struct {
	Release string `json:"release"`
	Updates uint64 `json:"updates"`
}

// Outcome counts one outcome of a release.
type Outcome struct {
	Has
	Kind    beacon.Kind `json:"kind"`
	Outcome string      `json:"outcome"`
	Count   uint64      `json:"count"`
}

// Summarize makes a report of buckets. sizes has the bytes of whole releases, as far as they are known. Buckets outside of the window are left out.
func Summarize(w Window, now time.Time, buckets []Bucket, sizes map[Has]int64) Report {
	r := Report{Window: w, Begins: w.Begins(now), Releases: []Release{}, Outcomes: []Outcome{}}
	releases, outcomes, from := map[Has]*Release{}, map[Outcome]uint64{}, map[Has]map[string]uint64{}
	of := func(has Has) *Release {
		if releases[has] == nil {
			releases[has] = &Release{Has: has, Spread: make([]uint64, len(r.Begins))}
			from[has] = map[string]uint64{}
		}
		return releases[has]
	}
	if w == Month {
		r.Installs = make([]uint64, len(r.Begins))
	}
	for _, b := range buckets {
		at := slices.IndexFunc(r.Begins, b.Begin.Equal)
		if at < 0 {
			continue
		}
		r.Beacons, r.Limited = r.Beacons+b.beacons(), r.Limited+b.Limited
		for k, s := range b.Rows {
			one := of(k.Has)
			one.count(k, s, at, sizes)
			outcomes[Outcome{Has: k.Has, Kind: k.Kind, Outcome: k.Outcome}] += s.Count
			if k.Kind == beacon.Update && k.Outcome == beacon.Ready {
				from[k.Has][k.From] += s.Count
			}
		}
		for has, n := range b.Installs {
			if has == (Has{}) && r.Installs != nil {
				r.Installs[at] = n
			} else if has != (Has{}) {
				of(has).Installs = max(of(has).Installs, n)
			}
		}
	}
	r.finish(releases, outcomes, from)
	return r
}

// count adds a row of the bucket at a place.
func (r *Release) count(k Key, s Sums, at int, sizes map[Has]int64) {
	switch {
	case k.Kind == beacon.Update && k.Outcome == beacon.Ready:
		r.Seconds = (r.Seconds*float64(r.Updates) + float64(s.Seconds)) / float64(r.Updates+s.Count)
		r.Updates += s.Count
		r.Bytes += s.Bytes
		if size, known := sizes[k.Has]; known {
			saved := max(int64(s.Count)*size-int64(s.Bytes), 0)
			if r.Saved == nil {
				r.Saved = new(uint64)
			}
			*r.Saved += uint64(saved)
		}
	case k.Kind == beacon.Update:
		r.Attempts += s.Count
		r.Bytes += s.Bytes
	case k.Outcome == beacon.Failed:
		r.Failed += s.Count
	default:
		r.Starts += s.Count
		r.Spread[at] += s.Count
		if k.Kind == beacon.First {
			r.Confirmed += s.Count
		}
	}
}

// finish sorts what was counted, and computes shares.
func (r *Report) finish(releases map[Has]*Release, outcomes map[Outcome]uint64, from map[Has]map[string]uint64) {
	starts := map[Has]uint64{}
	track := func(has Has) Has { return Has{Channel: has.Channel, Target: has.Target} }
	for has, one := range releases {
		starts[track(has)] += one.Starts
	}
	for _, has := range slices.SortedFunc(maps.Keys(releases), compareHas) {
		one := releases[has]
		if all := starts[track(has)]; all > 0 {
			one.Share = float64(one.Starts) / float64(all)
		}
		for _, name := range slices.SortedFunc(maps.Keys(from[has]), func(a, b string) int { return compareReleases(b, a) }) {
			one.Before = append(one.Before, From{name, from[has][name]})
		}
		r.Releases = append(r.Releases, *one)
	}
	for o, n := range outcomes {
		o.Count = n
		r.Outcomes = append(r.Outcomes, o)
	}
	slices.SortFunc(r.Outcomes, func(a, b Outcome) int {
		return cmp.Or(compareHas(a.Has, b.Has), cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Outcome, b.Outcome))
	})
}

// Only leaves the releases of a channel and a target; empty is all.
func (r Report) Only(channel, target string) Report {
	other := func(h Has) bool { return channel != "" && h.Channel != channel || target != "" && h.Target != target }
	r.Releases = slices.DeleteFunc(slices.Clone(r.Releases), func(one Release) bool { return other(one.Has) })
	r.Outcomes = slices.DeleteFunc(slices.Clone(r.Outcomes), func(o Outcome) bool { return other(o.Has) })
	return r
}
