package trust_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform/testlevel"
)

// The attacks of TUF's own list, each against a repository in memory that is also what the client fetches from.

// TestRollbackAttack: a client that has seen a newer state rejects an old one of the folder, although it is complete and correctly signed.
func TestRollbackAttack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	old := s.saved()
	s.publish(8)
	s.wants(8)
	new := s.folder
	s.net.folder = old
	s.refuses(trust.FaultRolledBack, 8)
	s.store.Remove("targets.json") // half of what is known is enough to refuse
	s.store.Remove("snapshot.json")
	s.refuses(trust.FaultRolledBack, 0)
	s.net.folder = new
	s.wants(8)
}

// TestRollbackOfTheSnapshot: an attacker with the timestamp's key names the snapshot before the last, which is rejected.
func TestRollbackOfTheSnapshot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	name := s.latest("snapshot")
	older := s.read(name)
	s.publish(8)
	s.wants(8)
	var m struct{ Signed struct{ Version int64 } }
	s.must(json.Unmarshal(older, &m))
	forge(s, "metadata/timestamp.json", s.keys[trust.RoleTimestamp], func(ts *metadata.TimestampType) {
		ts.Version++
		ts.Meta["snapshot.json"] = metaFile(m.Signed.Version, older)
	})
	s.refuses(trust.FaultRolledBack, 8)
}

// TestRollbackOfTheList: an attacker with both online keys names the list before the last under a newer snapshot, which is rejected.
func TestRollbackOfTheList(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	older := s.read(s.latest("targets"))
	s.publish(8)
	s.wants(8)
	var list struct{ Signed struct{ Version int64 } }
	s.must(json.Unmarshal(older, &list))
	point := func() {
		data := forge(s, s.latest("snapshot"), s.keys[trust.RoleSnapshot], func(m *metadata.SnapshotType) {
			m.Meta["targets.json"], m.Version = metaFile(list.Signed.Version, older), 50
		})
		s.must(s.folder.Save("metadata/50.snapshot.json", data))
		forge(s, "metadata/timestamp.json", s.keys[trust.RoleTimestamp], func(m *metadata.TimestampType) {
			m.Meta["snapshot.json"], m.Version = metaFile(50, data), m.Version+1
		})
	}
	point()
	s.refuses(trust.FaultRolledBack, 8)
	s.store.Remove("snapshot.json") // the list that is known still tells
	s.refuses(trust.FaultRolledBack, 8)
}

// TestNumbersRise: even an attacker with the release key can't make clients forget a number: a release may be killed, but not vanish.
func TestNumbersRise(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7, 8)
	s.wants(8)
	forge(s, s.latest("targets"), s.keys[trust.RoleTargets], func(m *metadata.TargetsType) {
		delete(m.Targets, "lathe/stable/Linux-x64/8")
		m.Version++
	})
	forged := s.read(s.latest("targets"))
	var list struct{ Signed struct{ Version int64 } }
	s.must(json.Unmarshal(forged, &list))
	s.must(s.folder.Save(fmt.Sprintf("metadata/%d.targets.json", list.Signed.Version), forged))
	s.chain()
	s.refuses(trust.FaultRolledBack, 8)
	s.store.Remove("targets.json") // the numbers are kept for themselves
	s.refuses(trust.FaultRolledBack, 0)
}

// TestFreezeAttack: a client kept on an old state stops reporting it as current, gives the reason, and the game still starts.
func TestFreezeAttack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.net.folder = s.saved()
	s.publish(8)
	s.wants(7)
	s.clock = epoch.Add(14*day + time.Second)
	client := s.start()
	c, err := client.Refresh(context.Background(), s.net, query(7))
	if err != nil || c.Number != 7 || c.Fresh || c.Why != trust.StaleExpired || !c.Expires.Equal(epoch.Add(14*day)) {
		t.Errorf("%+v, %v", c, err)
	}
	s.net.folder = s.folder
	s.must(s.repo.Refresh(s.keys.online()))
	s.wants(8)
}

