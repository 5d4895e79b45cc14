package trust_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"go.uber.org/goleak"

	"collet/netproto/release"
	"collet/netproto/release/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is when every stage begins.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// keyring are the keys of all roles. Making Ed25519 keys is cheap, encrypting them is not, so tests keep them open.
type keyring map[trust.KeyRole][]*trust.PrivateKey

func newKey(t testing.TB) *trust.PrivateKey {
	t.Helper()
	k, err := trust.GenerateKey(false)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newKeyring(t testing.TB) keyring {
	ring := keyring{}
	for _, role := range trust.KeyRoles() {
		ring[role] = []*trust.PrivateKey{newKey(t)}
	}
	ring[trust.RoleRoot] = append(ring[trust.RoleRoot], newKey(t), newKey(t))
	return ring
}

// plan names the keys of these roles.
func (k keyring) plan(roles ...trust.KeyRole) trust.RootPlan {
	plan := trust.RootPlan{}
	for _, role := range roles {
		p := trust.RolePlan{}
		for _, key := range k[role] {
			p.Keys = append(p.Keys, key.Public())
		}
		plan[role] = p
	}
	return plan
}

// online are all keys but those of the root.
func (k keyring) online() (keys []*trust.PrivateKey) {
	for _, role := range trust.KeyRoles()[1:] {
		keys = append(keys, k[role]...)
	}
	return keys
}

func (k keyring) all() []*trust.PrivateKey { return append(k.online(), k[trust.RoleRoot]...) }

// stage is a publisher, a release folder, a network and a client.
type stage struct {
	t      testing.TB
	keys   keyring
	folder *trust.MemoryStore
	repo   *trust.Repo
	net    *network
	store  *trust.MemoryStore // the client's store
	root   []byte             // what the client is built with
	clock  time.Time
}

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{t: t, keys: newKeyring(t), folder: &trust.MemoryStore{}, store: &trust.MemoryStore{}, clock: epoch}
	s.net = &network{folder: s.folder}
	var err error
	if s.repo, err = trust.CreateRepo(s.folder, s.keys.plan(trust.KeyRoles()...), s.keys.all(), s.options()); err != nil {
		t.Fatal(err)
	}
	s.root = s.repo.Root()
	return s
}

func (s *stage) now() time.Time { return s.clock }

func (s *stage) options() trust.RepoOptions { return trust.RepoOptions{Now: s.now} }

// entry publishes the head of a release and returns its line.
func (s *stage) entry(number uint64) release.Entry {
	return s.headed(headOf(number))
}

// headOf says as little of a release as is allowed.
func headOf(number uint64) release.Head {
	return release.Head{
		Product: "lathe", Channel: "stable", Target: "Linux-x64", Number: number, Version: "1", Published: time.Unix(0, 0).UTC(),
		Listing: release.Packed{Sum: objectOf("[]").Sum, Size: 2, Object: objectOf("packed")}, Sources: objectOf("sources"),
	}
}

func objectOf(text string) release.Object { return release.ObjectOf([]byte(text)) }

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

// start starts the client, as after a restart.
func (s *stage) start() *trust.Client {
	s.t.Helper()
	client, err := trust.Open(s.root, s.store, s.now)
	s.must(err)
	return client
}

func query(have uint64) release.Query {
	return release.Query{Product: "lathe", Channel: "stable", Target: "Linux-x64", Install: "7f3c", Have: have}
}

// wants refreshes after a restart and expects this release, fresh.
func (s *stage) wants(number uint64) {
	s.t.Helper()
	c, err := s.start().Refresh(context.Background(), s.net, query(0))
	if err != nil || c.Number != number || !c.Fresh {
		s.t.Fatalf("got release %d, fresh %v, %v, want %d", c.Number, c.Fresh, err, number)
	}
}

