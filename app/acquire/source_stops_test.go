package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"collet/app/download"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/delta"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// segment is how many bytes come at once, as over a real line.
const segment = 1_400

// stoppedLine brings a mirror's bytes in segments. It counts them, and ends the process that reads when so many have come.
type stoppedLine struct {
	download.Mirror
	mu   sync.Mutex
	came int64
	stop int64 // the process ends when so many bytes have come; 0 is never
	fs   *faultfs.FS
	end  func() // ends it
}

func (l *stoppedLine) Get(ctx context.Context, name string, from, to, limit int64) (io.ReadCloser, error) {
	if l.ended() {
		return nil, faultfs.ErrStopped
	}
	r, err := l.Mirror.Get(ctx, name, from, to, limit)
	if err != nil {
		return nil, err
	}
	return &stoppedReader{r, l}, nil
}

// ended reports whether the process has come to its end, and brings it there.
func (l *stoppedLine) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.fs.Stat("."); errors.Is(err, faultfs.ErrStopped) {
		return true
	}
	if l.stop == 0 || l.came < l.stop {
		return false
	}
	l.end()
	return true
}

type stoppedReader struct {
	io.ReadCloser
	l *stoppedLine
}

func (r *stoppedReader) Read(p []byte) (int, error) {
	if r.l.ended() {
		return 0, faultfs.ErrStopped
	}
	n, err := r.ReadCloser.Read(p[:min(len(p), segment)])
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	r.l.came += int64(n)
	return n, err
}

func (r *stoppedReader) Total() int64 { return r.ReadCloser.(download.Sized).Total() }

// TestStopsCostNothing ends the process again and again at random moments of an update, by bytes that came and by operations
// of the disk. All starts together fetch hardly more than one update that nothing stops, beside what every start has to ask:
// whether there is something newer, and at most what was being read at the moment of the stop.
func TestStopsCostNothing(t *testing.T) {
	testlevel.Slow(t)
	seeds := []uint64{6}
	if testlevel.Full() {
		seeds = []uint64{1, 2, 3, 4, 5, 6, 7}
	}
	old := tree{"Lathe.so": prose(1, 60_000), "A.zip": prose(2, 150_000), "B.zip": prose(3, 90_000)}
	next := old.with(tree{"Lathe.so": edited(old["Lathe.so"], 1), "A.zip": old["A.zip"][:100_000] + noise(4, 60_000), "B.zip": edited(old["B.zip"], 2)})
	many := tree{}
	for i := range uint64(30) {
		many[fmt.Sprintf("data/%d.txt", i)] = sparse(100+i, 20_000)
	}
	small := newPublisher(t)
	small.publish(1, old, publish.Request{})
	small.publish(2, next, publish.Request{})
	bare := newPublisher(t)
	bare.set(`Patches = 2`, `Patches = 0`)
	bare.publish(1, old, publish.Request{})
	bare.publish(2, next, publish.Request{})
	first := newPublisher(t)
	first.publish(2, many.with(tree{"Lathe.so": sparse(1, 1_300_000), "Big.zip": noise(5, 1_200_000)}), publish.Request{})
	if _, found := first.head(2).Solid(); !found {
		t.Fatal("a first install without a solid form")
	}
	type story struct {
		name   string
		p      *publisher
		from   uint64
		mirror func(p *publisher) download.Mirror
	}
	stories := []story{
		{"a patch in a sequel", small, 1, func(p *publisher) download.Mirror { return p.mirror() }},
		{"a patch by its name", small, 1, func(p *publisher) download.Mirror { return p.bareMirror() }},
		{"chunks and whole objects", bare, 1, func(p *publisher) download.Mirror { return p.bareMirror() }},
		{"lists in a sequel", bare, 1, func(p *publisher) download.Mirror { return p.mirror() }},
		{"a first install", first, 0, func(p *publisher) download.Mirror { return p.mirror() }},
	}
	if testlevel.Full() { // megabytes of patches take a while
		large := newPublisher(t)
		big := noise(6, 1_900_000)
		large.publish(1, tree{"Lathe.so": prose(1, 50_000), "Big.zip": big}, publish.Request{})
		large.publish(2, tree{"Lathe.so": edited(prose(1, 50_000), 1), "Big.zip": big[:700_000] + noise(7, 1_200_000)}, publish.Request{})
		if n := large.head(2).Patches[0].Object.Size; n <= delta.MaxComputedPatch {
			t.Fatalf("the patch has only %d bytes", n)
		}
		stories = append(stories, story{"a large patch", large, 1, func(p *publisher) download.Mirror { return p.mirror() }})
	}
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			template := newClient(t, story.p)
			if story.from > 0 {
				template.at(story.from)
			}
			begin := func() *client {
				c := newClient(t, story.p, &stoppedLine{Mirror: story.mirror(story.p)})
				c.disk = template.disk.Clone()
				return c
			}
			c := begin()
			once := func(c *client) (came int64, ops int) {
				fsys := c.disk.Open(faultfs.Options{})
				l := &stoppedLine{Mirror: story.mirror(story.p), fs: fsys}
				c.mirrors = []download.Mirror{l}
				_, err := c.try(t.Context(), fsys)
				must(t, errors.Join(err, fsys.Close()))
				c.holds(2)
				return l.came, fsys.Count()
			}
			whole, ops := once(c)
			start, _ := once(c)
			for _, seed := range seeds {
				stopAtRandom(t, begin(), rand.New(rand.NewPCG(seed, 1)), seed, whole, start, ops)
			}
		})
	}
}

