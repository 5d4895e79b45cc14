package release_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata/config"
	"github.com/theupdateframework/go-tuf/v2/metadata/updater"

	"collet/netproto/release"
	"collet/platform/testlevel"
)

func TestReleaseFolder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.publish(8)
	var names []string
	for _, name := range s.folder.Names() {
		if strings.HasPrefix(name, "metadata/") {
			names = append(names, strings.TrimPrefix(name, "metadata/"))
		}
	}
	want := []string{"1.root.json", "1.snapshot.json", "1.targets.json", "2.snapshot.json", "2.targets.json", "3.snapshot.json", "3.targets.json", "timestamp.json"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	repo, err := release.OpenRepo(s.folder, s.options())
	if err != nil || repo.Unfinished() || !bytes.Equal(repo.Root(), s.root) || len(repo.Entries()) != 2 {
		t.Fatalf("%+v, %v", repo, err)
	}
	for i, e := range repo.Entries() {
		if e != s.entry(uint64(7+i)) {
			t.Errorf("%+v", e)
		}
	}
	for role, d := range map[release.KeyRole]time.Duration{
		release.RoleRoot: 365 * day, release.RoleTargets: 365 * day, release.RoleSnapshot: 90 * day, release.RoleTimestamp: 14 * day,
	} {
		if got := repo.Expiries()[role]; !got.Equal(epoch.Add(d)) {
			t.Errorf("%s ends %v", role, got)
		}
	}
}

// TestAnotherClientAgrees: the whole client of TUF's library reads the folder, so it is a TUF repository and no dialect.
func TestAnotherClientAgrees(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.clock = time.Now().UTC() // that client has its own clock
	s.must(s.repo.Refresh(s.keys.online()))
	s.publish(7, 8)
	s.rotate(s.keys[release.RoleRoot], s.keys.with(t, release.RoleTargets, release.RoleTimestamp), release.RoleTargets, release.RoleTimestamp)
	cfg, err := config.New("http://folder.invalid/metadata", s.root)
	s.must(err)
	cfg.LocalMetadataDir, cfg.LocalTargetsDir, cfg.RemoteTargetsURL = t.TempDir(), t.TempDir(), "http://folder.invalid/targets"
	cfg.Fetcher = theirs{s.folder}
	up, err := updater.New(cfg)
	s.must(err)
	s.must(up.Refresh())
	info, err := up.GetTargetInfo("lathe/stable/Linux-x64/8")
	if err != nil || info.Length != s.repo.Entries()[1].Head.Size {
		t.Errorf("%+v, %v", info, err)
	}
}

// theirs is the folder as the fetcher of TUF's library.
type theirs struct{ folder *release.MemoryStore }

func (f theirs) DownloadFile(url string, limit int64, _ time.Duration) ([]byte, error) {
	data, err := f.folder.Load(strings.TrimPrefix(url, "http://folder.invalid/"), limit)
	if err != nil {
		return nil, notFound()
	}
	return data, nil
}

