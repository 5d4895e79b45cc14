package acquire

import (
	"cmp"
	"math"
	"slices"
	"time"

	"collet/app/download"
	"collet/netproto/deflate"
	"collet/netproto/solid"
)

// Strategy is how a content is obtained. The values appear in logs and in the output of tools.
type Strategy string

const (
	// Unneeded: the content is complete.
	Unneeded Strategy = "nothing"
	// Copied: a file of the install has exactly this content.
	Copied Strategy = "copy"
	// Patched: the set patch makes it from old contents.
	Patched Strategy = "patch"
	// Expanded: the expanded set patch makes it: deflated files are inflated, patched, and compressed again.
	Expanded Strategy = "expanded"
	// Chunked: missing chunks are fetched, the others come from local files.
	Chunked Strategy = "chunks"
	// Solid: it is unpacked from a group of the solid form.
	Solid Strategy = "solid"
	// Entire: its whole object is fetched.
	Entire Strategy = "whole"
	// Stuck: every strategy has failed too often.
	Stuck Strategy = ""
)

const (
	// maxFailures is how often a strategy may fail for a content before the next one is tried.
	maxFailures = 2
	// requestBytes is the overhead of a request and its answer in bytes: some 300 each for a real client and nginx.
	requestBytes = 600
	// guessedShare is the assumed size of a whole object as a share of its content, while unknown. Measured by zstd: native
	// modules 0.35, packs of pictures 0.95.
	guessedShare = 0.5
)

// Processing rates of this machine, in bytes of output a second on one core, as measured.
const (
	patchRate = 200e6 // our own: 153 to 302 MB/s of native modules, one core (go test -bench Corpus ./netproto/chunk)
	zstdRate  = 600e6 // zstd -19
	chunkRate = 600e6 // the same decoder; local chunks are summed at 1.2 GB/s in addition
	solidRate = 150e6 // of a whole group, wanted or not; it overlaps with the download
	// requestTime is what a request for a small object takes in seconds beside the link: 1,705 of them took 3 s over the loopback interface.
	requestTime = 1e-3
	copyRate    = 1.2e9 // read, hashed and written; SHA-256 runs at 1.3 to 1.9 GB/s

	formRate = 400e6 // of a form beside its streams: most of it is copied
)

// Rates are how many plain bytes a second this machine inflates, and compresses at level 6, on all its cores. Zero fields are unknown.
type Rates struct{ Inflate, Deflate float64 }

// The assumptions for an unknown machine: four cores with 200 and 36 MB/s.
const (
	usualInflate = 800e6
	usualDeflate = 144e6
)

func (r Rates) known() Rates {
	if r.Inflate <= 0 {
		r.Inflate = usualInflate
	}
	if r.Deflate <= 0 {
		r.Deflate = usualDeflate
	}
	return r
}

// Link is the known properties of the network link. Zero fields are unknown.
type Link struct {
	Rate      float64       // bytes a second
	RoundTrip time.Duration // from a request to its answer's first byte
	InFlight  int           // requests at once
}

// The assumptions for an unknown link: 20 Mbit/s and 50 ms, a usual home connection.
const (
	usualRate      = 2.5e6
	usualRoundTrip = 50 * time.Millisecond
)

func (l Link) known() Link {
	if l.Rate <= 0 {
		l.Rate = usualRate
	}
	if l.RoundTrip <= 0 {
		l.RoundTrip = usualRoundTrip
	}
	if l.InFlight <= 0 {
		l.InFlight = download.MaxInFlight
	}
	return l
}

// Cost is the cost of a strategy.
type Cost struct {
	Bytes      int64   // received
	Requests   int     // of which Link.InFlight are in flight at once
	RoundTrips int     // sequential, in addition to those of the requests
	CPU        float64 // seconds
}

func (c Cost) plus(d Cost) Cost {
	return Cost{c.Bytes + d.Bytes, c.Requests + d.Requests, c.RoundTrips + d.RoundTrips, c.CPU + d.CPU}
}

