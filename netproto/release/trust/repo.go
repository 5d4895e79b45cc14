package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
)

// Validity is how long the signatures of each role are valid.
type Validity struct {
	Root      time.Duration // a year: people hold a signing ceremony, and stay in practice with one a year
	Targets   time.Duration // a year: a finished game need not be released again
	Snapshot  time.Duration // 90 days, renewed after half of it, because each new one costs every client another file
	Timestamp time.Duration // 14 days: the longest time for which an attacker can hide a release from a client unnoticed
}

// DefaultValidity is the default of RepoOptions.Validity; it replaces zero fields.
func DefaultValidity() Validity {
	const day = 24 * time.Hour
	return Validity{Root: 365 * day, Targets: 365 * day, Snapshot: 90 * day, Timestamp: 14 * day}
}

// ErrUnfinished says that a new root was installed but the rest was not signed again: call InstallRoot with it once more.
var ErrUnfinished = errors.New("a rotation of keys was interrupted; install the same root again to finish it")

// Repo is the publisher's side of TUF: the metadata in a release folder. A change is written file by file, and readers
// see either the old or the new state: timestamp.json, which names all others, is written last. A Repo is used by one
// goroutine. One Repo writes to a folder at a time; the caller holds the lock.
type Repo struct {
	store    Store
	now      func() time.Time
	validity Validity
	allow    Allow

	root      *rootMeta
	rootData  []byte
	timestamp *timestampMeta
	snapshot  *snapshotMeta
	targets   *targetsMeta
	rules     []StatedRules // that the timestamp names
	pending   bool          // the folder has a newer root that the rest is not signed by
}

// RepoOptions configure a Repo. The zero value is the strictest.
type RepoOptions struct {
	Now      func() time.Time // time.Now if nil
	Validity Validity
	Allow    Allow
}

func newRepo(store Store, o RepoOptions) (*Repo, error) {
	r := &Repo{store: store, now: o.Now, validity: o.Validity, allow: o.Allow}
	if r.now == nil {
		r.now = time.Now
	}
	d := DefaultValidity()
	for _, v := range []struct {
		own     *time.Duration
		usual   time.Duration
		longest time.Duration
	}{
		{&r.validity.Root, d.Root, 10 * d.Root}, {&r.validity.Targets, d.Targets, 10 * d.Targets},
		{&r.validity.Snapshot, d.Snapshot, d.Targets}, {&r.validity.Timestamp, d.Timestamp, MaxTimestampTime},
	} {
		if *v.own == 0 {
			*v.own = v.usual
		}
		if *v.own < time.Hour || *v.own > v.longest {
			return nil, fmt.Errorf("a signature can't last %v: want from an hour to %v", *v.own, v.longest)
		}
	}
	return r, nil
}

// expiry is the expiry of a signature made now, in whole seconds.
func (r *Repo) expiry(d time.Duration) time.Time { return r.now().UTC().Add(d).Truncate(time.Second) }

// CreateRepo creates the metadata of an empty release folder: a root with these keys, and an empty list of releases.
// signers must reach the threshold of every role.
func CreateRepo(store Store, plan RootPlan, signers []*PrivateKey, o RepoOptions) (*Repo, error) {
	r, err := newRepo(store, o)
	if err != nil {
		return nil, err
	}
	if _, err := store.Load(metadataFolder+timestampFile, MaxTimestamp); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(errors.New("this release folder is set up already"), err)
	}
	draft, err := plan.draft(nil, r.expiry(r.validity.Root))
	if err != nil {
		return nil, err
	}
	if err := sign(draft, draft, RoleRoot, signers); err != nil {
		return nil, err
	}
	data, err := draft.ToBytes(false)
	if err != nil {
		return nil, fmt.Errorf("write root: %w", err)
	}
	if r.root, err = parseRoot(rootFile, data); err != nil {
		return nil, err
	}
	if err := infoOf(r.root).Check(r.allow); err != nil {
		return nil, err
	}
	r.rootData = data
	r.targets, r.snapshot, r.timestamp = metadata.Targets(), metadata.Snapshot(), metadata.Timestamp()
	r.targets.Signed.Version, r.snapshot.Signed.Version, r.timestamp.Signed.Version = 0, 0, 0
	return r, r.write(change{root: data, targets: true, snapshot: true}, signers)
}

