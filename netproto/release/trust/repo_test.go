package trust_test

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
	"collet/netproto/release/trust"
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
	repo, err := trust.OpenRepo(s.folder, s.options())
	if err != nil || repo.Unfinished() || !bytes.Equal(repo.Root(), s.root) || len(repo.Entries()) != 2 {
		t.Fatalf("%+v, %v", repo, err)
	}
	for i, e := range repo.Entries() {
		if e != s.entry(uint64(7+i)) {
			t.Errorf("%+v", e)
		}
	}
	for role, d := range map[trust.KeyRole]time.Duration{
		trust.RoleRoot: 365 * day, trust.RoleTargets: 365 * day, trust.RoleSnapshot: 90 * day, trust.RoleTimestamp: 14 * day,
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
	s.rotate(s.keys[trust.RoleRoot], s.keys.with(t, trust.RoleTargets, trust.RoleTimestamp), trust.RoleTargets, trust.RoleTimestamp)
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
type theirs struct{ folder *trust.MemoryStore }

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
	dev, err := trust.GenerateKey(true)
	if err != nil {
		t.Fatal(err)
	}
	single, shared, developed := keys.with(t), keys.with(t), keys.with(t)
	single[trust.RoleRoot] = keys[trust.RoleRoot][:1]
	shared[trust.RoleTimestamp] = keys[trust.RoleRoot][:1]
	developed[trust.RoleTimestamp] = []*trust.PrivateKey{dev}
	twoOfTwo := keys.with(t)
	twoOfTwo[trust.RoleRoot] = keys[trust.RoleRoot][:2]
	noTargets := keys.plan(trust.KeyRoles()...)
	delete(noTargets, trust.RoleTargets)
	tooHigh := keys.plan(trust.KeyRoles()...)
	tooHigh[trust.RoleTargets] = trust.RolePlan{Keys: tooHigh[trust.RoleTargets].Keys, Threshold: 2}
	for name, test := range map[string]struct {
		plan  trust.RootPlan
		keys  keyring
		allow trust.Allow
		fault string // "" if it is allowed
	}{
		"good":                        {keys.plan(trust.KeyRoles()...), keys, trust.Allow{}, ""},
		"one root key":                {single.plan(trust.KeyRoles()...), single, trust.Allow{}, "1 of 1 root keys"},
		"one root key, asked for":     {single.plan(trust.KeyRoles()...), single, trust.Allow{SingleRoot: true}, ""},
		"one root key, wrong wish":    {single.plan(trust.KeyRoles()...), single, trust.Allow{Development: true}, "1 of 1 root keys"},
		"no key to lose":              {twoOfTwo.plan(trust.KeyRoles()...), twoOfTwo, trust.Allow{}, "2 of 2 root keys"},
		"a root key online":           {shared.plan(trust.KeyRoles()...), shared, trust.Allow{}, "also signs as timestamp"},
		"development key":             {developed.plan(trust.KeyRoles()...), developed, trust.Allow{}, "development keys"},
		"development key, asked for":  {developed.plan(trust.KeyRoles()...), developed, trust.Allow{Development: true}, ""},
		"a role without keys":         {noTargets, keys, trust.Allow{}, "no keys for targets"},
		"a threshold out of reach":    {tooHigh, keys, trust.Allow{}, "threshold of targets is 2 of 1"},
		"keys that are not there":     {keys.plan(trust.KeyRoles()...), keyring{}, trust.Allow{}, "0 of the keys at hand may sign as root"},
		"root keys that are missing":  {keys.plan(trust.KeyRoles()...), keyring{trust.RoleRoot: keys[trust.RoleRoot][:1]}, trust.Allow{}, "1 of the keys"},
		"online keys that are absent": {keys.plan(trust.KeyRoles()...), keyring{trust.RoleRoot: keys[trust.RoleRoot]}, trust.Allow{}, "may sign as targets"},
	} {
		folder := &trust.MemoryStore{}
		_, err := trust.CreateRepo(folder, test.plan, test.keys.all(), trust.RepoOptions{Allow: test.allow})
		if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %v, want %q", name, err, test.fault)
		}
		if err != nil && len(folder.Names()) > 0 {
			t.Errorf("%s: refused, and still %q was written", name, folder.Names())
		}
		if err == nil {
			if _, err := trust.CreateRepo(folder, test.plan, test.keys.all(), trust.RepoOptions{Allow: test.allow}); err == nil || !strings.Contains(err.Error(), "set up already") {
				t.Errorf("%s: set up twice: %v", name, err)
			}
		}
	}
}

