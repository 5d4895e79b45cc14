package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"

	"collet/netproto/release"
)

// fetch fetches one file, and enforces the limit on the fetcher.
func fetch(ctx context.Context, f Fetcher, name string, limit int64) (Unverified, error) {
	u, err := f.Fetch(ctx, name, limit)
	switch {
	case errors.Is(err, ErrTooLong), err == nil && int64(u.Len()) > limit:
		return Unverified{}, &Error{Document: path.Base(name), Fault: FaultTooLong, Err: fmt.Errorf("more than %d bytes", limit)}
	case err != nil:
		return Unverified{}, fmt.Errorf("fetch %s: %w", name, err)
	default:
		return u, ctx.Err()
	}
}

// answer is the result of one fetch.
type answer struct {
	bytes Unverified
	err   error
}

// fetchFirst fetches the next root and the timestamp concurrently, so that both cost one round trip.
func fetchFirst(ctx context.Context, f Fetcher, version int64) (root, timestamp answer) {
	done := make(chan answer)
	go func() {
		u, err := fetch(ctx, f, metadataFolder+timestampFile, MaxTimestamp)
		done <- answer{u, err}
	}()
	root = fetchRoot(ctx, f, version)
	return root, <-done
}

func fetchRoot(ctx context.Context, f Fetcher, version int64) answer {
	u, err := fetch(ctx, f, metadataFolder+numbered(version, rootFile), MaxRoot)
	return answer{u, err}
}

// refresh runs TUF's client workflow and updates the verified state with each step. It skips the question for the next root if the
// timestamp states that there is none and the question is not overdue, see newest.go.
func (c *Client) refresh(ctx context.Context, f Fetcher) error {
	version := c.current().root.Signed.Version
	overdue := rootOverdue(c.current().asked, c.now())
	var root, timestamp answer
	if overdue {
		root, timestamp = fetchFirst(ctx, f, version+1)
	} else {
		u, err := fetch(ctx, f, metadataFolder+timestampFile, MaxTimestamp)
		timestamp = answer{u, err}
		if err != nil {
			return err
		}
	}
	if (!overdue || unanswered(ctx, root.err)) && timestamp.err == nil && c.statesNewest(timestamp.bytes) {
		err := c.updateLists(ctx, f, timestamp.bytes)
		var rejected *Error
		if overdue || !errors.As(err, &rejected) {
			return err
		}
		if root = fetchRoot(ctx, f, version+1); errors.Is(root.err, fs.ErrNotExist) {
			return err
		}
	} else if !overdue {
		root = fetchRoot(ctx, f, version+1)
	}
	if err := c.updateRoots(ctx, f, root); err != nil {
		return err
	}
	if c.current().root.Signed.Version != version { // the timestamp may be older than the new root
		u, err := fetch(ctx, f, metadataFolder+timestampFile, MaxTimestamp)
		timestamp = answer{u, err}
	}
	if timestamp.err != nil {
		return timestamp.err
	}
	if err := c.updateLists(ctx, f, timestamp.bytes); err != nil {
		return err
	}
	return c.saveAsked(timestamp.bytes)
}

// updateLists follows a timestamp to the list of releases.
func (c *Client) updateLists(ctx context.Context, f Fetcher, timestamp Unverified) error {
	trusted, err := trustedFrom(c.current().root)
	if err != nil {
		return err
	}
	if err := c.updateTimestamp(trusted, timestamp); err != nil {
		return err
	}
	if err := c.updateSnapshot(ctx, f, trusted); err != nil {
		return err
	}
	return c.updateTargets(ctx, f, trusted)
}

// updateRoots follows new roots one by one. Each is saved before the next is fetched.
func (c *Client) updateRoots(ctx context.Context, f Fetcher, next answer) error {
	for range maxRootSteps + 1 { // the last one must not exist
		if errors.Is(next.err, fs.ErrNotExist) {
			return nil
		}
		if next.err != nil {
			return next.err
		}
		k := c.current()
		root, err := nextRoot(k.root, next.bytes.data)
		if err != nil {
			return c.reject(rootFile, next.bytes, err)
		}
		k = k.authenticatedBy(root, func(string) {})
		if err := c.saveState(k, numbered(root.Signed.Version, rootFile), next.bytes.data); err != nil {
			return err
		}
		next = fetchRoot(ctx, f, root.Signed.Version+1)
	}
	return fmt.Errorf("more than %d new roots at once; the next try goes on from there", maxRootSteps)
}

// reject saves rejected bytes for analysis, under a name that marks them as unverified.
func (c *Client) reject(name string, u Unverified, err error) error {
	var fault *Error
	if !errors.As(err, &fault) || fault.Fault == FaultTooLong {
		return err
	}
	if kept := c.store.Save(name+release.UnverifiedSuffix, u.data); kept != nil {
		return errors.Join(err, fmt.Errorf("keep what was refused: %w", kept))
	}
	return err
}

