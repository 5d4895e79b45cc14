package acquire_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"collet/app/acquire"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/platform/testlevel"
)

// estimated holds `collet release estimate` against clients: by what each content comes, and how many bytes travel.
func estimated(t *testing.T, p *publisher) {
	near := acquire.Link{Rate: 6e6, RoundTrip: 20 * time.Millisecond, InFlight: 4}
	slow := acquire.Link{Rate: 100e3, RoundTrip: 20 * time.Millisecond, InFlight: 4}
	quick := acquire.Link{Rate: 1e9, RoundTrip: 10 * time.Millisecond, InFlight: 8}
	seen := map[acquire.Strategy]bool{}
	for _, test := range []struct {
		name     string
		from, to uint64
		line     acquire.Link
	}{
		{"one back", 7, 8, near},
		{"one back, on a slow line", 7, 8, slow},
		{"two back", 6, 8, near},
		{"many back", 2, 8, near},
		{"many back, on a slow line", 2, 8, slow},
		{"many back, on a quick line", 2, 8, quick},
		{"between others", 2, 6, slow},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := p.clone(t)
			p.disk = p.after[test.to].Clone()
			mirror := p.mirror()
			c := newClient(t, p, mirror).at(test.from)
			c.change = func(o *acquire.Options) { o.Link, o.Language = test.line, "en" }
			r := c.run()
			c.wantOutcome(r, update.BinariesStaged, update.NoCause)
			c.holds(test.to)
			var e publish.Estimate
			p.with(func(f *publish.Folder) error {
				list, err := f.Estimate(context.Background(), "stable", target, test.from, test.to, test.line)
				e = list[0]
				return err
			})
			most := acquire.Unneeded
			for _, m := range []acquire.Strategy{acquire.Patched, acquire.Chunked, acquire.Solid, acquire.Entire} {
				if got := r.report.Bytes[m]; got != e.By[m] {
					t.Errorf("%s: %d bytes of contents came, %d were estimated", m, got, e.By[m])
				}
				if most == acquire.Unneeded || e.By[m] > e.By[most] {
					most = m
				}
			}
			if e.Takes != most || e.By[most] == 0 {
				t.Errorf("takes %q of %v", e.Takes, e.By)
			}
			seen[most] = true
			if more := r.report.Fetched - e.Cost.Bytes; 50*max(more, -more) > r.report.Fetched { // 2 %
				t.Errorf("%d bytes came, %d were estimated, %d of them lists", r.report.Fetched, e.Cost.Bytes, e.Lists)
			}
			t.Logf("%d bytes came, %d were estimated, %d of them lists; %d and %d requests", r.report.Fetched, e.Cost.Bytes, e.Lists, mirror.count(""), e.Cost.Requests+e.Cost.RoundTrips)
		})
	}
	if len(seen) != 3 {
		t.Errorf("only %v were chosen at all", seen)
	}
}

