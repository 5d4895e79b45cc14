package acquire

import (
	"collet/app/download"
	"math"
	"time"
)

// Strategy is how a content comes to be on this disk. The words stand in logs and in the output of tools.
type Strategy string

const (
	// Unneeded: nothing of it is missing.
	Unneeded Strategy = "nothing"
	// Copied: a file of the install has exactly this content.
	Copied Strategy = "copy"
	// Patched: the set patch makes it from old contents.
	Patched Strategy = "patch"
	// Chunked: chunks that are missing are fetched, the others come from local files.
	Chunked Strategy = "chunks"
	// Entire: its whole object is fetched.
	Entire Strategy = "whole"
	// Stuck: every means has failed too often.
	Stuck Strategy = ""
)

const (
	// maxFailures is how often a means may fail for a content before the next one has its turn (design 3, section 3).
	maxFailures = 2
	// requestBytes is what a request and its answer cost beside what they carry, in bytes: some 300 each of a real client and
	// of nginx.
	requestBytes = 600
	// guessedShare is how much of a content its whole object is taken to have, as long as that is not known: between native
	// modules (0.35) and packs of pictures (0.95) by zstd (perf reference, section 2).
	guessedShare = 0.5
)

// How fast this machine works on what has come, in bytes of output a second of one core (perf reference).
const (
	patchRate = 200e6 // our own: 153 to 302 MB/s of native modules, one core (go test -bench Corpus ./netproto/chunk)
	zstdRate  = 600e6 // section 6: zstd -19
	chunkRate = 600e6 // the same decoder; local chunks are summed at 1.2 GB/s beside it
	copyRate  = 1.2e9 // read, hashed and written; section 6: SHA-256 at 1.3 to 1.9 GB/s
)

// Link is what is known about the line. Zero fields are unknown.
type Link struct {
	Rate      float64       // bytes a second
	RoundTrip time.Duration // from a request to its answer's first byte
	InFlight  int           // requests at once
}

// What is believed about a line about which nothing is known: 20 Mbit/s and 50 ms, a usual home.
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

// Cost is what a means takes.
type Cost struct {
	Bytes      int64   // on the line
	Requests   int     // of which Link.InFlight travel at once
	RoundTrips int     // one after the other, beside those of the requests
	CPU        float64 // seconds
}

func (c Cost) plus(d Cost) Cost {
	return Cost{c.Bytes + d.Bytes, c.Requests + d.Requests, c.RoundTrips + d.RoundTrips, c.CPU + d.CPU}
}

// Time is how long it takes: bytes at the line's rate, round trips, and the work that follows.
func (c Cost) Time(l Link) time.Duration {
	l = l.known()
	trips := float64(c.RoundTrips) + math.Ceil(float64(c.Requests)/float64(l.InFlight))
	seconds := float64(c.Bytes+int64(c.Requests)*requestBytes)/l.Rate + trips*l.RoundTrip.Seconds() + c.CPU
	return time.Duration(seconds * float64(time.Second))
}

// Unknown is the size of what has not been looked up yet.
const Unknown = -1

// Blob is one distinct content of the new set, and by what it can be had. Sizes are bytes.
type Blob struct {
	Size  int64
	Lacks int64 // of the files that have it, how much is not on disk; 0: nothing to do

	Local   bool  // a file of the install has exactly this content
	InPatch bool  // the set patch makes it, and all old contents for it are here
	Whole   int64 // of the whole object; Unknown before the sources are here
	Packed  bool  // the whole object has to be unpacked
	Chunks  int64 // of the chunks that are missing; Unknown where no index was looked at
	Runs    int   // ranges that these are
	Indexed bool  // there is an index that can be looked at

	Failed map[Strategy]int // how often each means has failed
}

// may reports whether a means has not failed too often.
func (c Blob) may(m Strategy) bool { return c.Failed[m] < maxFailures }

// Situation is everything that a choice depends on. It is a value and is only read.
type Situation struct {
	Link    Link
	Patch   int64 // bytes of the set patch that are not here yet; Unknown: there is none
	Sources int64 // bytes of the list of sources that are not here yet; 0: it is here
	Blobs   []Blob
}

// Choice is what to do with every content of a situation.
type Choice struct {
	Strategy []Strategy // for each content
	Cost     Cost
	Size     int64 // bytes of all contents that lack something
	Full     int64 // of their whole objects, as far as known; guessed for the others
}