// updateTimestamp verifies the timestamp against the known one.
func (c *Client) updateTimestamp(trusted *trustedmetadata.TrustedMetadata, u Unverified) error {
	k := c.current()
	if k.timestamp.data != nil {
		if _, err := trusted.UpdateTimestamp(k.timestamp.data); err != nil {
			return trustFault(timestampFile, err)
		}
	}
	if _, err := verified(k.root, RoleTimestamp, timestampFile, u.data, checkTimestamp); err != nil {
		return c.reject(timestampFile, u, err)
	}
	meta, err := trusted.UpdateTimestamp(u.data)
	if errors.Is(err, &metadata.ErrEqualVersionNumber{}) {
		return nil // no new version: keep the known one, even if the bytes differ
	}
	if err != nil {
		return c.reject(timestampFile, u, trustFault(timestampFile, err))
	}
	k.timestamp = document[metadata.TimestampType]{u.data, meta}
	return c.saveState(k, timestampFile, u.data)
}

// updateSnapshot fetches the snapshot that the timestamp names, unless it is known.
func (c *Client) updateSnapshot(ctx context.Context, f Fetcher, trusted *trustedmetadata.TrustedMetadata) error {
	k := c.current()
	version, o := referenced(trusted.Timestamp.Signed.Meta, snapshotFile)
	if k.snapshot.data != nil {
		_, err := trusted.UpdateSnapshot(k.snapshot.data, true)
		if err == nil && o.Verify(k.snapshot.data) == nil {
			return nil
		}
		if err != nil && trusted.Snapshot == nil {
			return trustFault(snapshotFile, err)
		}
	}
	name := numbered(version, snapshotFile)
	u, data, err := fetchNamed(ctx, f, name, o)
	if err == nil {
		_, err = verified(k.root, RoleSnapshot, name, data, checkSnapshot)
	}
	if err != nil {
		return c.reject(snapshotFile, u, err)
	}
	meta, err := trusted.UpdateSnapshot(data, false)
	if err != nil {
		return c.reject(snapshotFile, u, trustFault(name, err))
	}
	k.snapshot = document[metadata.SnapshotType]{data, meta}
	return c.saveState(k, snapshotFile, data)
}

// fetchNamed fetches a document of known digest and length.
func fetchNamed(ctx context.Context, f Fetcher, name string, o release.Object) (u Unverified, data []byte, err error) {
	if u, err = fetch(ctx, f, metadataFolder+name, o.Size); err != nil {
		return u, nil, err
	}
	if data, err = u.Verify(o); err != nil {
		return u, nil, &Error{Document: name, Fault: FaultMixed, Err: err}
	}
	return u, data, nil
}

// updateTargets fetches the list that the snapshot names, unless it is known, and checks it against the known release numbers.
func (c *Client) updateTargets(ctx context.Context, f Fetcher, trusted *trustedmetadata.TrustedMetadata) error {
	k := c.current()
	version, o := referenced(trusted.Snapshot.Signed.Meta, targetsFile)
	if k.targets.data != nil && o.Verify(k.targets.data) == nil {
		return nil
	}
	name := numbered(version, targetsFile)
	u, data, err := fetchNamed(ctx, f, name, o)
	if err == nil {
		_, err = verified(k.root, RoleTargets, name, data, checkTargets)
	}
	if err != nil {
		return c.reject(targetsFile, u, err)
	}
	meta, err := trusted.UpdateTargets(data)
	if err != nil {
		return c.reject(targetsFile, u, trustFault(name, err))
	}
	if err := k.checkNotOlder(name, meta); err != nil {
		return c.reject(targetsFile, u, err)
	}
	k.targets, k.entries = document[metadata.TargetsType]{data, meta}, mustEntries(meta)
	return c.saveState(k, targetsFile, data)
}

// checkNotOlder rejects a list with a version or number lower than the known one.
func (k trustState) checkNotOlder(name string, next *targetsMeta) error {
	if k.targets.meta != nil && next.Signed.Version < k.targets.meta.Signed.Version {
		return &Error{Document: name, Fault: FaultRolledBack, Err: fmt.Errorf("version %d after %d", next.Signed.Version, k.targets.meta.Signed.Version)}
	}
	entries := mustEntries(next)
	for _, seen := range k.numbers.Seen {
		top, _ := release.Highest(entries, func(e release.Entry) bool { return e.Track() == seen.Track() })
		if top.Number < seen.Number {
			return &Error{Document: name, Fault: FaultRolledBack, Err: fmt.Errorf("release %s was seen, and the highest is %d", seen.Path(), top.Number)}
		}
	}
	return nil
}
