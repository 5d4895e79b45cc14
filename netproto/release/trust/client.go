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

// maxRootSteps bounds the new roots that one Refresh follows, so that a server can't keep a client busy. One or two a year are usual.
const maxRootSteps = 32

// ErrNothingKnown says that no list of releases was ever verified on this machine.
var ErrNothingKnown = errors.New("no list of releases was verified here yet")

// Client is the client's side of TUF. It trusts a root, and accepts newer metadata only when signed by enough keys of
// that root. Its store keeps what it has verified, so it never accepts older metadata later.
//
//	embedded root → N.root.json … → timestamp.json → N.snapshot.json → N.targets.json → Entry → Head
//
// Failures keep the verified state. An error or a stale result means that the client can't tell whether it is current;
// the game may still start. All methods are safe for concurrent use; one Refresh runs at a time.
type Client struct {
	store Store
	now   func() time.Time

	asking  sync.Mutex // held by the running Refresh
	mu      sync.Mutex // guards the fields below
	state   trustState
	ignored []string
}

// trustState is the verified state. It is a value: the data behind its pointers does not change.
type trustState struct {
	root      *rootMeta
	timestamp document[metadata.TimestampType]
	snapshot  document[metadata.SnapshotType]
	targets   document[metadata.TargetsType]
	entries   []release.Entry // the releases of targets
	numbers   seenNumbers
	asked     time.Time // when there was no newer root; zero if never
}

// document is a verified document and its original bytes; the zero value means absent.
type document[T metadata.Roles] struct {
	data []byte
	meta *metadata.Metadata[T]
}

// Current is the answer to a Query.
type Current struct {
	release.Choice
	Fresh   bool      // the metadata was fetched by this call and has not expired
	Why     Staleness // why it is not fresh
	Expires time.Time // when the first of its documents expires; UTC
}

// Open starts with the root that is built into the program. From store it takes what that root, or one that descends
// from it, authenticates; other files are ignored, see Ignored. now is the clock. An error means that the embedded root
// is invalid, or that the store can't be read.
func Open(embedded []byte, store Store, now func() time.Time) (*Client, error) {
	root, err := parseRoot("embedded "+rootFile, embedded)
	if err != nil {
		return nil, err
	}
	c := &Client{store: store, now: now, state: trustState{root: root}}
	if err := c.loadRoots(); err != nil {
		return nil, err
	}
	raw := map[string][]byte{}
	for name, limit := range map[string]int64{timestampFile: MaxTimestamp, snapshotFile: MaxSnapshot, targetsFile: MaxTargets, numbersFile: release.MaxNumbers, AskedFile: MaxAsked} {
		if raw[name], err = c.load(name, limit); err != nil {
			return nil, err
		}
	}
	c.state.timestamp.data, c.state.snapshot.data, c.state.targets.data = raw[timestampFile], raw[snapshotFile], raw[targetsFile]
	c.state.asked = parseAsked(raw[AskedFile])
	if data := raw[numbersFile]; data != nil {
		n, err := release.ParseNumbers(data)
		if err != nil {
			c.ignore(numbersFile)
		}
		c.state.numbers = seenNumbers(n)
	}
	c.state = c.state.authenticatedBy(c.state.root, c.ignore)
	return c, nil
}

// load returns nil for a missing file, and ignores one that exceeds limit.
func (c *Client) load(name string, limit int64) ([]byte, error) {
	data, err := c.store.Load(name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, ErrTooLong):
		c.ignore(name)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read what was verified: %w", err)
	default:
		return data, nil
	}
}

// loadRoots follows the chain of stored roots.
func (c *Client) loadRoots() error {
	for {
		name := numbered(c.state.root.Signed.Version+1, rootFile)
		data, err := c.load(name, MaxRoot)
		if err != nil || data == nil {
			return err
		}
		next, err := nextRoot(c.state.root, data)
		if err != nil {
			c.ignore(name)
			return nil
		}
		c.state.root = next
	}
}

func (c *Client) ignore(name string) { c.ignored = append(c.ignored, name) }

// Ignored names the stored files that Open rejected, because they are damaged or because their signing keys are no longer trusted.
func (c *Client) Ignored() []string {
	names := slices.Clone(c.ignored)
	slices.Sort(names)
	return names
}