// Time is the estimated time: bytes at the link's rate, round trips, and the processing that follows.
func (c Cost) Time(l Link) time.Duration {
	l = l.known()
	trips := float64(c.RoundTrips) + math.Ceil(float64(c.Requests)/float64(l.InFlight))
	seconds := float64(c.Bytes+int64(c.Requests)*requestBytes)/l.Rate + trips*l.RoundTrip.Seconds() + c.CPU
	return time.Duration(seconds * float64(time.Second))
}

// Unknown is the size of an object that has not been looked up yet.
const Unknown = -1

// Blob is one distinct content of the new set, and how it can be obtained. Sizes are in bytes.
type Blob struct {
	Size  int64
	Lacks int64 // missing bytes of all files with this content; 0: complete

	Local   bool            // a file of the install has exactly this content
	InPatch bool            // the set patch makes it, and its old contents are intact
	Expands bool            // the expanded set patch makes it, and its old contents are intact
	Rebuilt deflate.Rebuilt // then, the form from which it is compressed again; zero: it is not
	Whole   int64           // size of the whole object; Unknown before the sources are known
	Packed  bool            // the whole object has to be unpacked
	Chunks  int64           // size of the missing chunks; Unknown without an index
	Runs    int             // number of ranges of the missing chunks
	Indexed bool            // an index exists
	Older   bool            // the install has an older version, whose chunks are not known yet
	Group   int             // number of its group in Situation.Groups, from 1; 0: none
	Form    int64           // size of the form from which the group's content is compressed again; 0: the group has the content itself

	Failed map[Strategy]int // number of failures of each strategy
}

// may reports whether a strategy may still be tried.
func (c Blob) may(m Strategy) bool { return c.Failed[m] < maxFailures }

// Situation is the input of Choose. It is a value and is only read.
type Situation struct {
	Link    Link
	Patch   int64 // missing bytes of the set patch; Unknown: no usable patch
	Sources int64 // missing bytes of the list of sources; 0: it is known
	Blobs   []Blob

	Expanded int64 // missing bytes of the expanded set patch, if it makes a content
	Inflated int64 // bytes of old streams that it needs
	Rates    Rates // of this machine

	Groups []SolidGroup // of the solid form; nil before its index is known
}

// SolidGroup is a group of the solid form. Sizes are in bytes.
type SolidGroup struct {
	Size     int64 // of its contents, wanted or not
	Packed   int64 // of its parts
	Bytes    int64 // missing of its parts
	Requests int   // for these
	Deflated int64 // what its forms take to be compressed again, as bytes at level 6
	Unusable bool
}

// Plan is a strategy for every content of a situation, and what that costs. It is a value and is only read.
type Plan struct {
	Strategy []Strategy // for each content
	Cost     Cost
	Size     int64 // bytes of all incomplete contents
	Full     int64 // bytes of their whole objects; estimated where unknown
}

// Uses counts the contents with a strategy.
func (p Plan) Uses(by Strategy) (n int) {
	for _, s := range p.Strategy {
		if s == by {
			n++
		}
	}
	return n
}

// Saved is how many bytes fewer are received than by fetching whole objects; at least 0.
func (p Plan) Saved() int64 { return max(p.Full-p.Cost.Bytes, 0) }

// Choose selects the cheapest strategy for every content. Complete contents cost nothing; contents of other files in the install are
// copied. For the rest, one of the set patches is used for all contents that it can make, or none, whichever takes less time in total (see
// maxExtraTime). Choose is pure; the client and `collet release estimate` use it.
func Choose(s Situation) Plan {
	best := s.choose(Unneeded)
	for _, by := range []Strategy{Patched, Expanded} {
		if by == Patched && s.Patch < 0 {
			continue
		}
		if plan := s.choose(by); plan.Uses(by) > 0 && !plan.worse(best, s.Link) {
			best = plan
		}
	}
	return best
}

// maxExtraTime is how much longer a plan with fewer bytes may take than one with more. On a link as fast as the disk whole objects are
// slightly faster, but their bytes cost money.
const maxExtraTime = 250 * time.Millisecond

// better reports whether a cost is better than d: it takes less time, by more than maxExtraTime if it has more bytes.
func (c Cost) better(d Cost, l Link) bool {
	less := d.Time(l) - c.Time(l)
	switch {
	case c.Bytes < d.Bytes:
		less += maxExtraTime
	case c.Bytes > d.Bytes:
		less -= maxExtraTime
	}
	return less > 0
}

