package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"collet/app/acquire"
	"collet/app/download"
	"collet/app/update"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform/faultfs"
	"collet/platform/testlevel"
)

// game is a set that changes with its number: a module that is always another one, packs that change now and then, and
// some that never do.
func game(number uint64) tree {
	set := tree{
		"Lathe.so": prose(1, 200_000), "Core.zip": prose(2, 300_000), "Maps/Town.zip": noise(3, 250_000),
		"Sounds.zip": noise(4, 400_000), "Empty.txt": "", "Small.txt": "small",
	}
	for n := uint64(3); n <= number; n++ {
		set["Lathe.so"] = edited(set["Lathe.so"], n)
		set["Core.zip"] = edited(set["Core.zip"], 100+n)
		if n > 6 {
			set["Maps/Town.zip"] = edited(set["Maps/Town.zip"], 200+n)
		}
	}
	if number == 8 {
		set["Maps/Village.zip"] = set["Sounds.zip"] // the same under another name
		delete(set, "Small.txt")
	}
	return set
}

// newGame has releases 2, 6, 7 and 8, with patches from two releases back. They are published once for all tests.
func newGame(t testing.TB) *publisher {
	t.Helper()
	publishedGame.once.Do(func() {
		p := newPublisher(t)
		for _, n := range []uint64{2, 6, 7, 8} {
			p.publish(n, game(n), publish.Request{Notes: map[string][]byte{"en": fmt.Appendf(nil, "What is new in %d", n)}})
		}
		publishedGame.p = p
	})
	if publishedGame.p == nil {
		t.Fatal("the game could not be published")
	}
	return publishedGame.p.clone(t)
}

var publishedGame struct {
	once sync.Once
	p    *publisher
}

// TestSource tells the stories of one game; each has a folder of its own.
func TestSource(t *testing.T) {
	p := newGame(t)
	stories := map[string]func(*testing.T, *publisher){
		"fresh install":                           freshInstall,
		"from the release before":                 fromBefore,
		"from many releases ago":                  fromLongAgo,
		"half-way through another":                halfWay,
		"an old file is damaged":                  damagedOld,
		"an old file rots unseen":                 rottenOld,
		"the patch is not there":                  noPatch,
		"a server of whole files":                 wholeFiles,
		"chunks are not there":                    noChunks,
		"whole objects are wrong":                 noWhole,
		"nothing is known of what is there":       memoryLost,
		"a damaged file is mended":                mended,
		"the offered release failed to start":     failedToStart,
		"laid out by a package":                   packaged,
		"rollback":                                attackRollback,
		"freeze":                                  attackFreeze,
		"the clock is wrong":                      wrongClock,
		"another target":                          attackTarget,
		"one mirror lies":                         oneMirrorLies,
		"another key":                             attackKeys,
		"killed":                                  killed,
		"held":                                    held,
		"rollout":                                 rollout,
		"no release for us":                       nothingForUs,
		"a newer host is needed":                  hostTooOld,
		"unreachable":                             unreachable,
		"mirrors of the head":                     headMirrors,
		"a module is gone":                        moduleGone,
		"stopped anywhere from before to the end": stoppedAnywhere,
		"pause and cap":                           pauseAndCap,
		"estimates are what clients choose":       estimated,
	}
	maps.Copy(stories, sequels())
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, p.clone(t))
		})
	}
}

func freshInstall(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror)
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.Release.Number != 8 || r.report.From != 0 || c.notes != "What is new in 8" || c.spooled() != 0 {
		t.Errorf("%v, notes %q, %d files in the spool", r, c.notes, c.spooled())
	}
	if r.report.Bytes[acquire.Copied] != 400_000 {
		t.Errorf("what is there twice was fetched twice: %v", r)
	}
	mirror.forget()
	r = c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	if n := len(mirror.asked); n != 2 || mirror.bytes > 1000 {
		t.Errorf("nothing to do: %d requests (%s), %d bytes", n, strings.Join(mirror.asked, ", "), mirror.bytes)
	}
}

func fromBefore(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.From != 7 || r.report.Bytes[acquire.Patched] != 750_000 || r.report.Bytes[acquire.Copied] != 400_000 || r.report.Bytes[acquire.Entire] != 0 {
		t.Errorf("%v", r)
	}
	if r.report.Fetched > 5000 || r.report.Saved() < 1_000_000 || c.spooled() != 0 {
		t.Errorf("%d bytes fetched, %d saved, %d files in the spool", r.report.Fetched, r.report.Saved(), c.spooled())
	}
	// timestamp and sequel at once; and notes, if there was time
	if n := len(mirror.asked); n < 2 || n > 3 {
		t.Errorf("%d requests: %s", n, strings.Join(mirror.asked, ", "))
	}
}

