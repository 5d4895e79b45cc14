package acquire_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"collet/app/update"
	"collet/build/publish"
	"collet/platform/faultfs"
)

// TestFirstInstallOfLargeObjects has two compressed objects that are the first ones to need the spool, at the same time. It is small
// enough for the race detector.
func TestFirstInstallOfLargeObjects(t *testing.T) {
	p := newPublisher(t)
	p.publish(1, tree{"Lathe.so": sparse(1, 1_250_000), "A.bin": sparse(2, 1_250_000)}, publish.Request{})
	large := 0
	for _, s := range p.sources(1) {
		if s.Whole.Size > 1<<20 && s.Whole.Size < 1_250_000 {
			large++
		}
	}
	if large < 2 {
		t.Fatalf("%d objects are large and compressed", large)
	}
	c := newClient(t, p, p.mirror())
	var once sync.Once
	fsys := c.disk.Open(faultfs.Options{After: func(o faultfs.Op) {
		if strings.Contains(o.Name, "spool") { // the first one is about to open it: the other one gets there, too
			once.Do(func() {
				for range 10_000 {
					runtime.Gosched()
				}
			})
		}
	}})
	r, err := c.try(t.Context(), fsys)
	must(t, err)
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(1)
	if n := c.spooled(); n != 0 {
		t.Errorf("%d files are left in the spool", n)
	}
}

// sparse compresses a little: of each byte seven bits mean something.
func sparse(seed uint64, n int) string {
	b := []byte(noise(seed, n))
	for i := range b {
		b[i] &= 0x7f
	}
	return string(b)
}