// stopAtRandom stops starts of a client until one comes to its end.
func stopAtRandom(t *testing.T, c *client, r *rand.Rand, seed uint64, whole, start int64, ops int) {
	t.Helper()
	l := c.mirrors[0].(*stoppedLine)
	stops, total := 0, int64(0)
	for c.differs(2) != nil {
		if stops == 50 {
			t.Fatalf("seed %d: it does not come to its end: %v\n%s", seed, c.differs(2), c.log.String())
		}
		c.log.Reset()
		ctx, cancel := context.WithCancel(t.Context())
		fsys := c.disk.Open(faultfs.Options{})
		l.came, l.stop, l.fs = 0, 0, fsys
		l.end = func() {
			fsys.Kill()
			cancel()
		}
		if stops < 16 {
			if r.IntN(3) == 0 {
				fsys.StopBefore(1 + r.IntN(ops))
			} else {
				l.stop = start + r.Int64N(whole>>r.IntN(5)) // early and late ones
			}
		}
		_, _ = c.try(ctx, fsys)
		fsys.Kill()
		cancel()
		stops, total = stops+1, total+l.came
	}
	beside := int64(stops-1) * (start + 2*segment)
	t.Logf("seed %d: %d starts fetched %d bytes, %.3f of one update, and %d for asking", seed, stops, total, float64(total-int64(stops-1)*start)/float64(whole), int64(stops-1)*start)
	if total > whole*105/100+beside {
		t.Errorf("seed %d: %d starts fetched %d bytes; one update has %d, and each start more %d", seed, stops, total, whole, start)
	}
}

// stopped is a client of release 1 whose process ended in the middle of the update that mirrors bring.
func stopped(t *testing.T, p *publisher, after int64, mirror *folderMirror) *client {
	t.Helper()
	c := newClient(t, p).at(1)
	fsys := c.disk.Open(faultfs.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.mirrors = []download.Mirror{&stoppedLine{Mirror: mirror, fs: fsys, stop: after, end: func() {
		fsys.Kill()
		cancel()
	}}}
	_, _ = c.try(ctx, fsys)
	fsys.Kill()
	if c.differs(2) == nil {
		t.Fatal("it was not stopped")
	}
	if data := c.disk.Files()["Cache/release/received.unverified"]; len(data) < 10_000 {
		t.Fatalf("%d bytes are kept", len(data))
	}
	return c
}

// TestStopBeforeWrongBytes: what a bad mirror brought before a stop is not believed after it, and does not come back.
func TestStopBeforeWrongBytes(t *testing.T) {
	p := newPublisher(t)
	old := tree{"Lathe.so": prose(1, 60_000), "A.zip": prose(2, 90_000)}
	p.publish(1, old, publish.Request{})
	p.publish(2, old.with(tree{"Lathe.so": edited(old["Lathe.so"], 1), "A.zip": noise(4, 60_000)}), publish.Request{})
	for name, bare := range map[string]bool{"sequel": false, "by its name": true} {
		t.Run(name, func(t *testing.T) {
			bad := p.mirror()
			bad.bare = bare
			bad.bend = func(name string, data []byte) []byte {
				if strings.HasPrefix(name, "objects/") || strings.HasPrefix(name, "sequels/") {
					data[min(len(data)-1, 5_000)] ^= 1
				}
				return data
			}
			c := stopped(t, p, 30_000, bad)
			c.mirrors = []download.Mirror{p.mirror()}
			c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
			c.holds(2)
			c.run()
			if _, there := c.disk.Files()["Cache/release/received.unverified"]; there {
				t.Error("what was kept is still there")
			}
		})
	}
}

// TestStopBeforeAnotherRelease: received bytes of a release are not used, and do no harm, when a newer release exists.
func TestStopBeforeAnotherRelease(t *testing.T) {
	p := newPublisher(t)
	old := tree{"Lathe.so": prose(1, 60_000), "A.zip": prose(2, 90_000)}
	p.publish(1, old, publish.Request{})
	p.publish(2, old.with(tree{"A.zip": noise(4, 60_000)}), publish.Request{})
	c := stopped(t, p, 30_000, p.mirror())
	p.publish(3, old.with(tree{"A.zip": noise(5, 50_000)}), publish.Request{})
	c.mirrors = []download.Mirror{p.mirror()}
	c.run()
	c.holds(3)
}

// TestServerOfWholeFilesAfterAStop: a server that gives no parts of files gives them whole.
func TestServerOfWholeFilesAfterAStop(t *testing.T) {
	p := newPublisher(t)
	old := tree{"Lathe.so": prose(1, 60_000), "A.zip": prose(2, 90_000)}
	p.publish(1, old, publish.Request{})
	p.publish(2, old.with(tree{"A.zip": noise(4, 60_000)}), publish.Request{})
	mirror := p.mirror()
	c := stopped(t, p, 30_000, mirror)
	whole := p.mirror()
	whole.spoil = func(name string, from int64) error {
		if from > 0 {
			return &download.WrongError{Mirror: whole.name, Name: name, Kind: download.WrongWhole}
		}
		return nil
	}
	c.mirrors = []download.Mirror{whole}
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	c.holds(2)
}