// TestExpiryOfEachRole: the first signature that ends decides.
func TestExpiryOfEachRole(t *testing.T) {
	t.Parallel()
	for role, want := range map[trust.KeyRole]time.Duration{
		trust.RoleRoot: 2 * time.Hour, trust.RoleTargets: 3 * time.Hour, trust.RoleSnapshot: 4 * time.Hour, trust.RoleTimestamp: 5 * time.Hour,
	} {
		s := newStage(t)
		v := trust.Validity{Root: 10 * day, Targets: 10 * day, Snapshot: 10 * day, Timestamp: 10 * day}
		*map[trust.KeyRole]*time.Duration{
			trust.RoleRoot: &v.Root, trust.RoleTargets: &v.Targets, trust.RoleSnapshot: &v.Snapshot, trust.RoleTimestamp: &v.Timestamp,
		}[role] = want
		s.folder = &trust.MemoryStore{}
		s.net.folder = s.folder
		repo, err := trust.CreateRepo(s.folder, s.keys.plan(trust.KeyRoles()...), s.keys.all(), trust.RepoOptions{Now: s.now, Validity: v})
		s.must(err)
		s.repo, s.root = repo, repo.Root()
		s.publish(7)
		s.wants(7)
		s.clock = epoch.Add(want + time.Second)
		if c, err := s.start().Refresh(context.Background(), s.net, query(7)); err != nil || c.Number != 7 || c.Why != trust.StaleExpired || !c.Expires.Equal(epoch.Add(want)) {
			t.Errorf("%s: %+v, %v", role, c, err)
		}
	}
}

// TestMixAndMatchAttack: documents of different states are rejected in combination.
func TestMixAndMatchAttack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	old := s.saved()
	s.publish(8)
	for _, kind := range []string{"snapshot", "targets"} {
		name := s.latest(kind)
		good := s.read(name)
		older, err := old.Load(strings.Replace(name, "3.", "2.", 1), 1<<20)
		s.must(err)
		s.must(s.folder.Save(name, older))
		s.refuses(trust.FaultMixed, 7)
		s.must(s.folder.Save(name, good))
	}
	s.wants(8)
	c, err := s.start().Refresh(context.Background(), s.net, query(7))
	s.must(err)
	eight, seven := s.repo.Entries()[1].Head, s.repo.Entries()[0].Head
	s.must(s.folder.Save(eight.HeadPath(), s.read(seven.HeadPath())))
	var untrusted *trust.Error
	if _, err := s.start().Head(context.Background(), s.net, c.Choice); !errors.As(err, &untrusted) || untrusted.Fault != trust.FaultMixed {
		t.Errorf("the head of another release: %v", err)
	}
}

// TestFastForwardAttack: an attacker with the online keys sets all version numbers to the maximum, which blocks updates.
// A root that replaces both keys, or either of them, ends that.
func TestFastForwardAttack(t *testing.T) {
	t.Parallel()
	for _, replaced := range [][]trust.KeyRole{{trust.RoleTimestamp, trust.RoleSnapshot}, {trust.RoleTimestamp}, {trust.RoleSnapshot}} {
		t.Run(fmt.Sprint(replaced), func(t *testing.T) {
			t.Parallel()
			fastForward(t, replaced)
		})
	}
}

func fastForward(t *testing.T, replaced []trust.KeyRole) {
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	before := s.saved()
	data := forge(s, s.latest("snapshot"), s.keys[trust.RoleSnapshot], func(m *metadata.SnapshotType) { m.Version = release.MaxNumber })
	s.must(s.folder.Save(fmt.Sprintf("metadata/%d.snapshot.json", int64(release.MaxNumber)), data))
	forge(s, "metadata/timestamp.json", s.keys[trust.RoleTimestamp], func(m *metadata.TimestampType) {
		m.Version, m.Meta["snapshot.json"] = release.MaxNumber, metaFile(release.MaxNumber, data)
	})
	s.wants(7) // it is well signed, so it counts
	s.folder, s.net.folder = before, before
	repo, err := trust.OpenRepo(s.folder, s.options())
	s.must(err)
	s.repo = repo
	s.publish(8)
	s.refuses(trust.FaultRolledBack, 7) // and the publisher can't get through any more
	s.rotate(s.keys[trust.RoleRoot], s.keys.with(t, replaced...), replaced...)
	s.wants(8)
	s.refusesOldKeys(8)
}

