package acquire_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"collet/app/acquire"
	"collet/build/publish"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// maxRequests is how many requests any update may take, see acquire.MaxAlone.
const maxRequests = 200

// TestRequestsAreBounded counts the requests of clients with very many small files, whose bytes are a small part of the set.
func TestRequestsAreBounded(t *testing.T) {
	testlevel.Slow(t)
	boundRequests(t, 2*maxRequests, 5)
}

// TestRequestsOfManyFiles is TestRequestsAreBounded with 50,000 files, of which a client that lost its state needs the next release.
func TestRequestsOfManyFiles(t *testing.T) {
	testlevel.Lab(t)
	boundRequests(t, 50_000, 2)
}

// boundRequests publishes releases up to last, which is 2 or more, and updates to it. With 2 it tries the client without its state alone.
func boundRequests(t *testing.T, count int, last uint64) {
	set := func(version uint64) tree {
		files := tree{"Lathe.so": prose(version, 10_000), "Core.zip": noise(1, 4_000_000)}
		for i := range count {
			files[fmt.Sprintf("Text/%02d/%05d.txt", i%100, i)] = fmt.Sprintf("line %d of version %d\n", i, version)
		}
		return files
	}
	none := 0
	p := newPublisher(t)
	for n := range last {
		p.publish(n+1, set(n+1), publish.Request{Patches: &none})
	}
	tests := []struct {
		name  string
		from  uint64
		state []string // folders of the install that are lost
	}{
		{"one release back, without its state", last - 1, []string{"Cache/", ".collet/"}},
		{"one release back", last - 1, nil},
		{"many releases back, without its state", 1, []string{"Cache/", ".collet/"}},
		{"nothing to do, without its state", last, []string{"Cache/", ".collet/"}},
	}
	if last == 2 {
		tests = tests[:1]
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mirror := p.mirror()
			c := newClient(t, p, mirror)
			c.change = func(o *acquire.Options) { o.Link = acquire.Link{Rate: 1e9, RoundTrip: 1e6} } // where requests cost least
			c.install(test.from)
			for _, folder := range test.state {
				loseState(t, c.disk, folder)
			}
			r := c.run()
			c.holds(last)
			t.Logf("%d requests, %d bytes, %v", mirror.count(""), r.report.Fetched, r.report.Bytes)
			if n := mirror.count(""); n > maxRequests {
				t.Errorf("%d requests", n)
			}
			if test.state != nil || test.from == last {
				return
			}
			p.with(func(f *publish.Folder) error {
				list, err := f.Estimate(context.Background(), "stable", target, test.from, last, acquire.Link{Rate: 1e9, RoundTrip: 1e6})
				if err == nil && list[0].Cost.Requests+list[0].Cost.RoundTrips > maxRequests {
					t.Errorf("the estimate is %+v", list[0])
				}
				return err
			})
		})
	}
}

// loseState removes what an install has in a folder.
func loseState(t *testing.T, disk *faultfs.Disk, folder string) {
	t.Helper()
	for name := range disk.Files() {
		if strings.HasPrefix(name, folder) && !strings.HasSuffix(name, "/") {
			remove(t, disk, name)
		}
	}
}