// worse reports whether a plan with a set patch is worse than d, one without it: it has more stuck contents, or takes longer.
func (p Plan) worse(d Plan, l Link) bool {
	if a, b := p.Uses(Stuck), d.Uses(Stuck); a != b {
		return a > b
	}
	more := p.Cost.Time(l) - d.Cost.Time(l)
	if p.Cost.Bytes < d.Cost.Bytes {
		more -= maxExtraTime
	}
	return more > 0
}

// choose plans with one of the set patches, or without any: by is Patched, Expanded or Unneeded.
func (s Situation) choose(by Strategy) Plan {
	plan := Plan{Strategy: make([]Strategy, len(s.Blobs))}
	sources := false
	costs := make([]Cost, len(s.Blobs))
	for i, c := range s.Blobs {
		if c.Group > 0 && c.Whole == Unknown { // a group tells how well its contents can be compressed
			g := s.Groups[c.Group-1]
			if c.Whole, c.Packed = c.Size, true; c.Form == 0 {
				c.Whole = int64(float64(c.Size) * float64(g.Packed) / float64(g.Size))
			}
		}
		plan.Strategy[i], costs[i] = s.cheapest(c, by)
	}
	s.useGroups(&plan, costs)
	for i, c := range s.Blobs {
		m := plan.Strategy[i]
		plan.Cost = plan.Cost.plus(costs[i])
		sources = sources || m == Chunked || m == Entire
		if m != Unneeded {
			plan.Size, plan.Full = plan.Size+c.Size, plan.Full+c.whole()
		}
	}
	if plan.Uses(Patched) > 0 {
		plan.Cost = plan.Cost.plus(Cost{Bytes: s.Patch, RoundTrips: 1})
	}
	if plan.Uses(Expanded) > 0 {
		plan.Cost = plan.Cost.plus(Cost{Bytes: s.Expanded, RoundTrips: 1, CPU: float64(s.Inflated) / s.Rates.known().Inflate})
	}
	if sources && s.Sources > 0 {
		plan.Cost = plan.Cost.plus(Cost{Bytes: s.Sources, RoundTrips: 1})
	}
	return plan
}

// useGroups replaces whole objects and chunks by groups of the solid form, where that takes less time. A group is used for all contents
// that would be fetched otherwise, or for none. Of contents that groups have, at most MaxAlone are fetched one by one.
func (s Situation) useGroups(plan *Plan, costs []Cost) {
	type sum struct {
		cost  Cost
		stuck bool
		blobs []int
	}
	sums := make([]sum, len(s.Groups))
	for i, c := range s.Blobs {
		m := plan.Strategy[i]
		if c.Group == 0 || !c.may(Solid) || m != Entire && m != Chunked && m != Stuck {
			continue
		}
		g, cost := &sums[c.Group-1], costs[i]
		cost.CPU += requestTime
		if c.Older && c.Chunks == Unknown {
			cost.Bytes /= 2 // as WorthIndex assumes
		}
		g.cost, g.stuck, g.blobs = g.cost.plus(cost), g.stuck || m == Stuck, append(g.blobs, i)
	}
	use := func(n int) {
		for k, i := range sums[n].blobs {
			plan.Strategy[i], costs[i] = Solid, Cost{}
			if k == 0 {
				costs[i] = s.group(s.Groups[n])
			}
		}
	}
	var left []int
	grouped, separate := Cost{}, Cost{}
	for n, g := range s.Groups {
		switch {
		case len(sums[n].blobs) == 0 || g.Unusable:
		case sums[n].stuck || s.group(g).better(sums[n].cost, s.Link):
			use(n)
		default:
			left = append(left, n)
			grouped, separate = grouped.plus(s.group(g)), separate.plus(sums[n].cost)
		}
	}
	// Without the other groups the list of sources would be fetched for their contents alone.
	sources := s.Sources > 0 && grouped.better(separate.plus(Cost{Bytes: s.Sources, RoundTrips: 1}), s.Link)
	slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(len(sums[b].blobs), len(sums[a].blobs)) })
	alone := 0 // contents that are fetched one by one
	for _, m := range plan.Strategy {
		if m == Entire || m == Chunked {
			alone++
		}
	}
	for _, n := range left {
		if sources || alone > MaxAlone {
			use(n)
			alone -= len(sums[n].blobs)
		}
	}
}