func fromLongAgo(t *testing.T, p *publisher) {
	if n := p.head(8).PatchCount(); n != 2 {
		t.Fatalf("release 8 has %d patches", n)
	}
	c := newClient(t, p, p.mirror()).at(2)
	c.change = func(o *acquire.Options) { o.Link.Rate = 100e3 } // each byte counts
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.From != 2 || r.report.Bytes[acquire.Chunked] != 750_000 || r.report.Bytes[acquire.Patched] != 0 || r.report.Fetched > 150_000 {
		t.Errorf("%v", r)
	}
}

// halfWay: an update to 6 was stopped in the middle when 8 came.
func halfWay(t *testing.T, p *publisher) {
	c := newClient(t, p, p.when(6)).at(2)
	ctx, cancel := context.WithCancel(t.Context())
	fsys := c.disk.Open(faultfs.Options{After: func(o faultfs.Op) {
		if strings.Contains(o.Name, "~Lathe.so") {
			cancel()
		}
	}})
	r, err := c.try(ctx, fsys)
	if err != nil || r.status.Outcome != update.Cancelled {
		t.Fatalf("%v, %v", r, err)
	}
	c.mirrors = []download.Mirror{p.mirror()}
	r = c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.From != 2 {
		t.Errorf("%v", r)
	}
}

// damagedOld: what the disk visibly has otherwise costs the group of the patch that needs it, and nothing else.
func damagedOld(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(7)
	plant(t, c.disk, "Resources/Core.zip", "a player's own")
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.Bytes[acquire.Entire]+r.report.Bytes[acquire.Chunked] < 300_000 {
		t.Errorf("%v", r)
	}
}

// rottenOld: a file changed and nothing about it shows; the patch makes something else of it than it should.
func rottenOld(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror())
	c.disk = faultfs.New(faultfs.Config{Now: time.Now, NoInodes: true})
	c.at(7)
	content := []byte(c.disk.Files()["Resources/Core.zip"])
	for i := range 50 {
		content[i*5000] ^= 0x55
	}
	rot(t, c.disk, "Resources/Core.zip", content)
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.Bytes[acquire.Entire]+r.report.Bytes[acquire.Chunked] < 300_000 || r.status.Attempt != 1 {
		t.Errorf("%v, %d attempts", r, r.status.Attempt)
	}
}

func noPatch(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(7)
	head := p.head(8)
	for _, patch := range head.Patches {
		remove(t, p.disk, patch.Object.Path())
	}
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.Bytes[acquire.Patched] != 0 || r.report.Bytes[acquire.Chunked] == 0 || r.status.Attempt != 1 {
		t.Errorf("%v, %d attempts", r, r.status.Attempt)
	}
}

// wholeFiles: a server that knows no ranges is asked for whole objects, and not for all of a pack because of some chunks.
func wholeFiles(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(2)
	c.change = func(o *acquire.Options) { o.Link.Rate = 100e3 }
	mirror.spoil = func(name string, from int64) error {
		if from > 0 {
			return &download.WrongError{Mirror: mirror.name, Name: name, Kind: download.WrongWhole}
		}
		return nil
	}
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	var whole int64
	for _, s := range p.sources(8) {
		whole += s.Whole.Size
	}
	// What it answered to the first requests for chunks comes in vain, and no more.
	if r.report.Bytes[acquire.Entire] == 0 || r.report.Fetched > whole*3/2 || r.status.Attempt != 1 {
		t.Errorf("%v, %d bytes of whole objects, %d attempts", r, whole, r.status.Attempt)
	}
}

func noChunks(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(2)
	for _, s := range p.sources(8) {
		if !s.Index.IsZero() {
			plant(t, p.disk, s.Index.Path(), "nothing of the kind")
		}
	}
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.Bytes[acquire.Chunked] != 0 || r.report.Bytes[acquire.Entire] != 750_000 {
		t.Errorf("%v", r)
	}
}

// noWhole: without whole objects chunks are used, even by an empty install.
func noWhole(t *testing.T, p *publisher) {
	c := newClient(t, p, p.bareMirror())
	p.removeSolid(8)
	for _, s := range p.sources(8) {
		if !s.Index.IsZero() {
			remove(t, p.disk, s.Whole.Path())
		}
	}
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	gone := map[string]bool{}
	for _, s := range p.sources(8) {
		if !s.Index.IsZero() && !gone[s.Index.Path()] {
			gone[s.Index.Path()] = true
			remove(t, p.disk, s.Index.Path())
		}
	}
	c = newClient(t, p, p.bareMirror())
	c.wantOutcome(c.run(), update.Failed, update.ServerFault)
}