// refuses refreshes after a restart and expects this fault, and that the client stays where it was.
func (s *stage) refuses(fault trust.Fault, stays uint64) {
	s.t.Helper()
	for range 2 { // the second time after another restart
		client := s.start()
		c, err := client.Refresh(context.Background(), s.net, query(0))
		var untrusted *trust.Error
		if !errors.As(err, &untrusted) || untrusted.Fault != fault {
			s.t.Fatalf("got release %d, %v, want %s", c.Number, err, fault)
		}
		known, err := client.Known(query(0))
		if stays == 0 && err == nil || stays != 0 && (err != nil || known.Number != stays || known.Fresh || known.Why != trust.StaleUnasked) {
			s.t.Fatalf("knows release %d, %v, want %d", known.Number, err, stays)
		}
	}
}

// network is the connection to the folder. Its fields simulate an attacker on the path.
type network struct {
	folder *trust.MemoryStore
	swap   func(name string, data []byte, err error) ([]byte, error) // what becomes of an answer

	mu       sync.Mutex
	requests []string
	bytes    int
}

func (n *network) Fetch(ctx context.Context, name string, limit int64) (trust.Unverified, error) {
	if err := ctx.Err(); err != nil {
		return trust.Unverified{}, err
	}
	data, err := n.folder.Load(name, 1<<30)
	if n.swap != nil {
		data, err = n.swap(name, data, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests, n.bytes = append(n.requests, name), n.bytes+len(data)
	if err != nil {
		return trust.Unverified{}, err
	}
	return trust.ReadUnverified(io.MultiReader(strings.NewReader(string(data))), limit)
}

// saved is a copy of the folder, as an attacker keeps it.
func (s *stage) saved() *trust.MemoryStore {
	s.t.Helper()
	return copied(s.t, s.folder)
}

func copied(t testing.TB, from *trust.MemoryStore) *trust.MemoryStore {
	t.Helper()
	to := &trust.MemoryStore{}
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

// forge reads a document, lets change edit it, signs it with these keys and saves it, without the checks of Repo.
func forge[T metadata.Roles](s *stage, name string, keys []*trust.PrivateKey, change func(*T)) []byte {
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

// chain updates timestamp and snapshot for the newest targets file, with the keys of the repository, as an attacker with these keys would.
func (s *stage) chain() {
	s.t.Helper()
	var targets, snapshot struct{ Signed struct{ Version int64 } }
	data := s.read(s.latest("targets"))
	s.must(json.Unmarshal(data, &targets))
	data = forge(s, s.latest("snapshot"), s.keys[trust.RoleSnapshot], func(m *metadata.SnapshotType) {
		m.Meta = map[string]*metadata.MetaFiles{"targets.json": metaFile(targets.Signed.Version, data)}
		m.Version++
	})
	s.must(json.Unmarshal(data, &snapshot))
	s.must(s.folder.Save(fmt.Sprintf("metadata/%d.snapshot.json", snapshot.Signed.Version), data))
	forge(s, "metadata/timestamp.json", s.keys[trust.RoleTimestamp], func(m *metadata.TimestampType) {
		m.Meta = map[string]*metadata.MetaFiles{"snapshot.json": metaFile(snapshot.Signed.Version, data)}
		m.Version++
	})
}

func metaFile(version int64, data []byte) *metadata.MetaFiles {
	sum, _ := release.ObjectOf(data).Sum.SHA256()
	return &metadata.MetaFiles{Version: version, Length: int64(len(data)), Hashes: metadata.Hashes{"sha256": sum[:]}}
}

// rotate gives roles new keys, signed by the keys of the old and the new root.
func (s *stage) rotate(signers []*trust.PrivateKey, fresh keyring, roles ...trust.KeyRole) {
	s.t.Helper()
	draft, err := s.repo.DraftRoot(fresh.plan(roles...))
	s.must(err)
	for _, k := range signers {
		draft, err = trust.SignRoot(draft, k)
		s.must(err)
	}
	s.must(s.repo.InstallRoot(draft, fresh.online()))
	s.keys = fresh
}

// with is the ring with new keys for these roles.
func (k keyring) with(t testing.TB, roles ...trust.KeyRole) keyring {
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
func forgeTimestamp(s *stage, keys []*trust.PrivateKey) {
	s.t.Helper()
	forge(s, "metadata/timestamp.json", keys, func(m *metadata.TimestampType) { m.Version++ })
}

// notFound is how the fetcher of TUF's library hears of a missing file.
func notFound() error { return &metadata.ErrDownloadHTTP{StatusCode: 404} }