// refusesOldKeys: after the rotation nothing of before is taken.
func (s *stage) refusesOldKeys(stays uint64) {
	s.t.Helper()
	other := newStage(s.t)
	now := s.read("metadata/timestamp.json")
	forge(s, "metadata/timestamp.json", other.keys[trust.RoleTimestamp], func(m *metadata.TimestampType) { m.Version++ })
	s.refuses(trust.FaultUnsigned, stays)
	s.must(s.folder.Save("metadata/timestamp.json", now))
}

// TestFastForwardOfNumbers: an attacker with a release key sets the release number to the maximum. A root without that
// key ends that, although an invalid signature is listed beside the attacker's.
func TestFastForwardOfNumbers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	two := s.keys.with(t)
	two[trust.RoleTargets] = []*trust.PrivateKey{newKey(t), newKey(t)} // either of them may sign
	s.rotate(s.keys[trust.RoleRoot], two, trust.RoleTargets)
	s.publish(7)
	s.wants(7)
	stolen := s.keys[trust.RoleTargets][0]
	before := s.saved()
	last := s.entry(release.MaxNumber)
	version := int64(0)
	forged := forge(s, s.latest("targets"), []*trust.PrivateKey{stolen}, func(m *metadata.TargetsType) {
		sum, _ := last.Head.Sum.SHA256()
		custom := json.RawMessage(fmt.Sprintf(`{"hold":false,"killed":false,"number":%d,"percent":100}`, last.Number))
		m.Targets[last.Path()] = &metadata.TargetFiles{Length: last.Head.Size, Hashes: metadata.Hashes{"sha256": sum[:]}, Custom: &custom}
		m.Version++
		version = m.Version
	})
	other := s.keys[trust.RoleTargets][1].Public().ID()
	forged = bytes.Replace(forged, []byte(`"signatures":[`), []byte(`"signatures":[{"keyid":"`+other+`","sig":"00"},`), 1)
	s.must(s.folder.Save(fmt.Sprintf("metadata/%d.targets.json", version), forged))
	s.chain()
	s.wants(release.MaxNumber)
	s.folder, s.net.folder = before, before
	repo, err := trust.OpenRepo(s.folder, s.options())
	s.must(err)
	s.repo = repo
	fresh := s.keys.with(t, trust.RoleSnapshot, trust.RoleTimestamp)
	fresh[trust.RoleTargets] = []*trust.PrivateKey{s.keys[trust.RoleTargets][1], newKey(t)}
	s.rotate(s.keys[trust.RoleRoot], fresh, trust.RoleTargets, trust.RoleSnapshot, trust.RoleTimestamp)
	s.publish(8)
	s.wants(8)
}

// endless never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return copy(p, bytes.Repeat([]byte("["), len(p))), nil
}

// endlessNetwork sends endless data for one kind of file.
type endlessNetwork struct {
	*network
	part string
	sent *endless
	deaf bool // it does not even obey the limit
}

func (n endlessNetwork) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	switch {
	case !strings.Contains(name, n.part):
		return n.network.Fetch(ctx, name, limit)
	case n.deaf:
		return trust.UnverifiedBytes(make([]byte, limit+1)), nil
	default:
		return trust.ReadUnverified(n.sent, limit)
	}
}

// TestEndlessDataAttack: a file that never ends is cut off at what it may have.
func TestEndlessDataAttack(t *testing.T) {
	t.Parallel()
	limits := map[string]int{
		"root.json": trust.MaxRoot, "timestamp.json": trust.MaxTimestamp, "snapshot.json": trust.MaxSnapshot, "targets.json": trust.MaxTargets,
		".release": release.MaxHead,
	}
	for part, limit := range limits {
		for _, deaf := range []bool{false, true} {
			s := newStage(t)
			s.publish(7)
			s.wants(7)
			s.forgetAsked()
			s.publish(8)
			n := endlessNetwork{s.net, part, &endless{}, deaf}
			client := s.start()
			c, err := client.Refresh(context.Background(), n, query(7))
			if part == ".release" {
				s.must(err)
				_, err = client.Head(context.Background(), n, c.Choice)
			}
			var fault *trust.Error
			if !errors.As(err, &fault) || fault.Fault != trust.FaultTooLong || !strings.Contains(fault.Document, part) {
				t.Errorf("%s: %v", part, err)
			}
			if n.sent.read > 2*limit+1024 {
				t.Errorf("%s: %d bytes were read", part, n.sent.read)
			}
			if known, err := client.Known(query(7)); err != nil || known.Number == 0 {
				t.Errorf("%s: knows %+v, %v", part, known, err)
			}
		}
	}
}