// TestFirstEstimate holds the summary of a publication against new players: what they fetch, lists included.
func TestFirstEstimate(t *testing.T) {
	t.Parallel()
	type first struct {
		name    string
		set     tree
		percent *int
		late    bool // the list of files comes by itself, not with the sequel
	}
	ten := 10
	tests := []first{
		{"few files", tree{"Lathe.so": prose(1, 60_000), "Core.zip": noise(2, 70_000)}, nil, false},
		{"few files, for some", tree{"Lathe.so": prose(1, 60_000), "Core.zip": noise(2, 70_000)}, &ten, true},
		{"many small files", smallFiles(1), nil, false},
		{"many small files, for some", smallFiles(1), &ten, true},
	}
	if testlevel.Full() {
		many := tree{"Lathe.so": prose(1, 60_000)}
		for i := range 10_000 {
			many[fmt.Sprintf("Text/%02d/%05d.txt", i%100, i)] = fmt.Sprintf("line %d of some lines\n", i)
		}
		tests = append(tests, first{"very many files", many, nil, true})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPublisher(t)
			p.publish(1, test.set, publish.Request{Percent: test.percent, Notes: map[string][]byte{"en": []byte("The first one.\n")}})
			mirror := p.mirror()
			c := newClient(t, p, mirror)
			must(t, c.disk.Plant("Cache/release/install", "00000000000000000000000000000002")) // among the first ten percent
			r := c.run()
			c.holds(1)
			var u publish.Update
			p.with(func(f *publish.Folder) (err error) {
				list, err := f.List()
				must(t, err)
				u, err = f.Update(context.Background(), list[0].Entry, 5, acquire.Link{})
				return err
			})
			h := p.head(1)
			lists := h.Listing.Object.Size
			t.Logf("%d bytes came, %d were estimated, %d of them lists; %d and %d requests", r.report.Fetched, u.First.Cost.Bytes, u.First.Lists, mirror.count(""), u.First.Cost.Requests+u.First.Cost.RoundTrips)
			if u.First.Cost.Bytes != r.report.Fetched || u.First.Lists <= lists || u.First.Takes == acquire.Unneeded {
				t.Errorf("%d bytes came by %v, %d were estimated, by %q; %d of them lists, and the list of files has %d", r.report.Fetched, r.report.Bytes, u.First.Cost.Bytes, u.First.Takes, u.First.Lists, lists)
			}
			if late := mirror.count(h.Listing.Object.Path()) > 0; late != test.late {
				t.Errorf("the list of files came by itself: %t", late)
			}
			for _, m := range []acquire.Strategy{acquire.Solid, acquire.Entire} {
				if r.report.Bytes[m] != u.First.By[m] {
					t.Errorf("%s: %d bytes of contents came, %d were estimated", m, r.report.Bytes[m], u.First.By[m])
				}
			}
		})
	}
}

func TestAncestors(t *testing.T) {
	file := func(name string, size int64) release.ListedFile { return release.ListedFile{Path: name, Size: size} }
	old := release.Listing{
		file("a.zip", 100), file("b.ZIP", 900), file("c.zip", 300), file("d.zip", 290), file("e.zip", 1), file("f.zip", 280), file("g.txt", 300), file("stays.zip", 300),
	}
	fresh := release.Listing{file("a.zip", 100), file("new.zip", 300), file("stays.zip", 300)}
	for _, test := range []struct {
		name string
		file release.ListedFile
		want []int
	}{
		{"it was there", file("a.zip", 7), []int{0}},
		{"the nearest by size", file("new.zip", 300), []int{2, 3, 5, 4}},
		{"nothing ends like it", file("new.bin", 300), nil},
		{"of an old file that is gone", file("g.txt", 300), []int{6}},
	} {
		got := acquire.Ancestors(old, fresh, test.file)
		if len(got) != len(test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
		}
	}
	old[1].Size, old[2].Size = 1<<30, 300
	if got := acquire.Ancestors(old, fresh, file("new.zip", 1<<30)); len(got) != 0 {
		t.Errorf("more than is looked at: %v", got)
	}
}

func TestAskListing(t *testing.T) {
	for _, test := range []struct{ patch, listing, bytes, here int64 }{
		{acquire.Unknown, 5000, 5000, 0},
		{300, 5000, 300, 300},
		{1 << 20, 500_000, 1 << 20, 1 << 20},
		{1<<20 + 1, 5000, 5000, 0},
		{1<<20 + 1, 500_000, 32 << 10, 0},
	} {
		cost, here := acquire.AskListing(test.patch, test.listing)
		if cost.Bytes != test.bytes || here != test.here || cost.RoundTrips != 1 {
			t.Errorf("%+v: %+v, %d", test, cost, here)
		}
	}
}

// TestAskChanges: small changes come whole, of large ones a window, and the rest of what matters with a second request.
func TestAskChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size, reach, bytes int64
		trips              int
	}{
		{0, 0, 0, 0},
		{9000, 5000, 9000, 1},
		{9000, 0, 9000, 1},
		{acquire.WholeChanges, 1, acquire.WholeChanges, 1},
		{acquire.WholeChanges + 1, 1, 32 << 10, 1},
		{1 << 20, 0, 32 << 10, 1},
		{1 << 20, 100_000, 100_000, 2},
	} {
		want := acquire.Cost{Bytes: c.bytes, RoundTrips: c.trips}
		if got := acquire.AskChanges(c.size, c.reach); got != want {
			t.Errorf("%d of %d bytes cost %+v, want %+v", c.reach, c.size, got, want)
		}
	}
}