// authenticatedBy returns the part of k that root authenticates. When it drops a document it also drops those above: an attacker
// with the old keys may have raised their version numbers, and only a new root ends that.
func (k trustState) authenticatedBy(root *rootMeta, ignore func(string)) trustState {
	var okTimestamp, okSnapshot, okTargets bool
	k.root = root
	k.timestamp, okTimestamp = reverify(root, RoleTimestamp, timestampFile, k.timestamp, checkTimestamp, ignore)
	k.snapshot, okSnapshot = reverify(root, RoleSnapshot, snapshotFile, k.snapshot, checkSnapshot, ignore)
	k.targets, okTargets = reverify(root, RoleTargets, targetsFile, k.targets, checkTargets, ignore)
	k.entries = nil
	if k.targets.meta != nil {
		k.entries = mustEntries(k.targets.meta)
	}
	if !okTimestamp || !okSnapshot || !okTargets {
		k.timestamp, k.snapshot = document[metadata.TimestampType]{}, document[metadata.SnapshotType]{}
	}
	if !k.numbers.signedUnder(root) {
		k.numbers = seenNumbers{}
	}
	return k
}

// reverify verifies a document again, under another root. An absent document is valid.
func reverify[T metadata.Roles](root *rootMeta, role KeyRole, name string, d document[T], fit func(*T) string, ignore func(string)) (document[T], bool) {
	if d.data == nil {
		return d, true
	}
	meta, err := verified(root, role, name, d.data, fit)
	if err != nil {
		ignore(name)
		return document[T]{}, false
	}
	return document[T]{d.data, meta}, true
}

// current returns the verified state.
func (c *Client) current() trustState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// saveState saves data under name, and then sets the verified state to k.
func (c *Client) saveState(k trustState, name string, data []byte) error {
	if err := c.store.Save(name, data); err != nil {
		return fmt.Errorf("keep what was verified: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state = k
	return nil
}

// Known answers from the verified state, without a request. The answer is never fresh. Before anything was verified the
// error is ErrNothingKnown, without a release for the query ErrNoRelease.
func (c *Client) Known(q release.Query) (Current, error) {
	k := c.current()
	if k.targets.meta == nil {
		return Current{}, ErrNothingKnown
	}
	current, err := k.choose(q, c.now())
	current.Fresh, current.Why = false, StaleUnasked
	return current, err
}

// choose answers from k.
func (k trustState) choose(q release.Query, now time.Time) (Current, error) {
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

// Refresh asks a server for the current metadata. Without changes it costs one small request, and once a RootInterval two that are sent
// together. Rejected
// metadata is an *Error, a network failure is the fetcher's error, and a write failure is the store's; Known still answers
// after any of them. Expired metadata is no error: then the answer is not fresh, see Staleness. ctx bounds the whole call.
// A query without a product is for the only one that the list has for its channel and target.
func (c *Client) Refresh(ctx context.Context, f Fetcher, q release.Query) (Current, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	before := c.current().targets.meta
	if err := c.refresh(ctx, f); err != nil {
		return Current{}, err
	}
	k := c.current()
	if q.Product == "" {
		q.Product = release.OnlyProduct(k.entries, q.Channel, q.Target)
	}
	if err := c.saveSeenNumbers(k, q, k.targets.meta != before); err != nil {
		return Current{}, err
	}
	return k.choose(q, c.now())
}

// saveSeenNumbers stores the highest number offered for the query's track, with the keys that signed the list.
func (c *Client) saveSeenNumbers(k trustState, q release.Query, changed bool) error {
	top, found := release.Highest(k.entries, func(e release.Entry) bool { return e.Track() == q.Track() })
	if !found || !changed && k.numbers.hasNumber(top) {
		return nil
	}
	next := k.numbers.withSeen(top, signersOf(k.root, RoleTargets, k.targets.meta))
	if next.equal(k.numbers) {
		return nil
	}
	data, err := release.Numbers(next).Encode()
	if err != nil {
		return err
	}
	k.numbers = next
	return c.saveState(k, numbersFile, data)
}

// Head fetches the head of a choice and verifies it. A choice that is not listed has none.
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

// OpenHead verifies and parses a head. Its bytes must be those that the entry names, and it must be made for the entry's
// product, channel, target and number. Errors are *Error, *release.FormatError or release.ErrNewFormat.
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

// Root describes the trusted root.
func (c *Client) Root() RootInfo { return infoOf(c.current().root) }