// stuck never answers for one kind of file.
type stuck struct {
	*network
	part string
}

func (n stuck) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	if !strings.Contains(name, n.part) {
		return n.network.Fetch(ctx, name, limit)
	}
	<-ctx.Done()
	return trust.Unverified{}, ctx.Err()
}

// TestSlowRetrievalAttack: whatever file never arrives, Refresh ends with its context, and the known release still starts.
func TestSlowRetrievalAttack(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"root.json", "timestamp.json", "snapshot.json", "targets.json", ""} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			s.publish(7)
			s.wants(7)
			s.forgetAsked()
			s.publish(8)
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			begun := time.Now()
			client := s.start()
			if _, err := client.Refresh(ctx, stuck{s.net, part}, query(7)); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 3*time.Second {
				t.Errorf("%q: %v after %v", part, err, time.Since(begun))
			}
			if c, err := client.Known(query(7)); err != nil || c.Number != 7 {
				t.Errorf("%q: knows %+v, %v", part, c, err)
			}
		})
	}
}

// TestWrongTargetAttack: a head that is well signed, but made for something else, is not taken for what it is listed as.
func TestWrongTargetAttack(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*release.Head){
		"product": func(h *release.Head) { h.Product = "mill" }, "channel": func(h *release.Head) { h.Channel = "beta" },
		"target": func(h *release.Head) { h.Target = "Windows-win64" }, "number": func(h *release.Head) { h.Number = 6 },
	} {
		s := newStage(t)
		h := headOf(7)
		change(&h)
		e := s.headed(h)
		e.Product, e.Channel, e.Target, e.Number = "lathe", "stable", "Linux-x64", 7
		s.must(s.repo.SetEntries([]release.Entry{e}, s.keys.online()))
		client := s.start()
		c, err := client.Refresh(context.Background(), s.net, query(0))
		s.must(err)
		var fault *trust.Error
		if h, err := client.Head(context.Background(), s.net, c.Choice); !errors.As(err, &fault) || fault.Fault != trust.FaultForeign {
			t.Errorf("another %s: %+v, %v", what, h, err)
		}
	}
}

// TestEntryOfAnotherNumber: the signed line itself must agree with its path.
func TestEntryOfAnotherNumber(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	forgeList(s, func(m *metadata.TargetsType) {
		m.Targets["lathe/stable/Linux-x64/70"] = m.Targets["lathe/stable/Linux-x64/7"]
	})
	s.refuses(trust.FaultUnfit, 7)
}

// forgeList publishes a list that no Repo would, with all the right keys.
func forgeList(s *stage, change func(*metadata.TargetsType)) {
	s.t.Helper()
	version := int64(0)
	data := forge(s, s.latest("targets"), s.keys[trust.RoleTargets], func(m *metadata.TargetsType) {
		change(m)
		m.Version++
		version = m.Version
	})
	s.must(s.folder.Save(fmt.Sprintf("metadata/%d.targets.json", version), data))
	s.chain()
}