// OpenRepo reads the metadata of a release folder and checks all of it against the newest root there. After an
// interrupted rotation of keys it opens the state before, see ErrUnfinished.
func OpenRepo(store Store, o RepoOptions) (*Repo, error) {
	r, err := newRepo(store, o)
	if err != nil {
		return nil, err
	}
	roots, err := r.loadRoots()
	if err != nil {
		return nil, err
	}
	last := len(roots) - 1
	err = r.open(roots[last])
	if err != nil && last > 0 {
		if r.open(roots[last-1]) == nil {
			r.pending, err = true, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open release folder: %w", err)
	}
	return r, nil
}

// loadRoots reads the chain of roots from the oldest stored one.
func (r *Repo) loadRoots() (chain [][]byte, err error) {
	var root *rootMeta
	for version := int64(1); ; version++ {
		name := numbered(version, rootFile)
		data, err := r.store.Load(metadataFolder+name, MaxRoot)
		if errors.Is(err, fs.ErrNotExist) && version > 1 {
			return chain, nil
		}
		if err != nil {
			return nil, fmt.Errorf("open release folder: %w", err)
		}
		if version == 1 {
			root, err = parseRoot(name, data)
		} else {
			root, err = nextRoot(root, data)
		}
		if err != nil {
			return nil, fmt.Errorf("open release folder: %w", err)
		}
		chain = append(chain, data)
	}
}

// open reads the documents below a root.
func (r *Repo) open(rootData []byte) (err error) {
	if r.root, err = parseRoot(rootFile, rootData); err != nil {
		return err
	}
	r.rootData = rootData
	data, err := r.store.Load(metadataFolder+timestampFile, MaxTimestamp)
	if err != nil {
		return err
	}
	if r.timestamp, err = verified(r.root, RoleTimestamp, timestampFile, data, checkTimestamp); err != nil {
		return err
	}
	r.rules = statedRules(r.timestamp.Signed.UnrecognizedFields)
	version, o := referenced(r.timestamp.Signed.Meta, snapshotFile)
	if r.snapshot, err = loadNamed(r, RoleSnapshot, numbered(version, snapshotFile), o, checkSnapshot); err != nil {
		return err
	}
	version, o = referenced(r.snapshot.Signed.Meta, targetsFile)
	r.targets, err = loadNamed(r, RoleTargets, numbered(version, targetsFile), o, checkTargets)
	return err
}

func loadNamed[T metadata.Roles](r *Repo, role KeyRole, name string, o release.Object, fit func(*T) string) (*metadata.Metadata[T], error) {
	data, err := r.store.Load(metadataFolder+name, o.Size)
	if err != nil {
		return nil, err
	}
	if err := o.Verify(data); err != nil {
		return nil, &Error{Document: name, Fault: FaultMixed, Err: err}
	}
	return verified(r.root, role, name, data, fit)
}

// Entries returns the releases, sorted by product, channel, target and number.
func (r *Repo) Entries() []release.Entry { return mustEntries(r.targets) }

// SetEntries replaces the list of releases. The highest number of each product, channel and target must not decrease,
// the content of a number never changes, and a killed release stays killed. signers must reach the thresholds of
// targets, snapshot and timestamp.
func (r *Repo) SetEntries(entries []release.Entry, signers []*PrivateKey) error {
	if r.pending {
		return ErrUnfinished
	}
	next, err := checkedTargets(r.Entries(), entries)
	if err != nil {
		return err
	}
	old := r.targets.Signed.Targets
	r.targets.Signed.Targets = next
	if err := r.write(change{targets: true, snapshot: true}, signers); err != nil {
		r.targets.Signed.Targets = old
		return err
	}
	return nil
}

// checkedTargets checks a new list against the one before.
func checkedTargets(before, entries []release.Entry) (map[string]*metadata.TargetFiles, error) {
	if len(entries) > release.MaxEntries {
		return nil, fmt.Errorf("%d releases are listed; a list may hold %d", len(entries), release.MaxEntries)
	}
	list := map[string]*metadata.TargetFiles{}
	for _, e := range entries {
		target, err := targetFileOf(e)
		if err != nil {
			return nil, fmt.Errorf("release %s %w", e.Path(), err)
		}
		if list[e.Path()] != nil {
			return nil, fmt.Errorf("release %s is listed twice", e.Path())
		}
		list[e.Path()] = target
	}
	for _, old := range before {
		i := slices.IndexFunc(entries, func(e release.Entry) bool { return e.Path() == old.Path() })
		top, _ := release.Highest(entries, func(e release.Entry) bool { return e.Track() == old.Track() })
		switch {
		case top.Number < old.Number:
			return nil, fmt.Errorf("release %s can't go: numbers rise for ever, and players remember this one", old.Path())
		case i >= 0 && entries[i].Head != old.Head:
			return nil, fmt.Errorf("release %s is another one already; take a higher number", old.Path())
		case i >= 0 && old.Killed && !entries[i].Killed:
			return nil, fmt.Errorf("release %s was killed and stays so; take a higher number", old.Path())
		}
	}
	return list, nil
}

// Refresh signs the timestamp again, and other documents past half of their validity if these keys can sign them. Call
// it every day. signers must reach the threshold of timestamp.
func (r *Repo) Refresh(signers []*PrivateKey) error {
	if r.pending {
		return ErrUnfinished
	}
	lists := meetsThreshold(r.root, RoleSnapshot, signers)
	targets := lists && r.halfOver(r.targets.Signed.Expires, r.validity.Targets) && meetsThreshold(r.root, RoleTargets, signers)
	snapshot := lists && (targets || r.halfOver(r.snapshot.Signed.Expires, r.validity.Snapshot))
	return r.write(change{targets: targets, snapshot: snapshot}, signers)
}

func (r *Repo) halfOver(expires time.Time, d time.Duration) bool { return expires.Sub(r.now()) < d/2 }

// Expiries returns when each role's signature expires.
func (r *Repo) Expiries() map[KeyRole]time.Time {
	return map[KeyRole]time.Time{
		RoleRoot: r.root.Signed.Expires, RoleTargets: r.targets.Signed.Expires,
		RoleSnapshot: r.snapshot.Signed.Expires, RoleTimestamp: r.timestamp.Signed.Expires,
	}
}

// Lists names the documents that the timestamp leads to, as paths in the release folder, in the order in which clients read them.
func (r *Repo) Lists() []string {
	return []string{
		metadataFolder + numbered(r.snapshot.Signed.Version, snapshotFile), ListPath(r.Version()),
	}
}

// SignedList reads the signed list of releases, as Lists names it last.
func (r *Repo) SignedList() ([]byte, error) {
	return r.store.Load(ListPath(r.Version()), MaxTargets)
}

// maxEarlierLists is how many signed lists FirstListed reads at most: each change of the list makes one.
const maxEarlierLists = 64

// FirstListed returns the version of the first signed list with a release, by the release's path, also for releases that have
// left the list since. It reads the lists that are still there, without verifying them. Releases in the oldest of these may have
// been listed before, and have 0, unless it is the first list of all.
func (r *Repo) FirstListed() map[string]int64 {
	first := map[string]int64{}
	oldest := r.Version() + 1
	for oldest > 1 && oldest > r.Version()+1-maxEarlierLists {
		data, err := r.store.Load(ListPath(oldest-1), MaxTargets)
		var list struct {
			Signed struct{ Targets map[string]struct{} }
		}
		if err != nil || json.Unmarshal(data, &list) != nil {
			break
		}
		oldest--
		for path := range list.Signed.Targets {
			first[path] = oldest
		}
	}
	for path, version := range first {
		if version == oldest && oldest > 1 {
			first[path] = 0
		}
	}
	return first
}

// Version is the version of the signed list of releases.
func (r *Repo) Version() int64 { return r.targets.Signed.Version }

// Root is the newest root.json, to be built into clients.
func (r *Repo) Root() []byte { return slices.Clone(r.rootData) }

// RootInfo describes the newest root.
func (r *Repo) RootInfo() RootInfo { return infoOf(r.root) }
