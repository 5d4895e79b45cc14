package release

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// Buckets is the number of client groups that a rollout can distinguish.
	Buckets = 10_000
	// MaxEntries is the largest number of releases in the signed list: 20 of each of 20 targets in 10 channels. Reading
	// the list costs a client some 17 KB of short-lived memory an entry.
	MaxEntries = 4000
)

// ErrNoRelease says that the signed list offers no release for a query.
var ErrNoRelease = errors.New("no release is offered for this channel and target")

// ErrWithheld is ErrNoRelease where the list has releases for the channel and target, and each is killed, held, or for other players.
var ErrWithheld = fmt.Errorf("%w at the moment: each one in the list is killed, held, or for other players", ErrNoRelease)

// Entry is one line of the signed list: a release, its audience, and the location of its head.
type Entry struct {
	Product, Channel, Target string
	Number                   uint64
	Percent                  uint8 // of the clients that are offered it, 0 to 100
	Hold                     bool  // not offered to further clients; clients that have it keep it
	Killed                   bool  // clients that have it leave it, even for a lower number
	Head                     Object
}

// Path is the entry's name in the signed list: product/channel/target/number.
func (e Entry) Path() string {
	return strings.Join([]string{e.Product, e.Channel, e.Target, strconv.FormatUint(e.Number, 10)}, "/")
}

// Track identifies entries whose numbers are comparable.
type Track struct{ Product, Channel, Target string }

// Track is the track of the entry.
func (e Entry) Track() Track { return Track{e.Product, e.Channel, e.Target} }

// CompareEntries orders by track and number.
func CompareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Target, b.Target),
		cmp.Compare(a.Number, b.Number))
}

// NameFault returns what is wrong with the name of a product, channel or target, or nothing.
func NameFault(name string) string {
	if len(name) > maxName {
		return "has a name that is too long"
	}
	return nameFault(name)
}

// check returns the fault of an entry to be signed, or nothing.
func (e Entry) check() string {
	for _, name := range []string{e.Product, e.Channel, e.Target} {
		if reason := NameFault(name); reason != "" {
			return reason
		}
	}
	switch sum, known := e.Head.Sum.SHA256(); {
	case e.Number == 0 || e.Number > MaxNumber:
		return "has no number from 1 to 2^53-1"
	case e.Percent > 100:
		return "goes to more than 100 percent"
	case !known || sum == [32]byte{} || e.Head.Size <= 0 || e.Head.Size > MaxHead:
		return "has no head"
	default:
		return ""
	}
}

// ParseEntryPath parses the name of an entry. A name without exactly four elements belongs to later programs: taken is false.
func ParseEntryPath(name string) (e Entry, taken bool, err error) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return Entry{}, false, nil
	}
	number, err := strconv.ParseUint(parts[3], 10, 64)
	e = Entry{Product: parts[0], Channel: parts[1], Target: parts[2], Number: number}
	if err != nil || e.Path() != name {
		return e, true, fmt.Errorf("release %q has no plain number", name)
	}
	return e, true, nil
}

// ReadConditions reads the custom fields of the signed list into e, whose path and head must be set, and checks the whole entry.
func (e *Entry) ReadConditions(data []byte) error {
	if err := readDocument("release entry", data, maxText, e.codeCustom); err != nil {
		return err
	}
	if reason := e.check(); reason != "" {
		return errors.New(reason)
	}
	return nil
}

// Conditions encodes the custom fields, as ReadConditions reads them. An invalid entry is an error.
func (e Entry) Conditions() ([]byte, error) {
	if reason := e.check(); reason != "" {
		return nil, errors.New(reason)
	}
	return writeDocument("release entry", maxText, e.codeCustom)
}

// codeCustom is the layout of the custom fields.
func (e *Entry) codeCustom(c *canon) {
	number, percent := e.Number, uint64(e.Percent)
	c.literal(`{"hold":`)
	c.flag("hold", &e.Hold)
	c.literal(`,"killed":`)
	c.flag("killed", &e.Killed)
	c.literal(`,"number":`)
	c.number("number", &number, MaxNumber)
	c.literal(`,"percent":`)
	c.number("percent", &percent, 100)
	c.literal(`}`)
	if number != e.Number {
		c.fail("number is not that of the path")
	}
	e.Percent = uint8(percent)
}

