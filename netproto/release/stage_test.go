package release_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"go.uber.org/goleak"

	"collet/netproto/release"
	"collet/platform/testlevel"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); !testlevel.Full() && f.Value.String() == f.DefValue { // the whole is rapid's own hundred
		if err := f.Value.Set(map[bool]string{false: "40", true: "10"}[testing.Short()]); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// epoch is when every stage begins.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// keyring are the keys of all roles. Making Ed25519 keys is cheap, encrypting them is not, so tests keep them open.
type keyring map[release.KeyRole][]*release.PrivateKey

func newKey(t testing.TB) *release.PrivateKey {
	t.Helper()
	k, err := release.GenerateKey(false)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newKeyring(t testing.TB) keyring {
	ring := keyring{}
	for _, role := range release.KeyRoles() {
		ring[role] = []*release.PrivateKey{newKey(t)}
	}
	ring[release.RoleRoot] = append(ring[release.RoleRoot], newKey(t), newKey(t))
	return ring
}

// plan names the keys of these roles.
func (k keyring) plan(roles ...release.KeyRole) release.RootPlan {
	plan := release.RootPlan{}
	for _, role := range roles {
		p := release.RolePlan{}
		for _, key := range k[role] {
			p.Keys = append(p.Keys, key.Public())
		}
		plan[role] = p
	}
	return plan
}

// online are all keys but those of the root.
func (k keyring) online() (keys []*release.PrivateKey) {
	for _, role := range release.KeyRoles()[1:] {
		keys = append(keys, k[role]...)
	}
	return keys
}

func (k keyring) all() []*release.PrivateKey { return append(k.online(), k[release.RoleRoot]...) }

// stage is a publisher, a release folder, a network and a client.
type stage struct {
	t      testing.TB
	keys   keyring
	folder *release.MemoryStore
	repo   *release.Repo
	net    *network
	client *release.MemoryStore // the client's store
	root   []byte               // what the client is built with
	clock  time.Time
}

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{t: t, keys: newKeyring(t), folder: &release.MemoryStore{}, client: &release.MemoryStore{}, clock: epoch}
	s.net = &network{folder: s.folder}
	var err error
	if s.repo, err = release.CreateRepo(s.folder, s.keys.plan(release.KeyRoles()...), s.keys.all(), s.options()); err != nil {
		t.Fatal(err)
	}
	s.root = s.repo.Root()
	return s
}

func (s *stage) now() time.Time { return s.clock }

func (s *stage) options() release.RepoOptions { return release.RepoOptions{Now: s.now} }

// entry publishes the head of a release and returns its line.
func (s *stage) entry(number uint64) release.Entry {
	h := smallHead()
	h.Product, h.Channel, h.Target, h.Number = "lathe", "stable", "Linux-x64", number
	return s.headed(h)
}

func (s *stage) headed(h release.Head) release.Entry {
	s.t.Helper()
	data, err := h.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	o := release.ObjectOf(data)
	s.must(s.folder.Save(o.HeadPath(), data))
	return release.Entry{Product: h.Product, Channel: h.Channel, Target: h.Target, Number: h.Number, Percent: 100, Head: o}
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// publish adds releases.
func (s *stage) publish(numbers ...uint64) {
	s.t.Helper()
	entries := s.repo.Entries()
	for _, n := range numbers {
		entries = append(entries, s.entry(n))
	}
	s.must(s.repo.SetEntries(entries, s.keys.online()))
}

// edit changes the line of one release.
func (s *stage) edit(number uint64, change func(*release.Entry)) {
	s.t.Helper()
	entries := s.repo.Entries()
	for i := range entries {
		if entries[i].Number == number {
			change(&entries[i])
		}
	}
	s.must(s.repo.SetEntries(entries, s.keys.online()))
}

// trust starts the client, as after a restart.
func (s *stage) trust() *release.Trust {
	s.t.Helper()
	trust, err := release.OpenTrust(s.root, s.client, s.now)
	s.must(err)
	return trust
}

func query(have uint64) release.Query {
	return release.Query{Product: "lathe", Channel: "stable", Target: "Linux-x64", Install: "7f3c", Have: have}
}

// wants refreshes after a restart and expects this release, fresh.
func (s *stage) wants(number uint64) {
	s.t.Helper()
	c, err := s.trust().Refresh(context.Background(), s.net, query(0))
	if err != nil || c.Number != number || !c.Fresh {
		s.t.Fatalf("got release %d, fresh %v, %v, want %d", c.Number, c.Fresh, err, number)
	}
}

// refuses refreshes after a restart and expects this fault, and that the client stays where it was.
func (s *stage) refuses(fault release.Fault, stays uint64) {
	s.t.Helper()
	for range 2 { // the second time after another restart
		trust := s.trust()
		c, err := trust.Refresh(context.Background(), s.net, query(0))
		var untrusted *release.TrustError
		if !errors.As(err, &untrusted) || untrusted.Fault != fault {
			s.t.Fatalf("got release %d, %v, want %s", c.Number, err, fault)
		}
		known, err := trust.Known(query(0))
		if stays == 0 && err == nil || stays != 0 && (err != nil || known.Number != stays || known.Fresh || known.Why != release.StaleUnasked) {
			s.t.Fatalf("knows release %d, %v, want %d", known.Number, err, stays)
		}
	}
}

// network is the way to the folder. Its fields let somebody sit on the line.
type network struct {
	folder *release.MemoryStore
	swap   func(name string, data []byte, err error) ([]byte, error) // what becomes of an answer

	mu       sync.Mutex
	requests []string
	bytes    int
}

func (n *network) Fetch(ctx context.Context, name string, limit int64) (release.Unverified, error) {
	if err := ctx.Err(); err != nil {
		return release.Unverified{}, err
	}
	data, err := n.folder.Load(name, 1<<30)
	if n.swap != nil {
		data, err = n.swap(name, data, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests, n.bytes = append(n.requests, name), n.bytes+len(data)
	if err != nil {
		return release.Unverified{}, err
	}
	return release.ReadUnverified(io.MultiReader(strings.NewReader(string(data))), limit)
}

// saved is a copy of the folder, as an attacker keeps it.
func (s *stage) saved() *release.MemoryStore {
	s.t.Helper()
	return copied(s.t, s.folder)
}

func copied(t testing.TB, from *release.MemoryStore) *release.MemoryStore {
	t.Helper()
	to := &release.MemoryStore{}
	for _, name := range from.Names() {
		data, err := from.Load(name, 1<<30)
		if err == nil {
			err = to.Save(name, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// read is a file of the folder.
func (s *stage) read(name string) []byte {
	s.t.Helper()
	data, err := s.folder.Load(name, 1<<30)
	s.must(err)
	return data
}

// forge reads a document, lets change edit it, signs it with these keys and puts it back. Nobody asks whether they may.
func forge[T metadata.Roles](s *stage, name string, keys []*release.PrivateKey, change func(*T)) []byte {
	s.t.Helper()
	m, err := new(metadata.Metadata[T]).FromBytes(s.read(name))
	s.must(err)
	change(&m.Signed)
	m.Signatures = nil
	for _, k := range keys {
		signer, err := k.Signer()
		s.must(err)
		_, err = m.Sign(signer)
		s.must(err)
	}
	data, err := m.ToBytes(false)
	s.must(err)
	s.must(s.folder.Save(name, data))
	return data
}

// latest is the name of the newest file of a kind.
func (s *stage) latest(kind string) string {
	s.t.Helper()
	name := ""
	for version := 1; version < 1000; version++ {
		next := fmt.Sprintf("metadata/%d.%s.json", version, kind)
		if _, err := s.folder.Load(next, 1<<30); err == nil {
			name = next
		}
	}
	return name
}

// chain makes timestamp and snapshot fit the newest targets file again, with the keys of the repository, as whoever has
// stolen them would.
func (s *stage) chain() {
	s.t.Helper()
	var targets, snapshot struct{ Signed struct{ Version int64 } }
	data := s.read(s.latest("targets"))
	s.must(json.Unmarshal(data, &targets))
	data = forge(s, s.latest("snapshot"), s.keys[release.RoleSnapshot], func(m *metadata.SnapshotType) {
		m.Meta = map[string]*metadata.MetaFiles{"targets.json": metaFile(targets.Signed.Version, data)}
		m.Version++
	})
	s.must(json.Unmarshal(data, &snapshot))
	s.must(s.folder.Save(fmt.Sprintf("metadata/%d.snapshot.json", snapshot.Signed.Version), data))
	forge(s, "metadata/timestamp.json", s.keys[release.RoleTimestamp], func(m *metadata.TimestampType) {
		m.Meta = map[string]*metadata.MetaFiles{"snapshot.json": metaFile(snapshot.Signed.Version, data)}
		m.Version++
	})
}

func metaFile(version int64, data []byte) *metadata.MetaFiles {
	sum, _ := sha(string(data)).SHA256()
	return &metadata.MetaFiles{Version: version, Length: int64(len(data)), Hashes: metadata.Hashes{"sha256": sum[:]}}
}

// rotate gives roles new keys, signed by the keys of the old and the new root.
func (s *stage) rotate(signers []*release.PrivateKey, fresh keyring, roles ...release.KeyRole) {
	s.t.Helper()
	draft, err := s.repo.DraftRoot(fresh.plan(roles...))
	s.must(err)
	for _, k := range signers {
		draft, err = release.SignRoot(draft, k)
		s.must(err)
	}
	s.must(s.repo.InstallRoot(draft, fresh.online()))
	s.keys = fresh
}

// with is the ring with new keys for these roles.
func (k keyring) with(t testing.TB, roles ...release.KeyRole) keyring {
	fresh := keyring{}
	for role, keys := range k {
		fresh[role] = keys
	}
	for _, role := range roles {
		fresh[role] = nil
		for range k[role] {
			fresh[role] = append(fresh[role], newKey(t))
		}
	}
	return fresh
}

// forgeTimestamp signs the next timestamp with any keys.
func forgeTimestamp(s *stage, keys []*release.PrivateKey) {
	s.t.Helper()
	forge(s, "metadata/timestamp.json", keys, func(m *metadata.TimestampType) { m.Version++ })
}

// notFound is how the fetcher of TUF's library hears of a missing file.
func notFound() error { return &metadata.ErrDownloadHTTP{StatusCode: 404} }