func TestWeakRootsAreNamed(t *testing.T) {
	t.Parallel()
	dev, err := trust.GenerateKey(true)
	if err != nil {
		t.Fatal(err)
	}
	ring := keyring{}
	for _, role := range trust.KeyRoles() {
		ring[role] = []*trust.PrivateKey{dev}
	}
	repo, err := trust.CreateRepo(&trust.MemoryStore{}, ring.plan(trust.KeyRoles()...), ring.all(), trust.RepoOptions{Allow: trust.Allow{Development: true, SingleRoot: true}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := trust.InspectRoot(repo.Root()) // what a packager reads
	if err != nil || !slices.Equal(info.Development, []string{dev.Public().ID()}) || info.Version != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
	var weak *trust.WeakRootError
	if err := info.Check(trust.Allow{}); !errors.As(err, &weak) || len(weak.Reasons) != 5 {
		t.Errorf("%v", err)
	}
	if err := info.Check(trust.Allow{Development: true, SingleRoot: true}); err != nil {
		t.Error(err)
	}
}

func TestValidityIsBounded(t *testing.T) {
	t.Parallel()
	keys := newKeyring(t)
	for _, v := range []trust.Validity{{Timestamp: 31 * day}, {Timestamp: time.Minute}, {Root: 11 * year}, {Snapshot: 400 * day}, {Targets: -time.Hour}} {
		if _, err := trust.CreateRepo(&trust.MemoryStore{}, keys.plan(trust.KeyRoles()...), keys.all(), trust.RepoOptions{Validity: v}); err == nil {
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
	alive, other, tooMany, unnumbered := seven, eight, eight, eight
	alive.Killed, other.Head = false, seven.Head
	tooMany.Number, tooMany.Percent, unnumbered.Number = 9, 101, 0
	for reason, entries := range map[string][]release.Entry{
		"lathe/stable/Linux-x64/8 can't go": {seven},
		"can't go":                          {},
		"killed and stays so":               {alive, eight},
		"is another one already":            {seven, other},
		"listed twice":                      {seven, eight, eight},
		"goes to more than 100 percent":     {seven, eight, tooMany},
		"no number":                         {seven, eight, unnumbered},
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
	var missing *trust.KeysError
	if err := s.repo.SetEntries(s.repo.Entries(), s.keys[trust.RoleTimestamp]); !errors.As(err, &missing) || missing.Role != trust.RoleTargets || missing.Need != 1 {
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
	three[trust.RoleTargets] = []*trust.PrivateKey{newKey(t), newKey(t), newKey(t)}
	plan := three.plan(trust.RoleTargets)
	plan[trust.RoleTargets] = trust.RolePlan{Keys: plan[trust.RoleTargets].Keys, Threshold: 2}
	draft, err := s.repo.DraftRoot(plan)
	s.must(err)
	for _, k := range s.keys[trust.RoleRoot][1:] {
		draft, err = trust.SignRoot(draft, k)
		s.must(err)
	}
	s.must(s.repo.InstallRoot(draft, three.online()))
	s.keys = three
	s.publish(7)
	s.wants(7)
	one := append(slices.Clone(three.online()[1:]), three[trust.RoleTargets][0]) // the first is the first release key
	one = slices.DeleteFunc(one, func(k *trust.PrivateKey) bool { return slices.Contains(three[trust.RoleTargets][1:], k) })
	one = append(one, three[trust.RoleTargets][0])
	var missing *trust.KeysError
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
	online := append(slices.Clone(s.keys[trust.RoleSnapshot]), s.keys[trust.RoleTimestamp]...)
	for s.clock.Before(epoch.Add(364 * day)) {
		s.clock = s.clock.Add(7 * day)
		s.must(s.repo.Refresh(online))
		if s.clock.Before(epoch.Add(365 * day)) {
			s.wants(7)
		}
	}
	s.clock = epoch.Add(365*day + time.Second)
	s.must(s.repo.Refresh(online))
	if c, err := s.start().Refresh(context.Background(), s.net, query(7)); err != nil || c.Fresh {
		t.Errorf("the release key's signature has ended: %+v, %v", c, err)
	}
	var missing *trust.KeysError
	if err := s.repo.Refresh(s.keys[trust.RoleSnapshot]); !errors.As(err, &missing) || missing.Role != trust.RoleTimestamp {
		t.Errorf("%v", err)
	}
	s.must(s.repo.Refresh(s.keys.online())) // the release key signs again; the root's time is over, too
	s.renewRoot()
	s.wants(7)
}

func (s *stage) renewRoot() {
	s.t.Helper()
	s.rotate(s.keys[trust.RoleRoot][:2], s.keys)
}

// TestRefreshSignsWhatItCan: what has lived half of its time is signed anew if the keys for it are at hand.
func TestRefreshSignsWhatItCan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	online := append(slices.Clone(s.keys[trust.RoleSnapshot]), s.keys[trust.RoleTimestamp]...)
	for _, step := range []struct {
		after             time.Duration
		keys              []*trust.PrivateKey
		targets, snapshot time.Duration // when they end afterwards
	}{
		{44 * day, s.keys.online(), 365 * day, 90 * day}, {46 * day, s.keys[trust.RoleTimestamp], 365 * day, 90 * day},
		{46 * day, online, 365 * day, 136 * day}, {180 * day, online, 365 * day, 270 * day}, {183 * day, online, 365 * day, 270 * day},
		{183 * day, s.keys.online(), 548 * day, 273 * day},
	} {
		s.clock = epoch.Add(step.after)
		s.must(s.repo.Refresh(step.keys))
		e := s.repo.Expiries()
		if !e[trust.RoleTargets].Equal(epoch.Add(step.targets)) || !e[trust.RoleSnapshot].Equal(epoch.Add(step.snapshot)) || !e[trust.RoleTimestamp].Equal(s.clock.Add(14*day)) {
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
		repo, err := trust.OpenRepo(&faulty{s.folder, left, full}, s.options())
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
		s.repo, err = trust.OpenRepo(s.folder, s.options())
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
		fresh := s.keys.with(t, trust.RoleTargets, trust.RoleTimestamp)
		draft, err := s.repo.DraftRoot(fresh.plan(trust.RoleTargets, trust.RoleTimestamp))
		s.must(err)
		for _, k := range s.keys[trust.RoleRoot][:2] {
			draft, err = trust.SignRoot(draft, k)
			s.must(err)
		}
		repo, err := trust.OpenRepo(&faulty{s.folder, left, full}, s.options())
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
		reopened, err := trust.OpenRepo(s.folder, s.options())
		s.must(err)
		for _, repo := range []*trust.Repo{repo, reopened} {
			if repo.Unfinished() != (rooted == nil) {
				t.Fatalf("after %d: unfinished %v", left, repo.Unfinished())
			}
			if repo.Unfinished() && !(errors.Is(repo.Refresh(fresh.all()), trust.ErrUnfinished) && errors.Is(repo.SetEntries(nil, fresh.all()), trust.ErrUnfinished)) {
				t.Fatalf("after %d: an unfinished rotation lets others by", left)
			}
		}
		if c, err := s.start().Known(query(7)); err != nil || c.Number != 7 {
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
	root := s.keys[trust.RoleRoot]
	draft, err := s.repo.DraftRoot(s.keys.with(t, trust.RoleTimestamp).plan(trust.RoleTimestamp))
	s.must(err)
	one, err := trust.SignRoot(draft, root[0])
	s.must(err)
	again, err := trust.SignRoot(one, root[0]) // the same person twice
	s.must(err)
	var fault *trust.Error
	for _, data := range [][]byte{draft, one, again, nil, []byte("x"), make([]byte, trust.MaxRoot+1)} {
		if err := s.repo.InstallRoot(data, s.keys.online()); !errors.As(err, &fault) {
			t.Errorf("%.50q: %v", data, err)
		}
	}
	two, err := trust.SignRoot(one, root[2])
	s.must(err)
	var missing *trust.KeysError
	if err := s.repo.InstallRoot(two, s.keys.online()); !errors.As(err, &missing) || missing.Role != trust.RoleTimestamp {
		t.Errorf("without the new key: %v", err)
	}
	s.wants(7)
	for _, bad := range [][]byte{nil, []byte("{}"), s.read("metadata/timestamp.json"), make([]byte, trust.MaxRoot+1)} {
		if _, err := trust.SignRoot(bad, root[0]); !errors.As(err, &fault) {
			t.Errorf("%.50q was signed: %v", bad, err)
		}
		if _, err := trust.DescribeRoot(bad); !errors.As(err, &fault) {
			t.Errorf("%.50q was described: %v", bad, err)
		}
	}
	var weak *trust.WeakRootError
	if _, err := s.repo.DraftRoot(trust.RootPlan{trust.RoleRoot: {Keys: []trust.PublicKey{root[0].Public()}}}); !errors.As(err, &weak) {
		t.Errorf("down to one root key: %v", err)
	}
	info, err := trust.DescribeRoot(draft)
	if err != nil || info.Version != 2 || info.Roles[trust.RoleRoot].Threshold != 2 || len(info.Roles[trust.RoleRoot].Keys) != 3 || !info.Expires.Equal(epoch.Add(year)) {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestKeyRotation: every role in turn, all at once, and a client that slept through all of it.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	sleeper := copied(t, s.store)
	s.wants(7)
	early := copied(t, s.store)
	for i, roles := range [][]trust.KeyRole{{trust.RoleTimestamp}, {trust.RoleSnapshot}, {trust.RoleTargets}, {trust.RoleRoot}, trust.KeyRoles()} {
		fresh := s.keys.with(t, roles...)
		s.rotate(append(slices.Clone(s.keys[trust.RoleRoot][:2]), fresh[trust.RoleRoot][:2]...), fresh, roles...)
		s.wants(uint64(7 + i))
		s.publish(uint64(8 + i))
		s.wants(uint64(8 + i))
	}
	repo, err := trust.OpenRepo(s.folder, s.options())
	s.must(err)
	if got := repo.RootInfo(); got.Version != 6 || len(repo.PublicKeys(trust.RoleRoot)) != 3 || repo.PublicKeys(trust.RoleTargets)[0] != s.keys[trust.RoleTargets][0].Public() {
		t.Errorf("%+v", got)
	}
	for _, store := range []*trust.MemoryStore{sleeper, early} {
		s.store = store
		s.wants(12)
	}
	s.root = repo.Root() // a new package of the game, over an old store
	s.store = early
	s.wants(12)
	s.store = &trust.MemoryStore{}
	s.wants(12)
}

// TestOldKeysAreForgotten: keys that a rotation took away sign nothing any more, for a client that knows the new root.
func TestOldKeysAreForgotten(t *testing.T) {
	t.Parallel()
	for _, role := range trust.KeyRoles()[1:] {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		old, before := s.keys, s.saved()
		s.rotate(s.keys[trust.RoleRoot], s.keys.with(t, role), role)
		s.publish(8)
		s.wants(8)
		s.folder, s.net.folder, s.keys = before, before, old // the thief goes on from where he was
		repo, err := trust.OpenRepo(s.folder, s.options())
		s.must(err)
		s.repo = repo
		for n := uint64(9); n < 15; n++ {
			s.publish(n)
		}
		var fault *trust.Error
		if c, err := s.start().Refresh(context.Background(), s.net, query(8)); !errors.As(err, &fault) || fault.Fault != trust.FaultUnsigned {
			t.Errorf("%s: %+v, %v", role, c, err)
		}
		if c, err := s.start().Known(query(8)); err != nil || c.Number != 8 {
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
	left, lost := s.keys[trust.RoleRoot][:2], s.keys[trust.RoleRoot][2]
	fresh := s.keys.with(t)
	fresh[trust.RoleRoot] = []*trust.PrivateKey{left[0], left[1], newKey(t)}
	s.rotate(left, fresh, trust.RoleRoot)
	s.publish(8)
	s.wants(8)
	draft, err := s.repo.DraftRoot(trust.RootPlan{})
	s.must(err)
	for _, k := range []*trust.PrivateKey{left[0], lost} { // the lost key no longer counts
		draft, err = trust.SignRoot(draft, k)
		s.must(err)
	}
	var fault *trust.Error
	if err := s.repo.InstallRoot(draft, s.keys.online()); !errors.As(err, &fault) || fault.Fault != trust.FaultUnsigned {
		t.Errorf("%v", err)
	}
	s.rotate(fresh[trust.RoleRoot][1:], fresh) // the new key counts
	s.wants(8)
}

// TestLostReleaseKey is the drill: the release key is gone, the root names another.
func TestLostReleaseKey(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.rotate(s.keys[trust.RoleRoot][1:], s.keys.with(t, trust.RoleTargets), trust.RoleTargets)
	s.wants(7)
	s.publish(8)
	s.wants(8)
}

// TestStolenTimestampKey is the drill: until the root names another key an attacker can freeze clients, and no more.
func TestStolenTimestampKey(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	stolen := s.keys[trust.RoleTimestamp]
	s.rotate(s.keys[trust.RoleRoot][:2], s.keys.with(t, trust.RoleTimestamp), trust.RoleTimestamp)
	s.publish(8)
	s.wants(8)
	good := s.read("metadata/timestamp.json")
	forgeTimestamp(s, stolen)
	s.refuses(trust.FaultUnsigned, 8)
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
	repo, err := trust.OpenRepo(s.folder, s.options())
	s.must(err)
	s.repo = repo
	s.refuses(trust.FaultRolledBack, 9)
	online := trust.KeyRoles()[1:]
	s.rotate(s.keys[trust.RoleRoot][:2], s.keys.with(t, online...), online...)
	s.wants(7)
	if c, err := s.start().Refresh(context.Background(), s.net, query(9)); err != nil || c.Number != 9 || c.Listed || c.Down {
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
	if c, err := s.start().Refresh(context.Background(), s.net, query(7)); err == nil || !strings.Contains(err.Error(), "next try") {
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
	s.forgetAsked()
	old := s.read("metadata/timestamp.json")
	s.rotate(s.keys[trust.RoleRoot], s.keys.with(t, trust.RoleTimestamp), trust.RoleTimestamp)
	good := s.read("metadata/timestamp.json")
	s.must(s.folder.Save("metadata/timestamp.json", old))
	s.refuses(trust.FaultUnsigned, 7)
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
			if _, err := trust.OpenRepo(s.folder, s.options()); err == nil {
				t.Errorf("%s %s was opened", name, what)
			}
		}
		s.folder.Remove(name)
		if _, err := trust.OpenRepo(s.folder, s.options()); err == nil {
			t.Errorf("without %s it was opened", name)
		}
		s.must(s.folder.Save(name, good))
	}
	if _, err := trust.OpenRepo(s.folder, s.options()); err != nil {
		t.Error(err)
	}
}

func TestStores(t *testing.T) {
	t.Parallel()
	m := &trust.MemoryStore{}
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
	f := trust.StoreFetcher{Store: m}
	if u, err := f.Fetch(context.Background(), "a", 3); err != nil || u.Len() != 3 {
		t.Errorf("%v", err)
	}
	if _, err := f.Fetch(context.Background(), "a", 2); !errors.Is(err, trust.ErrTooLong) {
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