// memoryLost: the installed release is identified from the disk, or its files are used all the same.
func memoryLost(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(7)
	for name := range c.disk.Files() {
		if strings.HasPrefix(name, "Cache/release/") && !strings.HasSuffix(name, "/") {
			remove(t, c.disk, name)
		}
	}
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
	if r.report.Fetched > 200_000 {
		t.Errorf("%v", r)
	}
}

// packaged: files that a package laid out are recognised, and what comes is a patch.
func packaged(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror())
	for name, content := range p.sets[7] {
		if !binary(name) {
			name = "Resources/" + name
		}
		must(t, c.disk.Plant(name, content))
	}
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	remove(t, c.disk, "Resources/Small.txt") // release 8 no longer has it, and its owner is unknown
	c.holds(8)
	if r.report.From != 7 || r.report.Bytes[acquire.Patched] == 0 || r.report.Fetched > 20_000 {
		t.Errorf("%v", r)
	}
}

// TestPackagedModule: a package that has the module alone is no earlier release, and no list of one is fetched; unless there are so few
// resources that all may have had other names.
func TestPackagedModule(t *testing.T) {
	t.Parallel()
	for _, count := range []int{100, 10} {
		set := func(version uint64) tree {
			files := tree{"Lathe.so": prose(version, 10_000)}
			for i := range count {
				files[fmt.Sprintf("Text/%05d.txt", i)] = fmt.Sprintf("line %d of version %d\n", i, version)
			}
			return files
		}
		p := newPublisher(t)
		for n := range uint64(3) {
			p.publish(n+1, set(n+1), publish.Request{})
		}
		mirror := p.mirror()
		c := newClient(t, p, mirror)
		must(t, c.disk.Plant("Lathe.so", set(2)["Lathe.so"]))
		c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
		c.holds(3)
		lists := mirror.count(p.head(1).Listing.Object.Path()) + mirror.count(p.head(2).Listing.Object.Path())
		if heads := mirror.count("releases/"); (lists == 0 && heads == 0) != (count == 100) {
			t.Errorf("%d resources: %d lists and %d heads of earlier releases were fetched", count, lists, heads)
		}
	}
}

// failedToStart: while the offered release is blocked, the installed one is repaired, and nothing of the other is fetched.
func failedToStart(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	c.fails = true
	c.run()
	c.fails = false
	c.holds(7)
	mirror.forget()
	c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
	if n := len(mirror.asked); n > 3 || mirror.bytes > 1000 {
		t.Errorf("a start with a release that is blocked: %d requests (%s), %d bytes", n, strings.Join(mirror.asked, ", "), mirror.bytes)
	}
	rot(t, c.disk, "Resources/Core.zip", []byte(strings.Repeat("?", len(c.disk.Files()["Resources/Core.zip"]))))
	remove(t, c.disk, "Lathe.so")
	c.verify = true
	var source *acquire.Source
	c.source = func(s *acquire.Source) { source = s }
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(7)
	if !source.Blocked() {
		t.Error("the source does not say that the release is blocked")
	}
}

func mended(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(8)
	content := c.disk.Files()["Resources/Sounds.zip"]
	plant(t, c.disk, "Resources/Sounds.zip", content[:200_000]+"!"+content[200_001:])
	plant(t, c.disk, "Resources/Maps/Village.zip", "gone")
	r := c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	c.holds(8)
	if r.report.Fetched > 420_000 {
		t.Errorf("%v", r)
	}
}

// attackRollback: the metadata of yesterday, signed and not yet expired.
func attackRollback(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(8)
	c.mirrors = []download.Mirror{p.when(7)}
	c.wantOutcome(c.run(), update.Failed, update.Untrusted)
	c.holds(8)
}

// attackFreeze: the mirrors withhold new releases. The installed release is played, and reported as possibly not current.
func attackFreeze(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(7)
	c.mirrors = []download.Mirror{p.when(7)}
	p.clock = p.clock.Add(40 * 24 * time.Hour)
	r := c.run()
	c.wantOutcome(r, update.ResourcesReady, update.NoCause)
	if r.report.Stale != trust.StaleExpired {
		t.Errorf("%v", r)
	}
	c.holds(7)
}

func wrongClock(t *testing.T, p *publisher) {
	for _, years := range []int{-10, 10} {
		c := newClient(t, p, p.mirror()).at(7)
		clock := p.clock.AddDate(years, 0, 0)
		c.change = func(o *acquire.Options) { o.Now = func() time.Time { return clock } }
		r := c.run()
		c.wantOutcome(r, update.ResourcesReady, update.NoCause)
		if r.report.Stale == trust.NotStale {
			t.Errorf("%d years: %v", years, r)
		}
		c.holds(7)
	}
}