func TestCreateRepoRefuses(t *testing.T) {
	t.Parallel()
	keys := newKeyring(t)
	dev, err := release.GenerateKey(true)
	if err != nil {
		t.Fatal(err)
	}
	single, shared, developed := keys.with(t), keys.with(t), keys.with(t)
	single[release.RoleRoot] = keys[release.RoleRoot][:1]
	shared[release.RoleTimestamp] = keys[release.RoleRoot][:1]
	developed[release.RoleTimestamp] = []*release.PrivateKey{dev}
	twoOfTwo := keys.with(t)
	twoOfTwo[release.RoleRoot] = keys[release.RoleRoot][:2]
	noTargets := keys.plan(release.KeyRoles()...)
	delete(noTargets, release.RoleTargets)
	tooHigh := keys.plan(release.KeyRoles()...)
	tooHigh[release.RoleTargets] = release.RolePlan{Keys: tooHigh[release.RoleTargets].Keys, Threshold: 2}
	for name, test := range map[string]struct {
		plan  release.RootPlan
		keys  keyring
		allow release.Allow
		fault string // "" if it is allowed
	}{
		"good":                        {keys.plan(release.KeyRoles()...), keys, release.Allow{}, ""},
		"one root key":                {single.plan(release.KeyRoles()...), single, release.Allow{}, "1 of 1 root keys"},
		"one root key, asked for":     {single.plan(release.KeyRoles()...), single, release.Allow{SingleRoot: true}, ""},
		"one root key, wrong wish":    {single.plan(release.KeyRoles()...), single, release.Allow{Development: true}, "1 of 1 root keys"},
		"no key to lose":              {twoOfTwo.plan(release.KeyRoles()...), twoOfTwo, release.Allow{}, "2 of 2 root keys"},
		"a root key online":           {shared.plan(release.KeyRoles()...), shared, release.Allow{}, "also signs as timestamp"},
		"development key":             {developed.plan(release.KeyRoles()...), developed, release.Allow{}, "development keys"},
		"development key, asked for":  {developed.plan(release.KeyRoles()...), developed, release.Allow{Development: true}, ""},
		"a role without keys":         {noTargets, keys, release.Allow{}, "no keys for targets"},
		"a threshold out of reach":    {tooHigh, keys, release.Allow{}, "threshold of targets is 2 of 1"},
		"keys that are not there":     {keys.plan(release.KeyRoles()...), keyring{}, release.Allow{}, "0 of the keys at hand may sign as root"},
		"root keys that are missing":  {keys.plan(release.KeyRoles()...), keyring{release.RoleRoot: keys[release.RoleRoot][:1]}, release.Allow{}, "1 of the keys"},
		"online keys that are absent": {keys.plan(release.KeyRoles()...), keyring{release.RoleRoot: keys[release.RoleRoot]}, release.Allow{}, "may sign as targets"},
	} {
		folder := &release.MemoryStore{}
		_, err := release.CreateRepo(folder, test.plan, test.keys.all(), release.RepoOptions{Allow: test.allow})
		if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %v, want %q", name, err, test.fault)
		}
		if err != nil && len(folder.Names()) > 0 {
			t.Errorf("%s: refused, and still %q was written", name, folder.Names())
		}
		if err == nil {
			if _, err := release.CreateRepo(folder, test.plan, test.keys.all(), release.RepoOptions{Allow: test.allow}); err == nil || !strings.Contains(err.Error(), "set up already") {
				t.Errorf("%s: set up twice: %v", name, err)
			}
		}
	}
}

