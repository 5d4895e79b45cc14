package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// maxRootSteps is how many new roots one Refresh takes. With one or two a year nobody meets it, and a server can't keep a
// client busy for ever.
const maxRootSteps = 32

// ErrNothingKnown says that no list of releases was ever verified here.
var ErrNothingKnown = errors.New("no list of releases was verified here yet")

// Trust is the client's side of TUF: it knows a root, takes newer metadata only when enough keys vouch for it, and
// remembers in its store what it has verified, so that nothing older is ever taken again.
//
//	embedded root → N.root.json … → timestamp.json → N.snapshot.json → N.targets.json → Entry → Head
//
// Whatever fails, what was verified before stays: an error or a stale result says that this client can't tell whether it
// is current, never that it may not play. All methods are safe for concurrent use; one Refresh runs at a time.
type Trust struct {
	store Store
	now   func() time.Time

	asking sync.Mutex // held by the Refresh that runs
	mu     sync.Mutex // guards what follows
	known  knowledge
	passed []string
}

// knowledge is what was verified. It is a value: what its pointers lead to does not change.
type knowledge struct {
	root      *rootMeta
	timestamp document[metadata.TimestampType]
	snapshot  document[metadata.SnapshotType]
	targets   document[metadata.TargetsType]
	entries   []Entry // what targets lists
	numbers   numbers
}

// document is a verified document with the bytes it was read from; the zero value is none.
type document[T metadata.Roles] struct {
	data []byte
	meta *metadata.Metadata[T]
}

// Current is an answer to a Query.
type Current struct {
	Choice
	Fresh   bool      // the metadata was fetched by this call and its time is not over
	Why     Staleness // why it is not fresh
	Expires time.Time // when the first of the documents behind it expires; UTC
}

// OpenTrust begins with the root that is built into the program, and takes from store what that root, or one that
// descends from it, vouches for. The rest is passed over, see Passed. now is the clock. An error means that the embedded
// root is no root, or that the store can't be read.
func OpenTrust(embedded []byte, store Store, now func() time.Time) (*Trust, error) {
	root, err := parseRoot("embedded "+rootFile, embedded)
	if err != nil {
		return nil, err
	}
	t := &Trust{store: store, now: now, known: knowledge{root: root}}
	if err := t.loadRoots(); err != nil {
		return nil, err
	}
	raw := map[string][]byte{}
	for name, limit := range map[string]int64{timestampFile: MaxTimestamp, snapshotFile: MaxSnapshot, targetsFile: MaxTargets, numbersFile: maxNumbers} {
		if raw[name], err = t.load(name, limit); err != nil {
			return nil, err
		}
	}
	t.known.timestamp.data, t.known.snapshot.data, t.known.targets.data = raw[timestampFile], raw[snapshotFile], raw[targetsFile]
	if data := raw[numbersFile]; data != nil && readDocument("numbers", data, maxNumbers, t.known.numbers.code) != nil {
		t.pass(numbersFile)
		t.known.numbers = numbers{}
	}
	t.known = t.known.under(t.known.root, t.pass)
	return t, nil
}

// load returns nil for a file that is not there, and passes over one that is too long to be ours.
func (t *Trust) load(name string, limit int64) ([]byte, error) {
	data, err := t.store.Load(name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrTooLong):
		t.pass(name)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read what was verified: %w", err)
	default:
		return data, nil
	}
}

// loadRoots follows the chain of roots as far as it was stored.
func (t *Trust) loadRoots() error {
	for {
		name := numbered(t.known.root.Signed.Version+1, rootFile)
		data, err := t.load(name, MaxRoot)
		if err != nil || data == nil {
			return err
		}
		next, err := nextRoot(t.known.root, data)
		if err != nil {
			t.pass(name)
			return nil
		}
		t.known.root = next
	}
}

func (t *Trust) pass(name string) { t.passed = append(t.passed, name) }

// Passed names the files of the store that were not believed when it was opened, because they are damaged or because the
// keys that signed them don't count any more.
func (t *Trust) Passed() []string {
	names := slices.Clone(t.passed)
	slices.Sort(names)
	return names
}

// under keeps of k what root vouches for. A document that root does not vouch for takes those above it along: whoever had
// its keys may have driven their numbers up, and only a new root ends that.
func (k knowledge) under(root *rootMeta, pass func(string)) knowledge {
	var okTimestamp, okSnapshot, okTargets bool
	k.root = root
	k.timestamp, okTimestamp = vouched(root, RoleTimestamp, timestampFile, k.timestamp, fitTimestamp, pass)
	k.snapshot, okSnapshot = vouched(root, RoleSnapshot, snapshotFile, k.snapshot, fitSnapshot, pass)
	k.targets, okTargets = vouched(root, RoleTargets, targetsFile, k.targets, fitTargets, pass)
	k.entries = nil
	if k.targets.meta != nil {
		k.entries = mustEntries(k.targets.meta)
	}
	if !okTimestamp || !okSnapshot || !okTargets {
		k.timestamp, k.snapshot = document[metadata.TimestampType]{}, document[metadata.SnapshotType]{}
	}
	if !k.numbers.vouched(root) {
		k.numbers = numbers{}
	}
	return k
}