// attackTarget: another release's head under the name of ours.
func attackTarget(t *testing.T, p *publisher) {
	mirror := p.bareMirror()
	other, err := p.head(7).Encode()
	must(t, err)
	c := newClient(t, p, mirror).at(7)
	mirror.bend = func(name string, data []byte) []byte {
		if strings.HasPrefix(name, "releases/") {
			return other[:min(len(other), len(data))]
		}
		return data
	}
	c.wantOutcome(c.run(), update.Failed, update.Untrusted)
	c.holds(7)
}

// oneMirrorLies: what one of two places says is not believed; the other one is asked, and the update goes on.
func oneMirrorLies(t *testing.T, p *publisher) {
	liar, mirror := p.when(6), p.mirror()
	c := newClient(t, p, liar, mirror).at(7)
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
}

func attackKeys(t *testing.T, p *publisher) {
	thief := newPublisher(t)
	thief.publish(9, tree{"Lathe.so": "stolen"}, publish.Request{})
	c := newClient(t, p, thief.mirror())
	c.wantOutcome(c.run(), update.Failed, update.Untrusted)
	if _, there := c.disk.Files()["Lathe.so"]; there {
		t.Error("something was installed")
	}
}

// killed: the one way down.
func killed(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(8)
	p.change(8, func(e *release.Entry) { e.Killed = true })
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(7)
	if r.report.Release.Number != 7 || r.report.From != 8 {
		t.Errorf("%v", r)
	}
}

func held(t *testing.T, p *publisher) {
	has, has7 := newClient(t, p, p.mirror()).at(8), newClient(t, p, p.mirror()).at(7)
	p.change(8, func(e *release.Entry) { e.Hold = true })
	for number, c := range map[uint64]*client{8: has, 7: has7} {
		c.wantOutcome(c.run(), update.ResourcesReady, update.NoCause)
		c.holds(number)
	}
}

// rollout: of many installs about as many as were meant get it, and each keeps what it got. The game is a small one, because
// the share counts only over many installs.
func rollout(t *testing.T, _ *publisher) {
	p := newPublisher(t)
	p.publish(7, tree{"Lathe.so": prose(1, 2_000)}, publish.Request{})
	p.publish(8, tree{"Lathe.so": prose(2, 2_000)}, publish.Request{})
	p.change(8, func(e *release.Entry) { e.Percent = 50 })
	got := 0
	for i := range 24 {
		c := newClient(t, p, p.mirror())
		r := c.run()
		c.wantOutcome(r, update.BinariesStaged, update.NoCause)
		if r.report.Release.Number == 8 {
			got++
		}
		if i%3 > 0 {
			continue
		}
		again := c.run()
		if again.report.Release.Number != r.report.Release.Number {
			t.Errorf("first %v, then %v", r, again)
		}
	}
	if got < 3 || got > 21 {
		t.Errorf("%d of 24 got what half of all get", got)
	}
}

func nothingForUs(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror())
	c.change = func(o *acquire.Options) { o.Channel = "beta" }
	c.wantOutcome(c.run(), update.ServerMissingNativeUpdate, update.NoCause)
	c.change = func(o *acquire.Options) { o.Target = "Windows-win64" }
	r := c.run()
	c.wantOutcome(r, update.ServerMissingNativeUpdate, update.NoCause)
	if r.status.Judgement.Withheld {
		t.Error("a target without a release is said to be withheld")
	}
	p = p.clone(t)
	for _, number := range []uint64{2, 6, 7, 8} {
		p.change(number, func(e *release.Entry) { e.Killed = true })
	}
	c = newClient(t, p, p.mirror())
	r = c.run()
	c.wantOutcome(r, update.ServerMissingNativeUpdate, update.NoCause)
	if !r.status.Judgement.Withheld || !strings.Contains(c.log.String(), "killed, held, or for other players") {
		t.Errorf("all releases were killed: %+v\n%s", r.status.Judgement, c.log.String())
	}
}

func hostTooOld(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(7)
	p.publish(9, game(8).with(tree{"New.txt": "new"}), publish.Request{Patches: new(int), Head: func(h *release.Head) { h.HostABI = 2 }})
	c.wantOutcome(c.run(), update.UpdaterOutdated, update.NoCause)
	c.holds(7)
	c.change = func(o *acquire.Options) { o.HostABI = 2 }
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(9)
}