// TestSignedButUnfit: what the right keys signed is still held to what this program takes, and none of it stops play.
func TestSignedButUnfit(t *testing.T) {
	t.Parallel()
	const path = "lathe/stable/Linux-x64/7"
	custom := func(text string) *json.RawMessage { m := json.RawMessage(text); return &m }
	for what, change := range map[string]func(*metadata.TargetsType){
		"two digests":    func(m *metadata.TargetsType) { m.Targets[path].Hashes["sha512"] = make([]byte, 64) },
		"other digest":   func(m *metadata.TargetsType) { m.Targets[path].Hashes = metadata.Hashes{"sha512": make([]byte, 64)} },
		"short digest":   func(m *metadata.TargetsType) { m.Targets[path].Hashes["sha256"] = []byte{1} },
		"no conditions":  func(m *metadata.TargetsType) { m.Targets[path].Custom = nil },
		"new conditions": func(m *metadata.TargetsType) { m.Targets[path].Custom = custom(`{"hold":false}`) },
		"101 percent": func(m *metadata.TargetsType) {
			m.Targets[path].Custom = custom(`{"hold":false,"killed":false,"number":7,"percent":101}`)
		},
		"long head":      func(m *metadata.TargetsType) { m.Targets[path].Length = release.MaxHead + 1 },
		"no length":      func(m *metadata.TargetsType) { m.Targets[path].Length = 0 },
		"negative":       func(m *metadata.TargetsType) { m.Targets[path].Length = -1 },
		"odd number":     func(m *metadata.TargetsType) { m.Targets["lathe/stable/Linux-x64/07"] = m.Targets[path] },
		"traversal":      func(m *metadata.TargetsType) { m.Targets["../stable/Linux-x64/7"] = m.Targets[path] },
		"last version":   func(m *metadata.TargetsType) { m.Version = math.MaxInt64 - 1 },
		"negative again": func(m *metadata.TargetsType) { m.Version = -7 },
	} {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		forgeList(s, change)
		client := s.start()
		var fault *trust.Error
		if c, err := client.Refresh(context.Background(), s.net, query(7)); !errors.As(err, &fault) {
			t.Errorf("%s: %+v, %v", what, c, err)
		}
		if known, err := client.Known(query(7)); err != nil || known.Number != 7 {
			t.Errorf("%s: knows %+v, %v", what, known, err)
		}
	}
}

// TestUnfitTimestamps: an attacker with the timestamp's key can't crash the client.
func TestUnfitTimestamps(t *testing.T) {
	t.Parallel()
	for what, meta := range map[string]map[string]*metadata.MetaFiles{
		"nothing": {}, "another file": {"targets.json": metaFile(1, nil)}, "no digest": {"snapshot.json": {Version: 3, Length: 9}},
		"two files": {"snapshot.json": metaFile(3, []byte("x")), "x": metaFile(1, []byte("x"))}, "no length": {"snapshot.json": metaFile(3, nil)},
		"no version": {"snapshot.json": metaFile(0, []byte("x"))}, "too long": {"snapshot.json": metaFile(3, make([]byte, trust.MaxSnapshot+1))},
	} {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		forge(s, "metadata/timestamp.json", s.keys[trust.RoleTimestamp], func(m *metadata.TimestampType) { m.Version, m.Meta = m.Version+1, meta })
		t.Run(what, func(*testing.T) { s.refuses(trust.FaultUnfit, 7) })
	}
}

// TestKeyCompromise: fewer keys than the threshold, in whatever disguise, sign nothing.
func TestKeyCompromise(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.forgetAsked()
	root, stranger := s.keys[trust.RoleRoot], newKey(t)
	plan := trust.RootPlan{trust.RoleTargets: {Keys: []trust.PublicKey{stranger.Public()}}}
	draft, err := s.repo.DraftRoot(plan)
	s.must(err)
	signed := func(keys ...*trust.PrivateKey) []byte {
		data := draft
		for _, k := range keys {
			data, err = trust.SignRoot(data, k)
			s.must(err)
		}
		return data
	}
	one := signed(root[0])
	doubled := bytes.Replace(one, []byte(`"signatures":[`), []byte(`"signatures":[`+signature(t, one)+`,`), 1)
	renamed := bytes.Replace(doubled, []byte(root[0].Public().ID()), []byte(root[1].Public().ID()), 1)
	for what, forged := range map[string]struct {
		data  []byte
		fault trust.Fault
	}{
		"no key": {draft, trust.FaultUnsigned}, "one root key": {one, trust.FaultUnsigned}, "one key twice": {doubled, trust.FaultMalformed},
		"one key under two names": {renamed, trust.FaultUnsigned}, "with a stranger": {signed(root[0], stranger), trust.FaultUnsigned},
		"with an online key": {signed(root[0], s.keys[trust.RoleTargets][0]), trust.FaultUnsigned},
		"other content":      {bytes.Replace(signed(root[0], root[1]), []byte(`"threshold":2`), []byte(`"threshold":1`), 1), trust.FaultUnsigned},
	} {
		s.must(s.folder.Save("metadata/2.root.json", forged.data))
		t.Run(what, func(*testing.T) { s.refuses(forged.fault, 7) })
	}
	s.folder.Remove("metadata/2.root.json")
	s.wants(7)
	for _, role := range []trust.KeyRole{trust.RoleTargets, trust.RoleSnapshot, trust.RoleRoot} {
		data := s.read("metadata/timestamp.json")
		forge(s, "metadata/timestamp.json", s.keys[role], func(m *metadata.TimestampType) { m.Version++ })
		t.Run("timestamp by "+string(role), func(*testing.T) { s.refuses(trust.FaultUnsigned, 7) })
		s.must(s.folder.Save("metadata/timestamp.json", data))
	}
}