func TestWeakRootsAreNamed(t *testing.T) {
	t.Parallel()
	dev, err := release.GenerateKey(true)
	if err != nil {
		t.Fatal(err)
	}
	ring := keyring{}
	for _, role := range release.KeyRoles() {
		ring[role] = []*release.PrivateKey{dev}
	}
	repo, err := release.CreateRepo(&release.MemoryStore{}, ring.plan(release.KeyRoles()...), ring.all(), release.RepoOptions{Allow: release.Allow{Development: true, SingleRoot: true}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := release.InspectRoot(repo.Root()) // what a packager reads
	if err != nil || !slices.Equal(info.Development, []string{dev.Public().ID()}) || info.Version != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
	var weak *release.WeakRootError
	if err := info.Check(release.Allow{}); !errors.As(err, &weak) || len(weak.Reasons) != 5 {
		t.Errorf("%v", err)
	}
	if err := info.Check(release.Allow{Development: true, SingleRoot: true}); err != nil {
		t.Error(err)
	}
}

func TestValidityIsBounded(t *testing.T) {
	t.Parallel()
	keys := newKeyring(t)
	for _, v := range []release.Validity{{Timestamp: 31 * day}, {Timestamp: time.Minute}, {Root: 11 * year}, {Snapshot: 400 * day}, {Targets: -time.Hour}} {
		if _, err := release.CreateRepo(&release.MemoryStore{}, keys.plan(release.KeyRoles()...), keys.all(), release.RepoOptions{Validity: v}); err == nil {
			t.Errorf("%+v was taken", v)
		}
	}
}

func TestSetEntriesRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7, 8)
	s.edit(7, func(e *release.Entry) { e.Killed = true })
	before := s.saved()
	seven, eight := s.repo.Entries()[0], s.repo.Entries()[1]
	alive, other := seven, eight
	alive.Killed, other.Head = false, seven.Head
	for reason, entries := range map[string][]release.Entry{
		"lathe/stable/Linux-x64/8 can't go": {seven},
		"can't go":                          {},
		"killed and stays so":               {alive, eight},
		"is another one already":            {seven, other},
		"listed twice":                      {seven, eight, eight},
		"goes to more than 100 percent":     {seven, eight, at(9, 101, "")},
		"no number":                         {seven, eight, at(0, 100, "")},
		"has no head":                       {seven, eight, {Product: "p", Channel: "c", Target: "t", Number: 1}},
		"contains '/'":                      {seven, eight, {Product: "p/q", Channel: "c", Target: "t", Number: 1, Head: seven.Head}},
		"is empty":                          {seven, eight, {Product: "p", Channel: "", Target: "t", Number: 1, Head: seven.Head}},
		"release p/c/" + strings.Repeat("t", 65) + "/1": {seven, eight, {Product: "p", Channel: "c", Target: strings.Repeat("t", 65), Number: 1, Head: seven.Head}},
	} {
		if err := s.repo.SetEntries(entries, s.keys.online()); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", reason, err)
		}
	}
	if err := s.repo.SetEntries(make([]release.Entry, release.MaxEntries+1), s.keys.online()); err == nil {
		t.Error("too many were taken")
	}
	var missing *release.KeysError
	if err := s.repo.SetEntries(s.repo.Entries(), s.keys[release.RoleTimestamp]); !errors.As(err, &missing) || missing.Role != release.RoleTargets || missing.Need != 1 {
		t.Errorf("%v", err)
	}
	if !slices.Equal(before.Names(), s.folder.Names()) || len(s.repo.Entries()) != 2 {
		t.Error("what was refused left traces")
	}
	s.must(s.repo.SetEntries([]release.Entry{eight}, s.keys.online())) // an old one may go
	s.publish(9)
	s.wants(9)
}

// TestSeveralReleaseKeys: two of three release keys are needed, and none of them may sign twice.
func TestSeveralReleaseKeys(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	three := s.keys.with(t)
	three[release.RoleTargets] = []*release.PrivateKey{newKey(t), newKey(t), newKey(t)}
	plan := three.plan(release.RoleTargets)
	plan[release.RoleTargets] = release.RolePlan{Keys: plan[release.RoleTargets].Keys, Threshold: 2}
	draft, err := s.repo.DraftRoot(plan)
	s.must(err)
	for _, k := range s.keys[release.RoleRoot][1:] {
		draft, err = release.SignRoot(draft, k)
		s.must(err)
	}
	s.must(s.repo.InstallRoot(draft, three.online()))
	s.keys = three
	s.publish(7)
	s.wants(7)
	one := append(slices.Clone(three.online()[1:]), three[release.RoleTargets][0]) // the first is the first release key
	one = slices.DeleteFunc(one, func(k *release.PrivateKey) bool { return slices.Contains(three[release.RoleTargets][1:], k) })
	one = append(one, three[release.RoleTargets][0])
	var missing *release.KeysError
	if err := s.repo.SetEntries(append(s.repo.Entries(), s.entry(8)), one); !errors.As(err, &missing) || missing.Have != 1 || missing.Need != 2 {
		t.Errorf("%v", err)
	}
}