// Query describes the client that looks for a release.
type Query struct {
	Product, Channel, Target string
	Install                  string // the install's id, any constant text; it selects the rollout bucket
	Have                     uint64 // number of the installed release of this channel; 0 for none
}

// Bucket is the rollout group of an install, 0 to Buckets − 1: the first 8 bytes of the SHA-256 of product, channel and
// install id, each followed by a zero byte, as a big-endian number modulo Buckets. It differs between channels, so that
// the first players to get a release vary.
func (q Query) Bucket() uint32 {
	sum, _ := sumOf([]byte(q.Product + "\x00" + q.Channel + "\x00" + q.Install + "\x00")).SHA256()
	return uint32(binary.BigEndian.Uint64(sum[:8]) % Buckets)
}

// isOffered reports whether the entry is offered to the query's client.
func (q Query) isOffered(e Entry) bool {
	return !e.Killed && !e.Hold && q.Bucket() < uint32(e.Percent)*(Buckets/100)
}

// Choice is the result of Choose.
type Choice struct {
	Entry
	Listed bool // false: the installed release is no longer listed and stays; Head is zero
	Down   bool // the number is lower than the installed one, because that was killed
}

// Choose selects the release for a query. It is the highest that is neither held nor killed and whose rollout includes
// the client. It is never below the installed one, unless that is killed. Then it is the highest offered one, else the
// highest that is not held, else the highest that is not killed: clients leave a killed release regardless of rollouts.
// Without such a release the error is ErrNoRelease, or ErrWithheld if it has others for the track.
func Choose(entries []Entry, q Query) (Choice, error) {
	mine := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Track() != q.Track() })
	have := slices.IndexFunc(mine, func(e Entry) bool { return e.Number == q.Have })
	best, found := Highest(mine, q.isOffered)
	switch {
	case have >= 0 && mine[have].Killed:
		for _, fit := range []func(Entry) bool{func(e Entry) bool { return !e.Killed && !e.Hold }, func(e Entry) bool { return !e.Killed }} {
			if !found {
				best, found = Highest(mine, fit)
			}
		}
	case q.Have == 0 || found && best.Number > q.Have:
	case have >= 0:
		return Choice{Entry: mine[have], Listed: true}, nil
	case len(mine) > 0:
		return Choice{Entry: Entry{Product: q.Product, Channel: q.Channel, Target: q.Target, Number: q.Have}}, nil
	}
	switch {
	case !found && len(mine) > 0:
		return Choice{}, ErrWithheld
	case !found:
		return Choice{}, ErrNoRelease
	}
	return Choice{Entry: best, Listed: true, Down: best.Number < q.Have}, nil
}

// Track is the requested track.
func (q Query) Track() Track { return Track{q.Product, q.Channel, q.Target} }

// Products are the products of a list that have releases for a channel and target, in the list's order.
func Products(entries []Entry, channel, target string) (names []string) {
	for _, e := range entries {
		if e.Channel == channel && e.Target == target && !slices.Contains(names, e.Product) {
			names = append(names, e.Product)
		}
	}
	return names
}

// OnlyProduct is the only product that has releases for a channel and target; empty if there are several or none.
func OnlyProduct(entries []Entry, channel, target string) string {
	if names := Products(entries, channel, target); len(names) == 1 {
		return names[0]
	}
	return ""
}

// Highest returns the entry with the highest number that fits.
func Highest(entries []Entry, fit func(Entry) bool) (best Entry, found bool) {
	for _, e := range entries {
		if fit(e) && (!found || e.Number > best.Number) {
			best, found = e, true
		}
	}
	return best, found
}

// Prune drops obsolete releases. Of each product, channel and target it keeps the newest keep, and everything from the
// newest release that is offered to all clients. So a client with a dropped release is offered a higher number.
func Prune(entries []Entry, keep int) []Entry {
	kept := slices.SortedFunc(slices.Values(entries), CompareEntries)
	general, above := map[Track]uint64{}, map[Track]int{}
	for _, e := range kept {
		if !e.Hold && !e.Killed && e.Percent == 100 {
			general[e.Track()] = e.Number
		}
	}
	for i := len(kept) - 1; i >= 0; i-- {
		e := kept[i]
		if above[e.Track()]++; above[e.Track()] > keep && e.Number < general[e.Track()] {
			kept[i].Number = 0
		}
	}
	return slices.DeleteFunc(kept, func(e Entry) bool { return e.Number == 0 })
}
