package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
)

// maxRootSteps is how many new roots one Refresh takes. With one or two a year nobody meets it, and a server can't keep a
// client busy for ever.
const maxRootSteps = 32

// ErrNothingKnown says that no list of releases was ever verified here.
var ErrNothingKnown = errors.New("no list of releases was verified here yet")

// Client is the client's side of TUF: it knows a root, takes newer metadata only when enough keys vouch for it, and
// remembers in its store what it has verified, so that nothing older is ever taken again.
//
//	embedded root → N.root.json … → timestamp.json → N.snapshot.json → N.targets.json → Entry → Head
//
// Whatever fails, what was verified before stays: an error or a stale result says that this client can't tell whether it
// is current, never that it may not play. All methods are safe for concurrent use; one Refresh runs at a time.
type Client struct {
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
	entries   []release.Entry // what targets lists
	floors    floors
}

// document is a verified document with the bytes it was read from; the zero value is none.
type document[T metadata.Roles] struct {
	data []byte
	meta *metadata.Metadata[T]
}

// Current is an answer to a Query.
type Current struct {
	release.Choice
	Fresh   bool      // the metadata was fetched by this call and its time is not over
	Why     Staleness // why it is not fresh
	Expires time.Time // when the first of the documents behind it expires; UTC
}

// Open begins with the root that is built into the program, and takes from store what that root, or one that
// descends from it, vouches for. The rest is passed over, see Passed. now is the clock. An error means that the embedded
// root is no root, or that the store can't be read.
func Open(embedded []byte, store Store, now func() time.Time) (*Client, error) {
	root, err := parseRoot("embedded "+rootFile, embedded)
	if err != nil {
		return nil, err
	}
	c := &Client{store: store, now: now, known: knowledge{root: root}}
	if err := c.loadRoots(); err != nil {
		return nil, err
	}
	raw := map[string][]byte{}
	for name, limit := range map[string]int64{timestampFile: MaxTimestamp, snapshotFile: MaxSnapshot, targetsFile: MaxTargets, numbersFile: release.MaxNumbers} {
		if raw[name], err = c.load(name, limit); err != nil {
			return nil, err
		}
	}
	c.known.timestamp.data, c.known.snapshot.data, c.known.targets.data = raw[timestampFile], raw[snapshotFile], raw[targetsFile]
	if data := raw[numbersFile]; data != nil {
		n, err := release.ParseNumbers(data)
		if err != nil {
			c.pass(numbersFile)
		}
		c.known.floors = floors(n)
	}
	c.known = c.known.under(c.known.root, c.pass)
	return c, nil
}

// load returns nil for a file that is not there, and passes over one that is too long to be ours.
func (c *Client) load(name string, limit int64) ([]byte, error) {
	data, err := c.store.Load(name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrTooLong):
		c.pass(name)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read what was verified: %w", err)
	default:
		return data, nil
	}
}

// loadRoots follows the chain of roots as far as it was stored.
func (c *Client) loadRoots() error {
	for {
		name := numbered(c.known.root.Signed.Version+1, rootFile)
		data, err := c.load(name, MaxRoot)
		if err != nil || data == nil {
			return err
		}
		next, err := nextRoot(c.known.root, data)
		if err != nil {
			c.pass(name)
			return nil
		}
		c.known.root = next
	}
}

func (c *Client) pass(name string) { c.passed = append(c.passed, name) }

// Passed names the files of the store that were not believed when it was opened, because they are damaged or because the
// keys that signed them don't count any more.
func (c *Client) Passed() []string {
	names := slices.Clone(c.passed)
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
	if !k.floors.vouched(root) {
		k.floors = floors{}
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
func (c *Client) knowing() knowledge {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// learn makes data durable under name and then k what is known.
func (c *Client) learn(k knowledge, name string, data []byte) error {
	if err := c.store.Save(name, data); err != nil {
		return fmt.Errorf("keep what was verified: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = k
	return nil
}

// Known answers from what was verified earlier, without asking anybody. It is never fresh. Without anything verified the
// error is ErrNothingKnown, without a release for the query ErrNoRelease.
func (c *Client) Known(q release.Query) (Current, error) {
	k := c.knowing()
	if k.targets.meta == nil {
		return Current{}, ErrNothingKnown
	}
	current, err := k.choose(q, c.now())
	current.Fresh, current.Why = false, StaleUnasked
	return current, err
}

// choose answers from k.
func (k knowledge) choose(q release.Query, now time.Time) (Current, error) {
	choice, err := release.Choose(k.entries, q)
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
// that is not believed is an *Error, a network that fails is the fetcher's error, and a store that can't be written is
// the store's; after any of them Known still answers. What has expired is no error: the answer is then not fresh, see
// Staleness. ctx bounds everything.
func (c *Client) Refresh(ctx context.Context, f Fetcher, q release.Query) (Current, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	before := c.knowing().targets.meta
	if err := c.refresh(ctx, f); err != nil {
		return Current{}, err
	}
	k := c.knowing()
	if err := c.remember(k, q, k.targets.meta != before); err != nil {
		return Current{}, err
	}
	return k.choose(q, c.now())
}

// remember keeps the highest number that is offered for the query's product, channel and target, and who vouched for it.
func (c *Client) remember(k knowledge, q release.Query, changed bool) error {
	top, found := release.Highest(k.entries, func(e release.Entry) bool { return e.Track() == q.Track() })
	if !found || !changed && k.floors.has(top) {
		return nil
	}
	next := k.floors.with(top, signersOf(k.root, RoleTargets, k.targets.meta))
	if next.equal(k.floors) {
		return nil
	}
	data, err := release.Numbers(next).Encode()
	if err != nil {
		return err
	}
	k.floors = next
	return c.learn(k, numbersFile, data)
}

// Head fetches the head of a choice and checks that it is the one for it. A choice that is not listed has none.
func (c *Client) Head(ctx context.Context, f Fetcher, choice release.Choice) (release.Head, error) {
	if !choice.Listed {
		return release.Head{}, fmt.Errorf("release %s is not listed any more and has no head", choice.Path())
	}
	u, err := fetch(ctx, f, choice.Head.HeadPath(), choice.Head.Size)
	if err != nil {
		return release.Head{}, err
	}
	return OpenHead(u, choice.Entry)
}

// OpenHead is the way from the bytes of a head to what it says: they must be those which the entry names, and be made for
// the entry's product, channel, target and number. Errors are *Error, *release.FormatError or release.ErrNewFormat.
func OpenHead(u Unverified, e release.Entry) (release.Head, error) {
	data, err := u.Verify(e.Head)
	if err != nil {
		return release.Head{}, &Error{Document: e.Path(), Fault: FaultMixed, Err: err}
	}
	h, err := release.ParseHead(data)
	if err != nil {
		return release.Head{}, err
	}
	if made := (release.Entry{Product: h.Product, Channel: h.Channel, Target: h.Target, Number: h.Number}); made.Path() != e.Path() {
		return release.Head{}, &Error{Document: e.Path(), Fault: FaultForeign, Err: fmt.Errorf("the head is that of %s", made.Path())}
	}
	return h, nil
}

// Root describes the root that counts now.
func (c *Client) Root() RootInfo { return infoOf(c.knowing().root) }