// signature is the first signature of a document, as it stands there.
func signature(t *testing.T, data []byte) string {
	t.Helper()
	var m struct{ Signatures []json.RawMessage }
	if err := json.Unmarshal(data, &m); err != nil || len(m.Signatures) == 0 {
		t.Fatalf("%s: %v", data, err)
	}
	return string(m.Signatures[0])
}

// TestOneKeyUnderTwoIDs: a root that counts one key twice is refused, even if it is signed.
func TestOneKeyUnderTwoIDs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.forgetAsked()
	draft, err := s.repo.DraftRoot(trust.RootPlan{})
	s.must(err)
	s.must(s.folder.Save("metadata/2.root.json", draft))
	forge(s, "metadata/2.root.json", s.keys[trust.RoleRoot], func(m *metadata.RootType) {
		id := s.keys[trust.RoleTargets][0].Public().ID()
		twin := *m.Keys[id]
		twin.Value.UnrecognizedFields = map[string]any{"x": "y"}
		twinID := strings.Repeat("ab", 32)
		m.Keys[twinID] = &twin
		m.Roles["targets"] = &metadata.Role{KeyIDs: []string{id, twinID}, Threshold: 2}
	})
	s.refuses(trust.FaultUnfit, 7)
}

// TestUnfitRoots: even a root that the root keys signed must be one that this program can live with.
func TestUnfitRoots(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*metadata.RootType){
		"no role":        func(m *metadata.RootType) { delete(m.Roles, "snapshot") },
		"no keys":        func(m *metadata.RootType) { m.Roles["targets"].KeyIDs = []string{} },
		"unknown key":    func(m *metadata.RootType) { m.Roles["targets"].KeyIDs = []string{"ab"} },
		"no threshold":   func(m *metadata.RootType) { m.Roles["timestamp"].Threshold = 0 },
		"high threshold": func(m *metadata.RootType) { m.Roles["timestamp"].Threshold = 2 },
		"inconsistent":   func(m *metadata.RootType) { m.ConsistentSnapshot = false },
		"short key": func(m *metadata.RootType) {
			for _, k := range m.Keys {
				k.Value.PublicKey = "abcd"
			}
		},
		"no hex": func(m *metadata.RootType) {
			for _, k := range m.Keys {
				k.Value.PublicKey = strings.Repeat("x", 64)
			}
		},
		"many keys": func(m *metadata.RootType) {
			m.Roles["root"].KeyIDs = slices.Repeat(m.Roles["root"].KeyIDs, 6)
		},
	} {
		s := newStage(t)
		s.publish(7)
		s.wants(7)
		s.forgetAsked()
		draft, err := s.repo.DraftRoot(trust.RootPlan{})
		s.must(err)
		s.must(s.folder.Save("metadata/2.root.json", draft))
		forge(s, "metadata/2.root.json", s.keys[trust.RoleRoot], change)
		t.Run(what, func(*testing.T) { s.refuses(trust.FaultUnfit, 7) })
	}
}

// TestRootOutOfTurn: roots are taken one by one.
func TestRootOutOfTurn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.forgetAsked()
	s.must(s.folder.Save("metadata/2.root.json", s.root)) // the one before, again
	s.refuses(trust.FaultRolledBack, 7)
	draft, err := s.repo.DraftRoot(trust.RootPlan{})
	s.must(err)
	s.must(s.folder.Save("metadata/2.root.json", draft))
	forge(s, "metadata/2.root.json", s.keys[trust.RoleRoot], func(m *metadata.RootType) { m.Version = 3 })
	s.refuses(trust.FaultRolledBack, 7)
}

