package adoption_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/netproto/adoption"
	"collet/netproto/beacon"
)

// noon is the time of tests: the middle of a day.
var noon = time.Date(2026, 11, 27, 12, 30, 0, 0, time.UTC)

// listed names releases as a signed list does that has 11 and 12 of stable for Linux-x64.
func listed(channel, target string, number uint64) (string, bool) {
	switch {
	case channel != "stable" || target != "Linux-x64":
		return "", false
	case number == 11 || number == 12:
		return fmt.Sprint(number), true
	default:
		return adoption.Unknown, true
	}
}

// linux is a release of stable for Linux-x64.
func linux(release string) adoption.Has {
	return adoption.Has{Channel: "stable", Target: "Linux-x64", Release: release}
}

// sent are beacons of a test, by their query.
func sent(t *testing.T, c *adoption.Counter, at time.Time, from string, queries ...string) (counted int) {
	t.Helper()
	for _, query := range queries {
		b, err := beacon.Parse(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		addr, _ := netip.ParseAddr(from)
		if c.Add(at, addr, b) {
			counted++
		}
	}
	return counted
}

// TestSummarize: a day of two releases, one of which fails for some.
func TestSummarize(t *testing.T) {
	t.Parallel()
	c := adoption.NewCounter(listed)
	sent(t, c, noon.Add(-2*time.Hour), "192.0.2.1",
		"1,start,11,0,confirmed,Linux-x64,stable,none,0,2", "1,start,11,0,confirmed,Linux-x64,stable,none,0,2", "1,update,0,11,unreachable,Linux-x64,stable,none,0,3")
	sent(t, c, noon, "192.0.2.2",
		"1,update,12,11,ready,Linux-x64,stable,patch,1000,10", "1,first,12,11,failed,Linux-x64,stable,none,0,1", "1,first,12,11,confirmed,Linux-x64,stable,none,0,2",
		"1,update,12,10,ready,Linux-x64,stable,whole,9000,20", "1,first,12,10,confirmed,Linux-x64,stable,none,0,2", "1,update,12,11,diskfull,Linux-x64,stable,patch,500,1",
		"1,start,7,0,confirmed,Linux-x64,stable,none,0,2", "1,start,12,0,confirmed,Linux-x64,forged,none,0,2")
	sent(t, c, noon, "", "1,update,12,0,ready,Linux-x64,stable,solid,8000,30")

	r := adoption.Summarize(adoption.Day, noon, c.Hours(), map[adoption.Has]int64{linux("12"): 10_000})
	if r.Beacons != 12 || r.Limited != 0 || len(r.Begins) != 25 || !r.Begins[24].Equal(noon.Truncate(time.Hour)) {
		t.Errorf("%d beacons, %d limited, %v", r.Beacons, r.Limited, r.Begins)
	}
	var names []string
	by := map[adoption.Has]adoption.Release{}
	for _, one := range r.Releases {
		names, by[one.Has] = append(names, one.Channel+"/"+one.Release), one
	}
	if want := []string{"other/other", "stable/12", "stable/11", "stable/unknown"}; !slices.Equal(names, want) {
		t.Errorf("%v instead of %v", names, want)
	}
	new, old, unknown := by[linux("12")], by[linux("11")], by[linux(adoption.Unknown)]
	if new.Starts != 2 || new.Confirmed != 2 || new.Failed != 1 || new.Updates != 3 || new.Attempts != 1 || new.Bytes != 18_500 || new.Saved == nil || *new.Saved != 12_000 || new.Seconds != 20 {
		t.Errorf("12: %+v", new)
	}
	if want := []adoption.From{{"11", 1}, {adoption.Unknown, 1}, {adoption.NoRelease, 1}}; !slices.Equal(new.Before, want) {
		t.Errorf("12 came after %v", new.Before)
	}
	if old.Starts != 2 || old.Spread[22] != 2 || old.Saved != nil || math.Abs(old.Share-0.4) > 1e-9 || math.Abs(new.Share-0.4) > 1e-9 || unknown.Starts != 1 || unknown.Attempts != 1 {
		t.Errorf("11: %+v, unknown: %+v", old, unknown)
	}
	if first := r.Outcomes[slices.IndexFunc(r.Outcomes, func(o adoption.Outcome) bool { return o.Has == linux("12") })]; first.Kind != beacon.First || first.Outcome != beacon.Confirmed || first.Count != 2 {
		t.Errorf("%+v", first)
	}
	if only := r.Only("stable", "Linux-x64"); len(only.Releases) != 3 || len(r.Only("", "macOS-arm64").Releases) != 0 {
		t.Errorf("%+v", only.Releases)
	}
	if hour := adoption.Summarize(adoption.Hour, noon, c.Hours(), nil); hour.Beacons != 9 || len(hour.Begins) != 2 {
		t.Errorf("%d beacons in the hour", hour.Beacons)
	}
}

// TestInstalls: addresses of a day are counted about right, households of IPv6 once, and again after a restart without counting twice.
func TestInstalls(t *testing.T) {
	t.Parallel()
	const players = 20_000
	c := adoption.NewCounter(listed)
	play := func(c *adoption.Counter) {
		b, _ := beacon.Parse("1,start,12,0,confirmed,Linux-x64,stable,none,0,2")
		for i := range uint32(players) {
			addr := binary.BigEndian.AppendUint32(nil, 0x0A000000+i*256)
			from, _ := netip.AddrFromSlice(addr)
			c.Add(noon, from, b)
			c.Add(noon.Add(time.Hour), from, b)
		}
	}
	play(c)
	for i := range 50 {
		sent(t, c, noon, fmt.Sprintf("2001:db8::%x", i+1), "1,start,11,0,confirmed,Linux-x64,stable,none,0,2")
	}
	check := func(c *adoption.Counter) adoption.Bucket {
		days := c.Days()
		if len(days) != 1 {
			t.Fatal(len(days))
		}
		b := days[0]
		if n := b.Installs[linux("12")]; math.Abs(float64(n)-players) > players*0.03 {
			t.Errorf("%d of %d", n, players)
		}
		if n := b.Installs[linux("11")]; n != 1 {
			t.Errorf("%d households instead of one", n)
		}
		return b
	}
	again := adoption.NewCounter(listed)
	again.Resume(adoption.Bucket{}, check(c))
	play(again)
	check(again)
}

// TestShare: one range of addresses can't outweigh players, whichever of its addresses it uses, and an unknown address has no share.
func TestShare(t *testing.T) {
	t.Parallel()
	const query = "1,first,12,11,failed,Linux-x64,stable,none,0,1"
	flood := func(c *adoption.Counter, at time.Time, form string, times int) (counted int) {
		for i := range times {
			counted += sent(t, c, at, fmt.Sprintf(form, i%250+1), query)
		}
		return counted
	}
	c := adoption.NewCounter(listed)
	if n := flood(c, noon, "198.51.100.%d", 5000); n != adoption.ShareFloor+1 { // one more per hundred that were counted
		t.Errorf("%d of a /24", n)
	}
	if n := flood(c, noon, "2001:db8:7:%x::1", 5000); n > adoption.ShareFloor+3 || n < adoption.ShareFloor {
		t.Errorf("%d of a /48", n)
	}
	if n := flood(c, noon, "::ffff:198.51.100.%d", 10); n > 2 {
		t.Errorf("%d more of the /24 in IPv6", n)
	}
	if n := flood(c, noon.Add(time.Hour), "198.51.100.%d", 200); n != adoption.ShareFloor+1 {
		t.Errorf("%d in the next hour", n)
	}
	if n := flood(c, noon, "no address %d", 10_000); n != 10_000 {
		t.Errorf("%d without an address", n)
	}
	if n := flood(c, noon, "203.0.113.%d", 1000); n < 190 || n > 220 {
		t.Errorf("%d of a range among 10,000 others", n)
	}
	for _, b := range c.Hours() {
		if b.Begin.Equal(noon.Truncate(time.Hour)) && b.Limited < 9000 {
			t.Errorf("%d were limited", b.Limited)
		}
	}
}

// TestCaps: rows and hours are bounded, whatever is sent.
func TestCaps(t *testing.T) {
	t.Parallel()
	c := adoption.NewCounter(adoption.AnyName)
	for i := range uint64(adoption.MaxRows + 100) {
		c.Add(noon, netip.Addr{}, beacon.Beacon{Kind: beacon.Start, Release: i + 1, Outcome: beacon.Confirmed, Target: "t", Channel: "c", Strategy: beacon.NoStrategy})
	}
	for i := range 100 {
		c.Add(noon.Add(time.Duration(i)*time.Hour), netip.Addr{}, beacon.Beacon{Kind: beacon.Start, Release: 1, Outcome: beacon.Confirmed, Target: "t", Channel: "c", Strategy: beacon.NoStrategy})
	}
	if n := len(c.Hours()); n != adoption.KeepHours {
		t.Errorf("%d hours", n)
	}
	for _, b := range c.Days() {
		if len(b.Rows) > adoption.MaxRows+1 {
			t.Errorf("%d rows", len(b.Rows))
		}
		if b.Begin.Equal(noon.Truncate(24*time.Hour)) && b.Rows[adoption.Key{Has: adoption.Has{Channel: beacon.Other, Target: beacon.Other, Release: beacon.Other}, Kind: beacon.Start, From: beacon.Other, Outcome: beacon.Confirmed, Strategy: beacon.NoStrategy}].Count != 100 {
			t.Errorf("the rows above the cap are not in one of other")
		}
		data, err := b.Encode()
		if err != nil || len(data) > adoption.MaxBucket {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
}

// TestReadLog: beacons in lines of common and combined logs, among others.
func TestReadLog(t *testing.T) {
	t.Parallel()
	const log = `192.0.2.7 - - [27/Nov/2026:12:10:00 +0000] "GET /beacon?1,start,12,0,confirmed,Linux-x64,stable,none,0,30 HTTP/1.1" 204 0 "-" "Collet/0.1.0"
2001:db8::7 - frank [27/Nov/2026:13:20:00 +0100] "GET /b?1%2Cfirst%2C12%2C11%2Cfailed%2CLinux-x64%2Cstable%2Cnone%2C0%2C1 HTTP/2.0" 404 9
- - - [27/Nov/2026:12:30:00 +0000] "GET https://cdn.example/beacon?1,start,11,0,confirmed,macOS-arm64,beta,none,0,30 HTTP/1.1" 200 0
192.0.2.7 - - [27/Nov/2026:12:10:00 +0000] "POST /beacon?1,start,12,0,confirmed,Linux-x64,stable,none,0,30 HTTP/1.1" 405 0
192.0.2.7 - - [27/Nov/2026:12:10:00 +0000] "GET /metadata/timestamp.json HTTP/1.1" 200 900
192.0.2.7 - - [yesterday] "GET /beacon?1,start,12,0,confirmed,Linux-x64,stable,none,0,30 HTTP/1.1" 204 0
192.0.2.7 - - [27/Nov/2026:12:10:00 +0000] "GET /beacon?1,start,12 HTTP/1.1" 400 0
broken`
	long := strings.Repeat("x", 40_000) + "\n"
	l, err := adoption.ReadLog(strings.NewReader(long+log), adoption.AnyName)
	if err != nil || l.Lines != 9 || l.Beacons != 3 || !l.Newest.Equal(noon) {
		t.Fatalf("%+v, %v", l, err)
	}
	r := adoption.Summarize(adoption.Hour, l.Newest, l.Buckets(adoption.Hour), nil)
	if r.Beacons != 3 || len(r.Releases) != 2 || r.Releases[1].Has != linux("12") || r.Releases[1].Starts != 1 || r.Releases[1].Failed != 1 {
		t.Errorf("%+v", r)
	}
	if m := adoption.Summarize(adoption.Month, l.Newest, l.Buckets(adoption.Month), nil); m.Beacons != 3 || len(m.Begins) != 30 || m.Installs[29] != 1 || m.Releases[1].Installs != 1 {
		t.Errorf("%+v", m)
	}
}

// FuzzReadLog: any log is read without a fault, and every counted beacon is in the report.
func FuzzReadLog(f *testing.F) {
	f.Add([]byte("192.0.2.7 - - [27/Nov/2026:12:10:00 +0000] \"GET /beacon?1,start,12,0,confirmed,Linux-x64,stable,none,0,30 HTTP/1.1\" 204 0\n"))
	f.Add([]byte("- - - [01/Jan/0001:00:00:00 +0000] \"GET /?1%2Cstart%2C0%2C0%2Cconfirmed%2Ca%2Cb%2Cnone%2C0%2C0 HTTP/1.1\" \xff\n\n\"[]\""))
	f.Fuzz(func(t *testing.T, log []byte) {
		l, err := adoption.ReadLog(bytes.NewReader(log), adoption.AnyName)
		if err != nil || l.Beacons > l.Lines {
			t.Fatalf("%+v, %v", l, err)
		}
		r := adoption.Summarize(adoption.Month, l.Newest, l.Buckets(adoption.Month), nil)
		if int(r.Beacons+r.Limited) > l.Beacons {
			t.Errorf("%+v of %+v", r, l)
		}
	})
}

// FuzzBucket: what is read as a bucket is written and read again as the same.
func FuzzBucket(f *testing.F) {
	c := adoption.NewCounter(adoption.AnyName)
	b, _ := beacon.Parse("1,update,12,11,ready,Linux-x64,stable,patch,1200000,8")
	c.Add(noon, netip.MustParseAddr("192.0.2.1"), b)
	for _, bucket := range append(c.Hours(), c.Days()...) {
		data, err := bucket.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		bucket, err := adoption.ParseBucket(data)
		if err != nil {
			return
		}
		first, err := bucket.Encode()
		if err != nil {
			return // a year that JSON has no form for
		}
		again, err := adoption.ParseBucket(first)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s became %s, %v", first, second, err)
		}
		adoption.Summarize(adoption.Day, bucket.Begin, []adoption.Bucket{bucket}, nil)
	})
}
