package soak

import (
	"errors"
	"math"
	"slices"
	"time"
)

// Sample is what the server's process was made of in one moment.
type Sample struct {
	At          time.Duration // since the start of the run
	Goroutines  float64
	Descriptors float64 // open files, sockets among them
	Connections float64 // of players
	Heap        float64 // bytes of spans in use, after a collection where it counts
	Resident    float64 // bytes
}

// Bound says by how much a number may grow, and whether it may shrink. What is allowed is the larger of both allowances.
type Bound struct {
	Name  string
	Share float64 // of the first value
	Slack float64 // in its own unit
	Exact bool    // it may not shrink by more than that either: fewer would mean that moments can't be compared
	Bytes bool    // it is printed in MB

	of func(Sample) float64
}

const megabyte = 1 << 20

// Bounds are what Judge compares. Goroutines and descriptors of a quiet server are counted and not estimated; three are
// left for what comes and goes with the runtime, a request for metrics or a look at a certificate. Heap in use varies with
// how spans are filled: of one server it was seen between 6.2 and 7.6 MB, and has three times that difference on machines
// that are busy with something else. Resident memory follows the highest load so far and is given back late, so it has
// more room: what it may hide shows in the heap.
func Bounds() []Bound {
	return []Bound{
		{Name: "goroutines", Slack: 3, Exact: true, of: func(s Sample) float64 { return s.Goroutines }},
		{Name: "file descriptors", Slack: 3, Exact: true, of: func(s Sample) float64 { return s.Descriptors }},
		{Name: "connections", Slack: 0, Exact: true, of: func(s Sample) float64 { return s.Connections }},
		{Name: "heap in use", Share: 0.1, Slack: 4 * megabyte, Bytes: true, of: func(s Sample) float64 { return s.Heap }},
		{Name: "resident memory", Share: 0.25, Slack: 16 * megabyte, Bytes: true, of: func(s Sample) float64 { return s.Resident }},
	}
}

// Row is one line of a verdict: medians of the first and the last third of the samples.
type Row struct {
	Bound
	First, Last float64
	Allowed     float64 // what First and Last may differ by
	Holds       bool
}

// leastSamples are needed for a verdict: one for each third.
const leastSamples = 3

// ErrTooFew says that a run was too short for a verdict.
var ErrTooFew = errors.New("fewer than 3 quiet moments were measured behind the warm-up: no verdict; let it run longer")

// Judge compares the first third of the samples, which are in the order of time, with the last. The error is ErrTooFew.
func Judge(samples []Sample) ([]Row, error) {
	if len(samples) < leastSamples {
		return nil, ErrTooFew
	}
	third := len(samples) / 3
	var rows []Row
	for _, b := range Bounds() {
		r := Row{Bound: b, First: b.median(samples[:third]), Last: b.median(samples[len(samples)-third:])}
		r.Allowed = max(b.Share*r.First, b.Slack)
		grown := r.Last - r.First
		r.Holds = grown <= r.Allowed && (!b.Exact || -grown <= r.Allowed) && !math.IsNaN(grown)
		rows = append(rows, r)
	}
	return rows, nil
}

func (b Bound) median(samples []Sample) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = b.of(s)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