func unreachable(t *testing.T, p *publisher) {
	testlevel.Slow(t)
	mirror := p.bareMirror()
	c := newClient(t, p, mirror).at(7)
	mirror.spoil = func(name string, _ int64) error {
		return &download.NetError{Mirror: mirror.name, Name: name, Kind: download.NetUnreachable, Err: errors.New("no route")}
	}
	c.wantOutcome(c.run(), update.Failed, update.Unreachable)
	mirror.spoil = func(name string, _ int64) error {
		if !strings.HasPrefix(name, "objects/") {
			return nil
		}
		return &download.NetError{Mirror: mirror.name, Name: name, Kind: download.NetReset, Err: errors.New("cut")}
	}
	c.wantOutcome(c.run(), update.Failed, update.Interrupted)
	c.holds(7)
	mirror.spoil = nil
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(8)
}

// headMirrors: the configured mirror has only the lists; the head names another mirror.
func headMirrors(t *testing.T, p *publisher) {
	testlevel.Slow(t)
	p.publish(9, game(8).with(tree{"New.txt": prose(9, 90_000)}), publish.Request{Patches: new(int), Head: func(h *release.Head) { h.Mirrors = []string{"https://mirror.example/game"} }})
	named, mirror := p.mirror(), p.mirror()
	mirror.name = "https://mirror.example/game/"
	contents := p.solidParts(9)
	for _, s := range p.sources(9) {
		contents = append(contents, s.Whole)
	}
	named.spoil = func(name string, _ int64) error {
		for _, o := range contents {
			if name == o.Path() {
				return &download.MissingError{Mirror: named.name, Name: name}
			}
		}
		return nil
	}
	c := newClient(t, p, named)
	opened := 0
	c.change = func(o *acquire.Options) {
		o.OpenMirror = func(address string) (download.Mirror, error) {
			opened++
			return mirror, nil
		}
	}
	c.wantOutcome(c.run(), update.BinariesStaged, update.NoCause)
	c.holds(9)
	if opened != 1 || mirror.count("objects/") == 0 {
		t.Errorf("%d mirrors opened, %d objects asked of it", opened, mirror.count("objects/"))
	}
}

func moduleGone(t *testing.T, p *publisher) {
	c := newClient(t, p, p.mirror()).at(8)
	plant(t, c.disk, "Lathe.so", "garbage")
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	c.holds(8)
}

// stoppedAnywhere ends the process before and inside of operations of the whole way from 7 to 8, and goes on.
func stoppedAnywhere(t *testing.T, p *publisher) {
	template := newClient(t, p, p.mirror()).at(7)
	whole := template.disk.Clone().Open(faultfs.Options{})
	count := newClient(t, p, p.mirror())
	count.disk = whole.Disk()
	if _, err := count.try(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	stops := 0
	step := 33
	if testlevel.Full() {
		step = 11
	}
	for k := 1; k < whole.Count(); k += step {
		c := newClient(t, p, p.mirror())
		c.disk = template.disk.Clone()
		fsys := c.disk.Open(faultfs.Options{})
		if k%2 == 0 {
			fsys.StopInside(k)
		} else {
			fsys.StopBefore(k)
		}
		if _, err := c.try(t.Context(), fsys); err == nil && c.differs(8) != nil {
			t.Fatalf("stopped at %d: no error, and not release 8", k)
		}
		fsys.Kill()
		c.disk = c.disk.Crash(faultfs.Keep(50, uint64(k)))
		c.log.Reset()
		r := c.run()
		if err := c.differs(8); err != nil {
			t.Fatalf("stopped at %d of %d: %v; %v\n%s", k, whole.Count(), r, err, c.log.String())
		}
		stops++
	}
	t.Logf("%d stops of %d operations", stops, whole.Count())
}

func pauseAndCap(t *testing.T, p *publisher) {
	mirror := p.mirror()
	c := newClient(t, p, mirror).at(7)
	var source *acquire.Source
	c.source = func(s *acquire.Source) { source = s; s.SetCap(1 << 30) }
	paused := make(chan update.Traffic, 1)
	mirror.hurry = func(_ context.Context, name string) error {
		if strings.HasPrefix(name, "releases/") {
			source.Pause()
			select {
			case paused <- source.Traffic():
			default:
			}
			time.AfterFunc(10*time.Millisecond, source.Resume)
		}
		return nil
	}
	r := c.run()
	c.wantOutcome(r, update.BinariesStaged, update.NoCause)
	select {
	case paused <- update.Traffic{}:
		t.Fatal("nothing was asked for")
	default:
	}
	if during := <-paused; !during.Paused || during.Cap != 1<<30 || source.Traffic().Paused {
		t.Errorf("during %+v, after %+v", during, source.Traffic())
	}
}
