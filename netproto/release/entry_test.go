package release_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"collet/netproto/release"
)

// buckets are vectors: a change of one would reshuffle the players of every running rollout.
var buckets = []struct {
	product, channel, install string
	bucket                    uint32
}{
	{"lathe", "stable", "7f3c", 4366}, {"lathe", "beta", "7f3c", 367}, {"mill", "stable", "7f3c", 3387}, {"lathe", "stable", "", 4287}, {"", "", "", 8417},
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	for _, b := range buckets {
		q := release.Query{Product: b.product, Channel: b.channel, Install: b.install, Target: "any", Have: 9}
		if got := q.Bucket(); got != b.bucket {
			t.Errorf("%q %q %q: %d, want %d", b.product, b.channel, b.install, got, b.bucket)
		}
	}
}

// TestBucketsAreEven: of many installs each tenth gets about a tenth, and the same share in every channel anew.
func TestBucketsAreEven(t *testing.T) {
	t.Parallel()
	const installs = 20_000
	var tenths [10]int
	both := 0
	for i := range installs {
		q := release.Query{Product: "lathe", Channel: "stable", Install: fmt.Sprintf("install-%d", i)}
		b := q.Bucket()
		if b >= release.Buckets {
			t.Fatalf("bucket %d", b)
		}
		tenths[b/1000]++
		if q.Channel = "beta"; b < 1000 && q.Bucket() < 1000 {
			both++
		}
	}
	for i, n := range tenths {
		if n < installs/10*9/10 || n > installs/10*11/10 {
			t.Errorf("tenth %d has %d of %d", i, n, installs)
		}
	}
	if both < installs/200 || both > installs/50 {
		t.Errorf("%d installs are among the first tenth twice, want about %d", both, installs/100)
	}
}

// at is a line of the list in short: 8 for everybody, 8h held, 8k killed, 8% with its share.
func at(number uint64, percent uint8, flags string) release.Entry {
	return release.Entry{
		Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: number, Percent: percent,
		Hold: slices.Contains([]byte(flags), 'h'), Killed: slices.Contains([]byte(flags), 'k'), Head: object(fmt.Sprint(number)),
	}
}

func query(have uint64) release.Query {
	return release.Query{Product: "lathe", Channel: "stable", Target: "Linux-x64", Install: "7f3c", Have: have}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	first, last := uint8(43), uint8(44) // the install is in bucket 4366
	for _, test := range []struct {
		name    string
		entries []release.Entry
		have    uint64
		want    uint64 // 0: none
		how     string // "down", "unlisted"
	}{
		{"nothing listed", nil, 0, 0, ""}, {"nothing listed for who has one", nil, 7, 0, ""},
		{"first install", []release.Entry{at(7, 100, "")}, 0, 7, ""},
		{"the highest, in any order", []release.Entry{at(9, 100, ""), at(7, 100, ""), at(8, 100, "")}, 0, 9, ""},
		{"update", []release.Entry{at(7, 100, ""), at(8, 100, "")}, 7, 8, ""},
		{"current", []release.Entry{at(7, 100, ""), at(8, 100, "")}, 8, 8, ""},
		{"not yet covered", []release.Entry{at(7, 100, ""), at(8, first, "")}, 7, 7, ""},
		{"just covered", []release.Entry{at(7, 100, ""), at(8, last, "")}, 7, 8, ""},
		{"not covered, first install", []release.Entry{at(7, 100, ""), at(8, first, "")}, 0, 7, ""},
		{"rolled out to no client", []release.Entry{at(7, 100, ""), at(8, 0, "")}, 7, 7, ""},
		{"share taken back", []release.Entry{at(7, 100, ""), at(8, 0, "")}, 8, 8, ""},
		{"held", []release.Entry{at(7, 100, ""), at(8, 100, "h")}, 7, 7, ""},
		{"held, who has it keeps it", []release.Entry{at(7, 100, ""), at(8, 100, "h")}, 8, 8, ""},
		{"held, and a newer one", []release.Entry{at(8, 100, "h"), at(9, 100, "")}, 8, 9, ""},
		{"all held", []release.Entry{at(7, 100, "h")}, 0, 0, ""}, {"all held for who has an older one", []release.Entry{at(7, 100, "h")}, 6, 6, "unlisted"},
		{"killed", []release.Entry{at(7, 100, ""), at(8, 100, "k")}, 7, 7, ""},
		{"killed, who has it goes down", []release.Entry{at(7, 100, ""), at(8, 100, "k")}, 8, 7, "down"},
		{"killed, and a newer one", []release.Entry{at(8, 100, "k"), at(9, 100, "")}, 8, 9, ""},
		{"killed and held", []release.Entry{at(7, 100, ""), at(8, 100, "hk")}, 8, 7, "down"},
		{"two killed", []release.Entry{at(6, 100, ""), at(7, 100, "k"), at(8, 100, "k")}, 8, 6, "down"},
		{"killed, the newer one goes to others", []release.Entry{at(7, 100, ""), at(8, 100, "k"), at(9, first, "")}, 8, 7, "down"},
		{"killed, only one that goes to others is left", []release.Entry{at(8, 100, "k"), at(9, 0, "")}, 8, 9, ""},
		{"killed, only a held one is left", []release.Entry{at(7, 100, "h"), at(8, 100, "k")}, 8, 7, "down"},
		{"killed, a held one and one for others", []release.Entry{at(6, 0, ""), at(7, 100, "h"), at(8, 100, "k")}, 8, 6, "down"},
		{"all killed", []release.Entry{at(7, 100, "k"), at(8, 100, "k")}, 8, 0, ""}, {"all killed, first install", []release.Entry{at(8, 100, "k")}, 0, 0, ""},
		{"dropped from the list", []release.Entry{at(6, 100, ""), at(8, 0, "")}, 7, 7, "unlisted"},
		{"dropped, and a newer one", []release.Entry{at(6, 100, ""), at(8, 100, "")}, 7, 8, ""},
		{"newer than everything", []release.Entry{at(6, 100, "")}, 7, 7, "unlisted"},
	} {
		others := []release.Entry{at(70, 100, ""), at(71, 100, ""), at(72, 100, "")}
		others[0].Product, others[1].Channel, others[2].Target = "mill", "beta", "Windows-win64"
		c, err := release.Choose(append(others, test.entries...), query(test.have))
		if test.want == 0 {
			if !errors.Is(err, release.ErrNoRelease) {
				t.Errorf("%s: %+v, %v", test.name, c, err)
			}
			continue
		}
		if err != nil || c.Number != test.want || c.Down != (test.how == "down") || c.Listed != (test.how != "unlisted") || c.Listed == c.Head.IsZero() {
			t.Errorf("%s: %+v, %v, want %d %s", test.name, c, err, test.want, test.how)
		}
	}
}

