package adoption

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/netip"
	"strconv"
	"time"

	"github.com/axiomhq/hyperloglog"

	"collet/netproto/beacon"
)

const (
	// ShareFloor and SharePercent are how many beacons of one range of addresses are counted in an hour: so many, and beyond that so many
	// percent of all that were counted in the hour. The floor is above the starts of a school or a dormitory; the share lets one range
	// move a rate of the whole by a hundredth.
	ShareFloor   = 100
	SharePercent = 1
	// shareSlots is the number of counters for ranges, 256 KiB. Ranges that meet in a counter have one share together.
	shareSlots = 1 << 16
	// maxSketches is how many releases have a sketch of their own in a day. A sketch takes up to 16 KiB.
	maxSketches = 256
)

// Name gives a release its name in counts: its number, or a word. It is false if the channel or the target is unknown.
type Name func(channel, target string, number uint64) (release string, known bool)

// AnyName names every release by its number, for counts without a signed list.
func AnyName(_, _ string, number uint64) (string, bool) { return strconv.FormatUint(number, 10), true }

// Counter counts beacons into buckets. A range of addresses, a /24 of IPv4 or a /48 of IPv6, has only a share in the counts of an hour, so
// that forged beacons of one place can't outweigh those of players. Beacons carry no proof: a sender with addresses in very many ranges can
// still distort counts. It is not safe for concurrent use.
type Counter struct {
	name  Name
	hours map[time.Time]*hourCounts
	days  map[time.Time]*dayCounts
}

// hourCounts is an hour that is being counted.
type hourCounts struct {
	Bucket
	changed bool
	salt    [sha256.Size]byte
	total   uint64 // counted beacons of this process
	shares  *[shareSlots]uint32
}

// dayCounts is a day that is being counted.
type dayCounts struct {
	Bucket
	changed  bool
	salt     [sha256.Size]byte
	sketches map[Has]*hyperloglog.Sketch
}

// NewCounter returns a Counter with names of a signed list, or AnyName.
func NewCounter(name Name) *Counter {
	return &Counter{name: name, hours: map[time.Time]*hourCounts{}, days: map[time.Time]*dayCounts{}}
}

// Add counts a beacon that came at a time from an address, and reports whether it did. An invalid address is unknown, such as a proxy's: it has no
// share and is no install.
func (c *Counter) Add(at time.Time, from netip.Addr, b beacon.Beacon) bool {
	hour, today := c.hour(at.UTC().Truncate(time.Hour)), c.day(at.UTC().Truncate(day))
	hour.changed, today.changed = true, true
	if !hour.allows(from) {
		hour.Limited++
		today.Limited++
		return false
	}
	k, s := c.keyOf(b), Sums{1, uint64(b.Bytes), uint64(b.Seconds)}
	hour.add(k, s)
	today.add(k, s)
	if b.Outcome == beacon.Confirmed {
		today.note(k.Has, from)
	}
	return true
}

// keyOf is the row of a beacon. Unknown targets, channels and releases are beacon.Other.
func (c *Counter) keyOf(b beacon.Beacon) Key {
	k := Key{Has: Has{b.Channel, b.Target, beacon.Other}, Kind: b.Kind, From: NoRelease, Outcome: b.Outcome, Strategy: b.Strategy}
	var known bool
	if k.Release, known = c.name(b.Channel, b.Target, b.Release); !known {
		k.Has, k.From = Has{beacon.Other, beacon.Other, beacon.Other}, beacon.Other
		return k
	}
	if b.Release == 0 {
		k.Release = Unknown
	}
	if b.From != 0 {
		k.From, _ = c.name(b.Channel, b.Target, b.From)
	}
	return k
}

// hour is the hour that begins at a time.
func (c *Counter) hour(begin time.Time) *hourCounts {
	h := c.hours[begin]
	if h == nil {
		h = &hourCounts{Bucket: newBucket(begin), salt: newSalt(), shares: new([shareSlots]uint32)}
		c.hours[begin] = h
		dropOldest(c.hours, KeepHours)
	}
	return h
}

// day is the day that begins at a time.
func (c *Counter) day(begin time.Time) *dayCounts {
	d := c.days[begin]
	if d == nil {
		d = &dayCounts{Bucket: newBucket(begin), salt: newSalt(), sketches: map[Has]*hyperloglog.Sketch{}}
		c.days[begin] = d
		dropOldest(c.days, KeepDays)
	}
	return d
}