// TestArbitrarySoftware: what our keys did not sign is not taken, from the root down to the bytes of a file.
func TestArbitrarySoftware(t *testing.T) {
	t.Parallel()
	s, evil := newStage(t), newStage(t)
	s.publish(7)
	s.wants(7)
	evil.publish(66)
	s.net.folder = evil.folder // another game, or another key, complete and well signed in itself
	s.refuses(trust.FaultUnsigned, 7)
	s.net.folder = s.folder
	c, err := s.start().Refresh(context.Background(), s.net, query(0))
	s.must(err)
	head := s.read(c.Head.HeadPath())
	for i := 0; i < len(head); i += 13 {
		s.net.swap = func(name string, data []byte, err error) ([]byte, error) {
			data[i] ^= 1
			return data, err
		}
		var fault *trust.Error
		if _, err := s.start().Head(context.Background(), s.net, c.Choice); !errors.As(err, &fault) || fault.Fault != trust.FaultMixed {
			t.Fatalf("a bit of byte %d changed: %v", i, err)
		}
	}
}

// TestExtraneousDependencies: only files that the list names for this client are fetched, and delegations are rejected.
func TestExtraneousDependencies(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	forgeList(s, func(m *metadata.TargetsType) {
		m.Targets["more/of/this"] = m.Targets["lathe/stable/Linux-x64/7"]
		m.Targets["lathe/stable/Linux-x64/7/extra"] = m.Targets["lathe/stable/Linux-x64/7"]
	})
	s.wants(7)
	for _, name := range s.net.requests {
		if strings.Contains(name, "release") {
			t.Errorf("%s was fetched", name)
		}
	}
	forgeList(s, func(m *metadata.TargetsType) {
		m.Delegations = &metadata.Delegations{Keys: map[string]*metadata.Key{}, Roles: []metadata.DelegatedRole{{Name: "friend", KeyIDs: []string{"ab"}, Threshold: 1, Paths: []string{"*"}}}}
	})
	s.refuses(trust.FaultUnfit, 7)
	listing := release.Listing{{Path: "Core.zip", Use: release.UseResource, Size: 4, Mode: release.PlainMode, Sum: objectOf("core").Sum}}
	object, ref, err := listing.Pack()
	s.must(err)
	more := append(release.Listing{{Path: "AAA.so", Use: release.UseRuntime, Mode: release.ProgramMode, Sum: objectOf("evil").Sum}}, listing...)
	smuggled, _, err := more.Pack()
	s.must(err)
	if _, err := release.UnpackListing(smuggled, ref); err == nil {
		t.Error("a file that the head does not vouch for came along")
	}
	if _, err := release.UnpackListing(object, ref); err != nil {
		t.Error(err)
	}
}

// TestDamagedMetadata: each document cut at each byte, with a bit changed at each byte, and in the shapes that trip parsers.
func TestDamagedMetadata(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.publish(8)
	next := s.keys.with(t, trust.RoleTimestamp)
	s.rotate(s.keys[trust.RoleRoot], next, trust.RoleTimestamp)
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	for _, name := range []string{"metadata/2.root.json", "metadata/timestamp.json", s.latest("snapshot"), s.latest("targets")} {
		good := s.read(name)
		var shapes [][]byte
		for i := 0; i < len(good); i += (1 + i/12) * testlevel.Stride(3, 3) {
			flipped := bytes.Clone(good)
			flipped[i] ^= 0x10
			shapes = append(shapes, good[:i], flipped)
		}
		for _, text := range []string{
			"", "null", "[]", "{}", "0", `""`, deep, strings.Repeat("[", 3000), `{"signed":null,"signatures":null}`, "\xff\xfe", "<html></html>",
			string(good) + "{}", string(good) + " x", strings.Replace(string(good), `"signed":{`, `"signed":{"_type":"root",`, 1),
			strings.Replace(string(good), `"version":`, `"Version":9,"version":`, 1), strings.Replace(string(good), `"version":`, `"version":9,"version":`, 1),
			strings.Replace(string(good), `"signed":`, `"Signed":{},"signed":`, 1), strings.Replace(string(good), `"spec_version":`, `"x":`+deep+`,"spec_version":`, 1),
		} {
			shapes = append(shapes, []byte(text))
		}
		for _, shape := range shapes {
			store := copied(t, s.store)
			s.must(s.folder.Save(name, shape))
			client, err := trust.Open(s.root, store, s.now)
			s.must(err)
			c, err := client.Refresh(context.Background(), s.net, query(7))
			var fault *trust.Error
			if err != nil && !errors.As(err, &fault) || err == nil && c.Number != 8 {
				t.Fatalf("%s as %.90q: %+v, %v", name, shape, c, err)
			}
			if known, err := client.Known(query(7)); err != nil || known.Number < 7 {
				t.Fatalf("%s as %.90q: knows %+v, %v", name, shape, known, err)
			}
			if err == nil {
				continue
			}
			for _, n := range store.Names() {
				if data, err := store.Load(n, 1<<24); err == nil && bytes.Equal(data, shape) && !strings.HasSuffix(n, release.UnverifiedSuffix) {
					t.Fatalf("%s as %.90q was kept as %s", name, shape, n)
				}
			}
		}
		s.must(s.folder.Save(name, good))
	}
	s.wants(8)
}