// vouched verifies a document again, under another root. What is not there is fine.
func vouched[T metadata.Roles](root *rootMeta, role KeyRole, name string, d document[T], fit func(*T) string, pass func(string)) (document[T], bool) {
	if d.data == nil {
		return d, true
	}
	meta, err := verified(root, role, name, d.data, fit)
	if err != nil {
		pass(name)
		return document[T]{}, false
	}
	return document[T]{d.data, meta}, true
}

// knowing is what is known at this moment.
func (t *Trust) knowing() knowledge {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known
}

// learn makes data durable under name and then k what is known.
func (t *Trust) learn(k knowledge, name string, data []byte) error {
	if err := t.store.Save(name, data); err != nil {
		return fmt.Errorf("keep what was verified: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = k
	return nil
}

// Known answers from what was verified earlier, without asking anybody. It is never fresh. Without anything verified the
// error is ErrNothingKnown, without a release for the query ErrNoRelease.
func (t *Trust) Known(q Query) (Current, error) {
	k := t.knowing()
	if k.targets.meta == nil {
		return Current{}, ErrNothingKnown
	}
	c, err := k.choose(q, t.now())
	c.Fresh, c.Why = false, StaleUnasked
	return c, err
}

// choose answers from k.
func (k knowledge) choose(q Query, now time.Time) (Current, error) {
	choice, err := Choose(k.entries, q)
	if err != nil {
		return Current{}, err
	}
	first, others := k.targets.meta.Signed.Expires, []time.Time{k.root.Signed.Expires}
	if k.timestamp.meta != nil && k.snapshot.meta != nil {
		first, others = k.timestamp.meta.Signed.Expires, append(others, k.snapshot.meta.Signed.Expires, k.targets.meta.Signed.Expires)
	}
	why, expires := staleness(now, first, others...)
	return Current{Choice: choice, Fresh: why == NotStale, Why: why, Expires: expires.UTC()}, nil
}

// Refresh asks a server what is current. When nothing has changed it costs two small requests, sent together. Metadata
// that is not believed is a *TrustError, a network that fails is the fetcher's error, and a store that can't be written is
// the store's; after any of them Known still answers. What has expired is no error: the answer is then not fresh, see
// Staleness. ctx bounds everything.
func (t *Trust) Refresh(ctx context.Context, f Fetcher, q Query) (Current, error) {
	t.asking.Lock()
	defer t.asking.Unlock()
	before := t.knowing().targets.meta
	if err := t.refresh(ctx, f); err != nil {
		return Current{}, err
	}
	k := t.knowing()
	if err := t.remember(k, q, k.targets.meta != before); err != nil {
		return Current{}, err
	}
	return k.choose(q, t.now())
}

// remember keeps the highest number that is offered for the query's product, channel and target, and who vouched for it.
func (t *Trust) remember(k knowledge, q Query, changed bool) error {
	top, found := highest(k.entries, func(e Entry) bool { return e.line() == q.line() })
	if !found || !changed && k.numbers.has(top) {
		return nil
	}
	next := k.numbers.with(top, signersOf(k.root, RoleTargets, k.targets.meta))
	if next.equal(k.numbers) {
		return nil
	}
	data, err := writeDocument("numbers", maxNumbers, next.code)
	if err != nil {
		return err
	}
	k.numbers = next
	return t.learn(k, numbersFile, data)
}

// Head fetches the head of a choice and checks that it is the one for it. A choice that is not listed has none.
func (t *Trust) Head(ctx context.Context, f Fetcher, c Choice) (Head, error) {
	if !c.Listed {
		return Head{}, fmt.Errorf("release %s is not listed any more and has no head", c.Path())
	}
	u, err := fetch(ctx, f, c.Head.HeadPath(), c.Head.Size)
	if err != nil {
		return Head{}, err
	}
	return OpenHead(u, c.Entry)
}

// OpenHead is the way from the bytes of a head to what it says: they must be those which the entry names, and be made for
// the entry's product, channel, target and number. Errors are *TrustError, *FormatError or ErrNewFormat.
func OpenHead(u Unverified, e Entry) (Head, error) {
	data, err := u.Verify(e.Head)
	if err != nil {
		return Head{}, &TrustError{Document: e.Path(), Fault: FaultMixed, Err: err}
	}
	h, err := ParseHead(data)
	if err != nil {
		return Head{}, err
	}
	if made := (Entry{Product: h.Product, Channel: h.Channel, Target: h.Target, Number: h.Number}); made.Path() != e.Path() {
		return Head{}, &TrustError{Document: e.Path(), Fault: FaultForeign, Err: fmt.Errorf("the head is that of %s", made.Path())}
	}
	return h, nil
}

// Root describes the root that counts now.
func (t *Trust) Root() RootInfo { return infoOf(t.knowing().root) }
