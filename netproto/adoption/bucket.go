// Package adoption counts beacons (package beacon), and says what they tell: who has which release, how fast one spreads, how updates and
// first starts end. A server counts what it receives, and `collet release adoption` what is in an access log, by the same Counter.
//
//	beacon, time, address → Counter → Bucket of an hour, Bucket of a day → Summarize → Report
//
// A bucket has sums, and no row for a client. An address is used for two things, in memory only: for the share of a range of addresses
// in all beacons (see Counter), and for the number of addresses of a day, by a HyperLogLog sketch of hashes with a random salt. The
// salt is thrown away with the sketch when the day is over.
//
// Everything is bounded: rows of a bucket, sketches, buckets of a report. Names are of a signed list where there is one; what exceeds a bound
// counts as beacon.Other.
package adoption

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"collet/netproto/beacon"
)

const (
	// MaxRows is how many rows a bucket has: 16 releases of 5 targets in 3 channels, with 20 combinations of the release before, the outcome
	// and the strategy. Further ones count in rows of Other.
	MaxRows = 5000
	// MaxBucket is the largest encoded bucket in bytes: MaxRows rows of the longest names are 1.5 MB.
	MaxBucket = 4 << 20
	// KeepHours and KeepDays are how many buckets are kept: two days in hours, and a year with a month to compare it with in days.
	KeepHours = 48
	KeepDays  = 400
	// NoRelease is the release before a first install, and Unknown one that the client or the list does not know.
	NoRelease = "none"
	Unknown   = "unknown"

	day = 24 * time.Hour
)

// Has names a release in counts: a number, or a word such as beacon.Other.
type Has struct {
	Channel string `json:"channel"`
	Target  string `json:"target"`
	Release string `json:"release"`
}

// HasEntry names a release by its number.
func HasEntry(channel, target string, number uint64) Has {
	return Has{channel, target, strconv.FormatUint(number, 10)}
}

// Key is what the beacons of a row have in common.
type Key struct {
	Has
	Kind     beacon.Kind `json:"kind"`
	From     string      `json:"from"`
	Outcome  string      `json:"outcome"`
	Strategy string      `json:"strategy"`
}

// Sums are the sums of a row.
type Sums struct {
	Count   uint64 `json:"count"`
	Bytes   uint64 `json:"bytes,omitempty"`
	Seconds uint64 `json:"seconds,omitempty"`
}

func (s *Sums) add(o Sums) {
	s.Count, s.Bytes, s.Seconds = s.Count+o.Count, s.Bytes+o.Bytes, s.Seconds+o.Seconds
}

// Bucket has the counts of an hour or a day, in UTC.
type Bucket struct {
	Begin    time.Time
	Rows     map[Key]Sums
	Installs map[Has]uint64 // of a day: about how many addresses started each release; that of the zero Has started any
	Limited  uint64         // beacons that were not counted, because their range of addresses had its share
}

// newBucket is an empty bucket.
func newBucket(begin time.Time) Bucket {
	return Bucket{Begin: begin, Rows: map[Key]Sums{}, Installs: map[Has]uint64{}}
}

// add adds to a row. A row above MaxRows becomes one of Other.
func (b *Bucket) add(k Key, s Sums) {
	if _, there := b.Rows[k]; !there && len(b.Rows) >= MaxRows {
		k = Key{Has: Has{beacon.Other, beacon.Other, beacon.Other}, Kind: k.Kind, From: beacon.Other, Outcome: k.Outcome, Strategy: k.Strategy}
	}
	sums := b.Rows[k]
	sums.add(s)
	b.Rows[k] = sums
}

// beacons is how many were counted.
func (b Bucket) beacons() (n uint64) {
	for _, s := range b.Rows {
		n += s.Count
	}
	return n
}

// bucketFile is the document of a bucket.
type bucketFile struct {
	Begin    time.Time  `json:"begin"`
	Rows     []row      `json:"rows"`
	Installs []installs `json:"installs,omitempty"`
	Limited  uint64     `json:"limited,omitempty"`
}

type row struct {
	Key
	Sums
}

type installs struct {
	Has
	Count uint64 `json:"count"`
}

// Encode is the bucket as JSON, always the same for the same counts.
func (b Bucket) Encode() ([]byte, error) {
	file := bucketFile{Begin: b.Begin.UTC(), Rows: []row{}, Limited: b.Limited}
	for _, k := range slices.SortedFunc(maps.Keys(b.Rows), compareKeys) {
		file.Rows = append(file.Rows, row{k, b.Rows[k]})
	}
	for _, has := range slices.SortedFunc(maps.Keys(b.Installs), compareHas) {
		file.Installs = append(file.Installs, installs{has, b.Installs[has]})
	}
	return json.Marshal(file)
}

// ParseBucket reads what Encode wrote.
func ParseBucket(data []byte) (Bucket, error) {
	var file bucketFile
	if len(data) > MaxBucket {
		return Bucket{}, fmt.Errorf("has more than %d bytes", MaxBucket)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return Bucket{}, err
	}
	if len(file.Rows) > 2*MaxRows || file.Begin.IsZero() || len(file.Installs) > MaxRows {
		return Bucket{}, errors.New("is no bucket of counts")
	}
	b := newBucket(file.Begin)
	b.Limited = file.Limited
	for _, r := range file.Rows {
		b.add(r.Key, r.Sums)
	}
	for _, i := range file.Installs {
		b.Installs[i.Has] = i.Count
	}
	return b, nil
}

// compareHas orders by channel and target, and releases from the newest to the oldest; words follow numbers.
func compareHas(a, b Has) int {
	return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Target, b.Target), compareReleases(b.Release, a.Release))
}

// compareReleases orders numbers by their value, and words below them.
func compareReleases(a, b string) int {
	isNumber := func(s string) int {
		if s != "" && s[0] >= '0' && s[0] <= '9' {
			return 1
		}
		return 0
	}
	if c := cmp.Compare(isNumber(a), isNumber(b)); c != 0 || isNumber(a) == 0 {
		return cmp.Or(c, cmp.Compare(a, b))
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) // without leading zeros
}

func compareKeys(a, b Key) int {
	return cmp.Or(compareHas(a.Has, b.Has), cmp.Compare(a.Kind, b.Kind), compareReleases(a.From, b.From), cmp.Compare(a.Outcome, b.Outcome),
		cmp.Compare(a.Strategy, b.Strategy))
}