// TestRefusedBytesAreKeptApart: rejected bytes are saved for analysis, under a name that marks them as unverified.
func TestRefusedBytesAreKeptApart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(7)
	s.wants(7)
	s.must(s.folder.Save("metadata/timestamp.json", []byte("evil")))
	s.refuses(trust.FaultMalformed, 7)
	data, err := s.store.Load("timestamp.json.unverified", 100)
	if err != nil || string(data) != "evil" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestUnverifiedBytes(t *testing.T) {
	t.Parallel()
	u := trust.UnverifiedBytes([]byte("abc"))
	if data, err := u.Verify(objectOf("abc")); err != nil || string(data) != "abc" || u.Len() != 3 {
		t.Errorf("%q, %v", data, err)
	}
	var wrong *release.ObjectError
	if data, err := u.Verify(objectOf("abd")); !errors.As(err, &wrong) || data != nil {
		t.Errorf("%q, %v", data, err)
	}
	if shown := fmt.Sprintf("%T", u); !strings.Contains(shown, "Unverified") {
		t.Errorf("its type is %s", shown)
	}
	for text, limit := range map[string]int64{"": 0, "abc": 3} {
		if u, err := trust.ReadUnverified(strings.NewReader(text), limit); err != nil || u.Len() != len(text) {
			t.Errorf("%q within %d: %v", text, limit, err)
		}
	}
	if u, err := trust.ReadUnverified(strings.NewReader("abcd"), 3); !errors.Is(err, trust.ErrTooLong) || u.Len() != 0 {
		t.Errorf("%v", err)
	}
	broken := errors.New("reset")
	if _, err := trust.ReadUnverified(io.MultiReader(strings.NewReader("a"), badReader{broken}), 3); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type badReader struct{ err error }

func (b badReader) Read([]byte) (int, error) { return 0, b.err }

// FuzzMetadata: whatever bytes stand for a document, the client keeps what it knows and takes nothing that is not signed.
func FuzzMetadata(f *testing.F) {
	s := newStage(f)
	s.publish(7)
	s.wants(7)
	s.publish(8)
	s.rotate(s.keys[trust.RoleRoot], s.keys.with(f, trust.RoleTimestamp), trust.RoleTimestamp)
	names := []string{"metadata/2.root.json", "metadata/timestamp.json", s.latest("snapshot"), s.latest("targets")}
	for i, name := range names {
		data := s.read(name)
		f.Add(uint8(i), data)
		f.Add(uint8(i), data[:len(data)-1])
		f.Add(uint8(i), bytes.Replace(data, []byte(`"version"`), []byte(`"Version"`), 1))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		name := names[int(which)%len(names)]
		n := &network{folder: s.folder, swap: func(asked string, old []byte, err error) ([]byte, error) {
			if asked == name {
				return data, nil
			}
			return old, err
		}}
		client, err := trust.Open(s.root, copied(t, s.store), s.now)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Refresh(context.Background(), n, query(7))
		var fault *trust.Error
		if err != nil && !errors.As(err, &fault) || err == nil && c.Number != 8 {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		if known, err := client.Known(query(7)); err != nil || known.Number < 7 {
			t.Fatalf("%s: knows %+v, %v", name, known, err)
		}
	})
}