// TestRefreshKeepsAlive: a cron job with the online keys alone keeps clients fresh for as long as the release key's
// signature lasts.
func TestRefreshKeepsAlive(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	online := append(slices.Clone(s.keys[release.RoleSnapshot]), s.keys[release.RoleTimestamp]...)
	for s.clock.Before(epoch.Add(364 * day)) {
		s.clock = s.clock.Add(7 * day)
		s.must(s.repo.Refresh(online))
		if s.clock.Before(epoch.Add(365 * day)) {
			s.wants(7)
		}
	}
	s.clock = epoch.Add(365*day + time.Second)
	s.must(s.repo.Refresh(online))
	if c, err := s.trust().Refresh(context.Background(), s.net, query(7)); err != nil || c.Fresh {
		t.Errorf("the release key's signature has ended: %+v, %v", c, err)
	}
	var missing *release.KeysError
	if err := s.repo.Refresh(s.keys[release.RoleSnapshot]); !errors.As(err, &missing) || missing.Role != release.RoleTimestamp {
		t.Errorf("%v", err)
	}
	s.must(s.repo.Refresh(s.keys.online())) // the release key signs again; the root's time is over, too
	s.renewRoot()
	s.wants(7)
}

func (s *stage) renewRoot() {
	s.t.Helper()
	s.rotate(s.keys[release.RoleRoot][:2], s.keys)
}

// TestRefreshSignsWhatItCan: what has lived half of its time is signed anew if the keys for it are at hand.
func TestRefreshSignsWhatItCan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	online := append(slices.Clone(s.keys[release.RoleSnapshot]), s.keys[release.RoleTimestamp]...)
	for _, step := range []struct {
		after             time.Duration
		keys              []*release.PrivateKey
		targets, snapshot time.Duration // when they end afterwards
	}{
		{44 * day, s.keys.online(), 365 * day, 90 * day}, {46 * day, s.keys[release.RoleTimestamp], 365 * day, 90 * day},
		{46 * day, online, 365 * day, 136 * day}, {180 * day, online, 365 * day, 270 * day}, {183 * day, online, 365 * day, 270 * day},
		{183 * day, s.keys.online(), 548 * day, 273 * day},
	} {
		s.clock = epoch.Add(step.after)
		s.must(s.repo.Refresh(step.keys))
		e := s.repo.Expiries()
		if !e[release.RoleTargets].Equal(epoch.Add(step.targets)) || !e[release.RoleSnapshot].Equal(epoch.Add(step.snapshot)) || !e[release.RoleTimestamp].Equal(s.clock.Add(14*day)) {
			t.Errorf("after %v: %v", step.after, e)
		}
	}
}

// TestStoppedPublisher: wherever a publisher is stopped, readers have the old state or the new one, and the next try works.
func TestStoppedPublisher(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	for left := 0; left <= 3; left++ {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		repo, err := release.OpenRepo(&faulty{s.folder, left, full}, s.options())
		s.must(err)
		eight := append(repo.Entries(), s.entry(8))
		err = repo.SetEntries(eight, s.keys.online())
		if left == 3 {
			s.must(err)
			s.wants(8)
			return
		}
		if !errors.Is(err, full) || len(repo.Entries()) != 1 {
			t.Fatalf("after %d: %v", left, err)
		}
		s.wants(7)
		s.repo, err = release.OpenRepo(s.folder, s.options())
		s.must(err)
		s.publish(8)
		s.wants(8)
	}
}