func drawEntries(t *rapid.T) []release.Entry {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) release.Entry {
		return at(rapid.Uint64Range(1, 12).Draw(t, "number"), rapid.SampledFrom([]uint8{0, 50, 100}).Draw(t, "percent"), rapid.SampledFrom([]string{"", "", "h", "k", "hk"}).Draw(t, "flags"))
	}), 0, 12, func(e release.Entry) uint64 { return e.Number }).Draw(t, "entries")
}

// TestChooseHolds: a client goes down only from a killed release, is never offered a killed one, and gets the same choice again.
func TestChooseHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries, q := drawEntries(t), query(rapid.Uint64Range(0, 13).Draw(t, "have"))
		q.Install = rapid.StringN(0, 4, 8).Draw(t, "install")
		killed := func(n uint64) bool {
			return slices.ContainsFunc(entries, func(e release.Entry) bool { return e.Number == n && e.Killed })
		}
		c, err := release.Choose(entries, q)
		if err != nil {
			return
		}
		if c.Killed || killed(c.Number) {
			t.Fatalf("a killed release: %+v", c)
		}
		if c.Number < q.Have && !(c.Down && killed(q.Have)) || c.Down && c.Number >= q.Have {
			t.Fatalf("from %d to %+v", q.Have, c)
		}
		if again, err := release.Choose(entries, query(c.Number)); err != nil || again.Number < c.Number {
			t.Fatalf("then from %d to %+v, %v", c.Number, again, err)
		}
	})
}

// TestPruneLeavesAChoiceToEveryClient: a client with a dropped release is offered a higher one, and the choices of all others are unchanged.
func TestPruneLeavesAChoiceToEveryClient(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		pruned := release.Prune(entries, rapid.IntRange(0, 3).Draw(t, "keep"))
		for have := range uint64(14) {
			q := query(have)
			before, err1 := release.Choose(entries, q)
			after, err2 := release.Choose(pruned, q)
			if (err1 == nil) != (err2 == nil) || before.Number != after.Number {
				t.Fatalf("have %d: %d, %v before and %d, %v after\n%+v\n%+v", have, before.Number, err1, after.Number, err2, entries, pruned)
			}
		}
	})
	long := []release.Entry{at(1, 100, ""), at(2, 100, ""), at(3, 100, "k"), at(4, 100, ""), at(5, 10, "")}
	numbers := func(entries []release.Entry) (list []uint64) {
		for _, e := range entries {
			list = append(list, e.Number)
		}
		return list
	}
	for keep, want := range map[int][]uint64{0: {4, 5}, 1: {4, 5}, 2: {4, 5}, 3: {3, 4, 5}, 4: {2, 3, 4, 5}, 9: {1, 2, 3, 4, 5}} {
		if got := numbers(release.Prune(long, keep)); !slices.Equal(got, want) {
			t.Errorf("keep %d: %v, want %v", keep, got, want)
		}
	}
}