// dropOldest keeps the newest entries.
func dropOldest[T any](all map[time.Time]T, keep int) {
	if len(all) <= keep {
		return
	}
	var oldest time.Time
	for begin := range all {
		if oldest.IsZero() || begin.Before(oldest) {
			oldest = begin
		}
	}
	delete(all, oldest)
}

// newSalt is a random salt.
func newSalt() (salt [sha256.Size]byte) {
	rand.Read(salt[:]) // never fails, see its documentation
	return salt
}

// allows counts a beacon against the share of its range.
func (h *hourCounts) allows(from netip.Addr) bool {
	if from.IsValid() {
		slot := &h.shares[hashOf(h.salt, rangeOf(from))%shareSlots]
		if uint64(*slot) >= ShareFloor+h.total*SharePercent/100 {
			return false
		}
		*slot++
	}
	h.total++
	return true
}

// rangeOf is the range of addresses that have one share.
func rangeOf(from netip.Addr) netip.Addr {
	from = from.Unmap().WithZone("")
	bits := 48
	if from.Is4() {
		bits = 24
	}
	prefix, _ := from.Prefix(bits) // of a valid address it has no error
	return prefix.Addr()
}

// householdOf is what counts as one install: an address of IPv4, or a /64 of IPv6.
func householdOf(from netip.Addr) netip.Addr {
	from = from.Unmap().WithZone("")
	if from.Is4() {
		return from
	}
	prefix, _ := from.Prefix(64)
	return prefix.Addr()
}

func hashOf(salt [sha256.Size]byte, addr netip.Addr) uint64 {
	bytes := addr.As16()
	sum := sha256.Sum256(append(salt[:], bytes[:]...))
	return binary.BigEndian.Uint64(sum[:])
}

// note counts an address among those that started a release today.
func (d *dayCounts) note(has Has, from netip.Addr) {
	if !from.IsValid() {
		return
	}
	hash := hashOf(d.salt, householdOf(from))
	for _, of := range []Has{{}, has} {
		s := d.sketches[of]
		if s == nil && len(d.sketches) < maxSketches {
			s = hyperloglog.New()
			d.sketches[of] = s
		}
		if s != nil {
			s.InsertHash(hash)
		}
	}
}

// estimated is the bucket with the numbers of installs so far. After a restart counting begins anew with another salt; the larger number stays.
func (d *dayCounts) estimated() Bucket {
	b := d.Bucket
	b.Rows, b.Installs = maps.Clone(b.Rows), maps.Clone(b.Installs)
	for has, s := range d.sketches {
		b.Installs[has] = max(b.Installs[has], s.Estimate())
	}
	return b
}

// Hours and Days are copies of the buckets in memory, in any order.
func (c *Counter) Hours() (all []Bucket) {
	for _, h := range c.hours {
		b := h.Bucket
		b.Rows = maps.Clone(b.Rows)
		all = append(all, b)
	}
	return all
}

// Days is Hours for days.
func (c *Counter) Days() (all []Bucket) {
	for _, d := range c.days {
		all = append(all, d.estimated())
	}
	return all
}

// Resume continues the buckets that a process before this one has stored. It is called before the first Add of their times.
func (c *Counter) Resume(hour, today Bucket) {
	if hour.Rows != nil {
		c.hour(hour.Begin).Bucket = hour
	}
	if today.Rows != nil {
		c.day(today.Begin).Bucket = today
	}
}

// Retry marks the buckets of a time as changed, because they could not be stored.
func (c *Counter) Retry(now time.Time) {
	if h := c.hours[now.UTC().Truncate(time.Hour)]; h != nil {
		h.changed = true
	}
	if d := c.days[now.UTC().Truncate(day)]; d != nil {
		d.changed = true
	}
}

// TakeChanged returns copies of the buckets that have changed since the last call, and forgets all but those of a time: with a day goes its
// salt.
func (c *Counter) TakeChanged(now time.Time) (hours, days []Bucket) {
	for begin, h := range c.hours {
		if h.changed {
			b := h.Bucket
			b.Rows = maps.Clone(b.Rows)
			hours = append(hours, b)
		}
		if h.changed = false; begin.Before(now.UTC().Truncate(time.Hour)) {
			delete(c.hours, begin)
		}
	}
	for begin, d := range c.days {
		if d.changed {
			days = append(days, d.estimated())
		}
		if d.changed = false; begin.Before(now.UTC().Truncate(day)) {
			delete(c.days, begin)
		}
	}
	return hours, days
}