// TestStoppedRotation: the same for a new root. Until it is finished nothing else can be published.
func TestStoppedRotation(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	for left := 0; ; left++ {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		fresh := s.keys.with(t, release.RoleTargets, release.RoleTimestamp)
		draft, err := s.repo.DraftRoot(fresh.plan(release.RoleTargets, release.RoleTimestamp))
		s.must(err)
		for _, k := range s.keys[release.RoleRoot][:2] {
			draft, err = release.SignRoot(draft, k)
			s.must(err)
		}
		repo, err := release.OpenRepo(&faulty{s.folder, left, full}, s.options())
		s.must(err)
		err = repo.InstallRoot(draft, fresh.online())
		if err == nil {
			s.wants(7)
			if left != 4 {
				t.Errorf("%d files were written", left)
			}
			return
		}
		if !errors.Is(err, full) {
			t.Fatalf("after %d: %v", left, err)
		}
		_, rooted := s.folder.Load("metadata/2.root.json", 1<<20)
		reopened, err := release.OpenRepo(s.folder, s.options())
		s.must(err)
		for _, repo := range []*release.Repo{repo, reopened} {
			if repo.Unfinished() != (rooted == nil) {
				t.Fatalf("after %d: unfinished %v", left, repo.Unfinished())
			}
			if repo.Unfinished() && !(errors.Is(repo.Refresh(fresh.all()), release.ErrUnfinished) && errors.Is(repo.SetEntries(nil, fresh.all()), release.ErrUnfinished)) {
				t.Fatalf("after %d: an unfinished rotation lets others by", left)
			}
		}
		if c, err := s.trust().Known(query(7)); err != nil || c.Number != 7 {
			t.Fatalf("after %d: %+v, %v", left, c, err)
		}
		s.must(reopened.InstallRoot(draft, fresh.online()))
		s.repo, s.keys = reopened, fresh
		s.publish(8)
		s.wants(8)
	}
}

func TestInstallRootRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	root := s.keys[release.RoleRoot]
	draft, err := s.repo.DraftRoot(s.keys.with(t, release.RoleTimestamp).plan(release.RoleTimestamp))
	s.must(err)
	one, err := release.SignRoot(draft, root[0])
	s.must(err)
	again, err := release.SignRoot(one, root[0]) // the same person twice
	s.must(err)
	var fault *release.TrustError
	for _, data := range [][]byte{draft, one, again, s.root, nil, []byte("x"), make([]byte, release.MaxRoot+1)} {
		if err := s.repo.InstallRoot(data, s.keys.online()); !errors.As(err, &fault) {
			t.Errorf("%.50q: %v", data, err)
		}
	}
	two, err := release.SignRoot(one, root[2])
	s.must(err)
	var missing *release.KeysError
	if err := s.repo.InstallRoot(two, s.keys.online()); !errors.As(err, &missing) || missing.Role != release.RoleTimestamp {
		t.Errorf("without the new key: %v", err)
	}
	s.wants(7)
	for _, bad := range [][]byte{nil, []byte("{}"), s.read("metadata/timestamp.json"), make([]byte, release.MaxRoot+1)} {
		if _, err := release.SignRoot(bad, root[0]); !errors.As(err, &fault) {
			t.Errorf("%.50q was signed: %v", bad, err)
		}
		if _, err := release.DescribeRoot(bad); !errors.As(err, &fault) {
			t.Errorf("%.50q was described: %v", bad, err)
		}
	}
	var weak *release.WeakRootError
	if _, err := s.repo.DraftRoot(release.RootPlan{release.RoleRoot: {Keys: []release.PublicKey{root[0].Public()}}}); !errors.As(err, &weak) {
		t.Errorf("down to one root key: %v", err)
	}
	info, err := release.DescribeRoot(draft)
	if err != nil || info.Version != 2 || info.Roles[release.RoleRoot].Threshold != 2 || len(info.Roles[release.RoleRoot].Keys) != 3 || !info.Expires.Equal(epoch.Add(year)) {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestKeyRotation: every role in turn, all at once, and a client that slept through all of it.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	sleeper := copied(t, s.client)
	s.wants(7)
	early := copied(t, s.client)
	for i, roles := range [][]release.KeyRole{{release.RoleTimestamp}, {release.RoleSnapshot}, {release.RoleTargets}, {release.RoleRoot}, release.KeyRoles()} {
		fresh := s.keys.with(t, roles...)
		s.rotate(append(slices.Clone(s.keys[release.RoleRoot][:2]), fresh[release.RoleRoot][:2]...), fresh, roles...)
		s.wants(uint64(7 + i))
		s.publish(uint64(8 + i))
		s.wants(uint64(8 + i))
	}
	repo, err := release.OpenRepo(s.folder, s.options())
	s.must(err)
	if got := repo.RootInfo(); got.Version != 6 || len(repo.PublicKeys(release.RoleRoot)) != 3 || repo.PublicKeys(release.RoleTargets)[0] != s.keys[release.RoleTargets][0].Public() {
		t.Errorf("%+v", got)
	}
	for _, client := range []*release.MemoryStore{sleeper, early} {
		s.client = client
		s.wants(12)
	}
	s.root = repo.Root() // a new package of the game, over an old store
	s.client = early
	s.wants(12)
	s.client = &release.MemoryStore{}
	s.wants(12)
}