// Uses counts the contents that come by a means.
func (c Choice) Uses(m Strategy) (n int) {
	for _, means := range c.Strategy {
		if means == m {
			n++
		}
	}
	return n
}

// Saved is how many bytes the line is spared, compared with fetching whole objects.
func (c Choice) Saved() int64 { return max(c.Full-c.Cost.Bytes, 0) }

// Choose finds the cheapest means for every content: what is here already costs nothing, what lies elsewhere in the install
// is copied, and of the rest the set patch makes all that it can, or nothing of it, whichever is noticeably less time in all. It is
// pure; the client and `collet release estimate` decide by it.
func Choose(s Situation) Choice {
	without := s.choose(false)
	if s.Patch < 0 {
		return without
	}
	with := s.choose(true)
	if with.Uses(Patched) == 0 || with.worse(without, s.Link) {
		return without
	}
	return with
}

// unnoticed is how much longer a set patch may take than fetching more bytes: on a line as fast as the disk whole objects win by
// moments, and their bytes cost money.
const unnoticed = 250 * time.Millisecond

// worse compares a choice with the set patch to one without: one that leaves contents without any means is worse than one that
// leaves fewer.
func (c Choice) worse(d Choice, l Link) bool {
	if a, b := c.Uses(Stuck), d.Uses(Stuck); a != b {
		return a > b
	}
	more := c.Cost.Time(l) - d.Cost.Time(l)
	if c.Cost.Bytes < d.Cost.Bytes {
		more -= unnoticed
	}
	return more > 0
}

func (s Situation) choose(patch bool) Choice {
	choice := Choice{Strategy: make([]Strategy, len(s.Blobs))}
	sources := false
	for i, c := range s.Blobs {
		m, cost := s.means(c, patch)
		choice.Strategy[i], choice.Cost = m, choice.Cost.plus(cost)
		sources = sources || m == Chunked || m == Entire
		if m != Unneeded {
			choice.Size, choice.Full = choice.Size+c.Size, choice.Full+c.whole()
		}
	}
	if choice.Uses(Patched) > 0 {
		choice.Cost = choice.Cost.plus(Cost{Bytes: s.Patch, RoundTrips: 1})
	}
	if sources && s.Sources > 0 {
		choice.Cost = choice.Cost.plus(Cost{Bytes: s.Sources, RoundTrips: 1})
	}
	return choice
}

// means is the cheapest one for a content, where the set patch is fetched or not.
func (s Situation) means(c Blob, patch bool) (Strategy, Cost) {
	switch {
	case c.Lacks == 0:
		return Unneeded, Cost{}
	case c.Local && c.may(Copied):
		return Copied, Cost{CPU: float64(c.Lacks) / copyRate}
	case patch && c.InPatch && c.may(Patched):
		return Patched, Cost{CPU: float64(c.Size) / patchRate}
	}
	entire, chunked := c.entire(), c.chunked()
	if c.may(Chunked) && c.Chunks >= 0 && (!c.may(Entire) || chunked.Time(s.Link) < entire.Time(s.Link)) {
		return Chunked, chunked
	}
	switch {
	case c.may(Entire):
		return Entire, entire
	case c.may(Chunked) && c.Indexed:
		return Chunked, entire // whatever it costs
	default:
		return Stuck, Cost{}
	}
}

// whole is how many bytes the whole object has, or probably has.
func (c Blob) whole() int64 {
	if c.Whole == Unknown {
		return int64(float64(c.Size) * guessedShare)
	}
	return c.Whole
}

// entire is the cost of the whole object. One that is stored need not come whole.
func (c Blob) entire() Cost {
	if c.Whole != Unknown && !c.Packed {
		return Cost{Bytes: c.Lacks, Requests: 1, CPU: float64(c.Lacks) / copyRate}
	}
	return Cost{Bytes: c.whole(), Requests: 1, CPU: float64(c.Size) / zstdRate}
}

func (c Blob) chunked() Cost {
	return Cost{Bytes: c.Chunks, Requests: c.Runs, CPU: float64(c.Size) / chunkRate}
}

// worthIndex reports whether an object of so many bytes with the chunk indexes of contents is worth looking at. alike are
// those of which an older version, or something like it, is here: it costs its bytes and a share of a round trip, and saves
// half of their whole objects if the versions have half of their bytes in common. Where a whole object does not come, it is
// all there is.
func worthIndex(alike []Blob, index int64, l Link) bool {
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