// group is the cost of fetching and unpacking a group.
func (s Situation) group(g SolidGroup) Cost {
	return Cost{Bytes: g.Bytes, Requests: g.Requests, CPU: float64(g.Size)/solidRate + float64(g.Deflated)/s.Rates.known().Deflate}
}

// MaxAlone is how many contents are fetched one by one where groups have them, whatever that takes: web servers and CDNs count requests.
// With the lists and some groups a plan stays below 200 requests, however many small files it is for.
const MaxAlone = 128

// WorthSolid reports whether the index of the solid form is worth fetching. blobs contents of missing bytes together would be fetched one
// by one; the set has total bytes. Groups are fetched whole, so a small part of a set is not worth it, unless it is many files.
func WorthSolid(blobs int, missing, total int64) bool {
	return blobs > MaxAlone || blobs > 0 && missing*worthSolidShare >= min(total, solid.MaxGroup)
}

// worthSolidShare is the divisor for the share of a set, or of a full group, that must be missing for the solid form: an eighth.
const worthSolidShare = 8

// cheapest is the cheapest strategy for a content and its cost, with one of the set patches.
func (s Situation) cheapest(c Blob, by Strategy) (Strategy, Cost) {
	switch {
	case c.Lacks == 0:
		return Unneeded, Cost{}
	case c.Local && c.may(Copied):
		return Copied, Cost{CPU: float64(c.Lacks) / copyRate}
	case by == Patched && c.InPatch && c.may(Patched):
		return Patched, Cost{CPU: float64(c.Size) / patchRate}
	case by == Expanded && c.Expands && c.may(Expanded):
		if c.Rebuilt.Form == 0 {
			return Expanded, Cost{CPU: float64(c.Size) / patchRate}
		}
		return Expanded, Cost{CPU: float64(c.Rebuilt.Form)/formRate + float64(c.Rebuilt.Deflated)/s.Rates.known().Deflate}
	}
	entire, chunked := c.entire(), c.chunked()
	if c.may(Chunked) && c.Chunks >= 0 && (!c.may(Entire) || chunked.Time(s.Link) < entire.Time(s.Link)) {
		return Chunked, chunked
	}
	switch {
	case c.may(Entire):
		return Entire, entire
	case c.may(Chunked) && c.Indexed:
		return Chunked, entire // the only one left
	default:
		return Stuck, Cost{}
	}
}

// whole is the size of the whole object, estimated if unknown.
func (c Blob) whole() int64 {
	if c.Whole == Unknown {
		return int64(float64(c.Size) * guessedShare)
	}
	return c.Whole
}

// entire is the cost of the whole object. Of a stored one only the missing bytes are fetched.
func (c Blob) entire() Cost {
	if c.Whole != Unknown && !c.Packed {
		return Cost{Bytes: c.Lacks, Requests: 1, CPU: float64(c.Lacks) / copyRate}
	}
	return Cost{Bytes: c.whole(), Requests: 1, CPU: float64(c.Size) / zstdRate}
}

func (c Blob) chunked() Cost {
	return Cost{Bytes: c.Chunks, Requests: c.Runs, CPU: float64(c.Size) / chunkRate}
}

// WorthIndex reports whether fetching an object of index bytes with chunk indexes saves time. alike are its contents with an older or
// similar version on the disk. The index costs its bytes and a share of a round trip. It is assumed to save half of their whole
// objects. If a whole object can't be fetched any more, the index is the only strategy.
func WorthIndex(alike []Blob, index int64, l Link) bool {
	l = l.known()
	var gain Cost
	for _, c := range alike {
		if !c.may(Entire) && c.may(Chunked) {
			return true
		}
		if c.may(Chunked) {
			gain.Bytes += c.whole() / 2
		}
	}
	share := time.Duration(float64(l.RoundTrip) / float64(l.InFlight))
	return Cost{Bytes: index + requestBytes}.Time(l)+share < gain.Time(l)
}