// TestOldKeysAreForgotten: keys that a rotation took away sign nothing any more, for a client that knows the new root.
func TestOldKeysAreForgotten(t *testing.T) {
	t.Parallel()
	for _, role := range release.KeyRoles()[1:] {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		old, before := s.keys, s.saved()
		s.rotate(s.keys[release.RoleRoot], s.keys.with(t, role), role)
		s.publish(8)
		s.wants(8)
		s.folder, s.net.folder, s.keys = before, before, old // the thief goes on from where he was
		repo, err := release.OpenRepo(s.folder, s.options())
		s.must(err)
		s.repo = repo
		for n := uint64(9); n < 15; n++ {
			s.publish(n)
		}
		var fault *release.TrustError
		if c, err := s.trust().Refresh(context.Background(), s.net, query(8)); !errors.As(err, &fault) || fault.Fault != release.FaultUnsigned {
			t.Errorf("%s: %+v, %v", role, c, err)
		}
		if c, err := s.trust().Known(query(8)); err != nil || c.Number != 8 {
			t.Errorf("%s: knows %+v, %v", role, c, err)
		}
	}
}

// TestLostRootKey is the drill: one of three root keys is gone, the other two replace it.
func TestLostRootKey(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	left, lost := s.keys[release.RoleRoot][:2], s.keys[release.RoleRoot][2]
	fresh := s.keys.with(t)
	fresh[release.RoleRoot] = []*release.PrivateKey{left[0], left[1], newKey(t)}
	s.rotate(left, fresh, release.RoleRoot)
	s.publish(8)
	s.wants(8)
	draft, err := s.repo.DraftRoot(release.RootPlan{})
	s.must(err)
	for _, k := range []*release.PrivateKey{left[0], lost} { // whoever finds it can do nothing with it
		draft, err = release.SignRoot(draft, k)
		s.must(err)
	}
	var fault *release.TrustError
	if err := s.repo.InstallRoot(draft, s.keys.online()); !errors.As(err, &fault) || fault.Fault != release.FaultUnsigned {
		t.Errorf("%v", err)
	}
	s.rotate(fresh[release.RoleRoot][1:], fresh) // the new key counts
	s.wants(8)
}

// TestLostReleaseKey is the drill: the release key is gone, the root names another.
func TestLostReleaseKey(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.rotate(s.keys[release.RoleRoot][1:], s.keys.with(t, release.RoleTargets), release.RoleTargets)
	s.wants(7)
	s.publish(8)
	s.wants(8)
}

// TestStolenTimestampKey is the drill: until the root names another key a thief can keep clients where they are, and no more.
func TestStolenTimestampKey(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	stolen := s.keys[release.RoleTimestamp]
	s.rotate(s.keys[release.RoleRoot][:2], s.keys.with(t, release.RoleTimestamp), release.RoleTimestamp)
	s.publish(8)
	s.wants(8)
	good := s.read("metadata/timestamp.json")
	forgeTimestamp(s, stolen)
	s.refuses(release.FaultUnsigned, 8)
	s.must(s.folder.Save("metadata/timestamp.json", good))
	s.wants(8)
}

// TestRestoredBackup is the drill: the release folder was lost and an old copy came back. New online keys make players forget
// what they saw; what they have installed stays until there is something higher.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	backup := s.saved()
	s.publish(8)
	s.publish(9)
	s.wants(9)
	s.folder, s.net.folder = backup, backup
	repo, err := release.OpenRepo(s.folder, s.options())
	s.must(err)
	s.repo = repo
	s.refuses(release.FaultRolledBack, 9)
	online := release.KeyRoles()[1:]
	s.rotate(s.keys[release.RoleRoot][:2], s.keys.with(t, online...), online...)
	s.wants(7)
	if c, err := s.trust().Refresh(context.Background(), s.net, query(9)); err != nil || c.Number != 9 || c.Listed || c.Down {
		t.Errorf("who has release 9: %+v, %v", c, err)
	}
	s.publish(10)
	s.wants(10)
}

// TestManyRoots: a client that slept for very long takes a part of the roots, says so, and comes through at the next try.
func TestManyRoots(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	for range 35 {
		s.renewRoot()
	}
	if c, err := s.trust().Refresh(context.Background(), s.net, query(7)); err == nil || !strings.Contains(err.Error(), "next try") {
		t.Errorf("%+v, %v", c, err)
	}
	s.wants(7)
}

// TestSlowRetirement: a client meets the new root before the folder is signed by it. It says so, and plays.
func TestSlowRetirement(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	old := s.read("metadata/timestamp.json")
	s.rotate(s.keys[release.RoleRoot], s.keys.with(t, release.RoleTimestamp), release.RoleTimestamp)
	good := s.read("metadata/timestamp.json")
	s.must(s.folder.Save("metadata/timestamp.json", old))
	s.refuses(release.FaultUnsigned, 7)
	s.must(s.folder.Save("metadata/timestamp.json", good))
	s.wants(7)
}

func TestOpenRepoRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	for _, name := range []string{"metadata/1.root.json", "metadata/timestamp.json", s.latest("snapshot"), s.latest("targets")} {
		good := s.read(name)
		for what, bad := range map[string][]byte{"half": good[:len(good)/2], "changed": bytes.Replace(good, []byte(`"version":`), []byte(`"version":1`), 1), "empty": {}} {
			s.must(s.folder.Save(name, bad))
			if _, err := release.OpenRepo(s.folder, s.options()); err == nil {
				t.Errorf("%s %s was opened", name, what)
			}
		}
		s.folder.Remove(name)
		if _, err := release.OpenRepo(s.folder, s.options()); err == nil {
			t.Errorf("without %s it was opened", name)
		}
		s.must(s.folder.Save(name, good))
	}
	if _, err := release.OpenRepo(s.folder, s.options()); err != nil {
		t.Error(err)
	}
}

func TestStores(t *testing.T) {
	t.Parallel()
	m := &release.MemoryStore{}
	if err := m.Save("a", []byte("abc")); err != nil {
		t.Fatal(err)
	}
	data, err := m.Load("a", 3)
	if err != nil || string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
	data[0] = 'x'
	if again, err := m.Load("a", 3); err != nil || string(again) != "abc" {
		t.Errorf("a reader changed it to %q, %v", again, err)
	}
	f := release.StoreFetcher{Store: m}
	if u, err := f.Fetch(context.Background(), "a", 3); err != nil || u.Len() != 3 {
		t.Errorf("%v", err)
	}
	if _, err := f.Fetch(context.Background(), "a", 2); !errors.Is(err, release.ErrTooLong) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Fetch(ctx, "a", 3); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	m.Remove("a")
	if _, err := m.Load("a", 3); err == nil || len(m.Names()) != 0 {
		t.Errorf("%q, %v", m.Names(), err)
	}
}
