package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/theupdateframework/go-tuf/v2/metadata"
	"github.com/theupdateframework/go-tuf/v2/metadata/trustedmetadata"
)

// fetch gets one file and holds the fetcher to the limit.
func fetch(ctx context.Context, f Fetcher, name string, limit int64) (Unverified, error) {
	u, err := f.Fetch(ctx, name, limit)
	switch {
	case errors.Is(err, ErrTooLong), err == nil && int64(u.Len()) > limit:
		return Unverified{}, &TrustError{Document: path.Base(name), Fault: FaultTooLong, Err: fmt.Errorf("more than %d bytes", limit)}
	case err != nil:
		return Unverified{}, fmt.Errorf("fetch %s: %w", name, err)
	default:
		return u, ctx.Err()
	}
}

// answer is what one fetch gave.
type answer struct {
	bytes Unverified
	err   error
}

// first asks for the next root and for the timestamp together, so that the usual answer costs one round trip.
func first(ctx context.Context, f Fetcher, version int64) (root, timestamp answer) {
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

// refresh walks TUF's client workflow and makes what it verified known, step by step.
func (t *Trust) refresh(ctx context.Context, f Fetcher) error {
	version := t.knowing().root.Signed.Version
	root, timestamp := first(ctx, f, version+1)
	if err := t.takeRoots(ctx, f, root); err != nil {
		return err
	}
	if t.knowing().root.Signed.Version != version { // the timestamp may be from before the new root
		u, err := fetch(ctx, f, metadataFolder+timestampFile, MaxTimestamp)
		timestamp = answer{u, err}
	}
	if timestamp.err != nil {
		return timestamp.err
	}
	trusted, err := trustedFrom(t.knowing().root)
	if err != nil {
		return err
	}
	if err := t.takeTimestamp(trusted, timestamp.bytes); err != nil {
		return err
	}
	if err := t.takeSnapshot(ctx, f, trusted); err != nil {
		return err
	}
	return t.takeTargets(ctx, f, trusted)
}

// takeRoots follows new roots one by one. Each is kept before the next is asked for.
func (t *Trust) takeRoots(ctx context.Context, f Fetcher, next answer) error {
	for range maxRootSteps + 1 { // the last one must not exist
		if errors.Is(next.err, fs.ErrNotExist) {
			return nil
		}
		if next.err != nil {
			return next.err
		}
		k := t.knowing()
		root, err := nextRoot(k.root, next.bytes.data)
		if err != nil {
			return t.refuse(rootFile, next.bytes, err)
		}
		k = k.under(root, func(string) {})
		if err := t.learn(k, numbered(root.Signed.Version, rootFile), next.bytes.data); err != nil {
			return err
		}
		next = fetchRoot(ctx, f, root.Signed.Version+1)
	}
	return fmt.Errorf("more than %d new roots at once; the next try goes on from there", maxRootSteps)
}

// refuse keeps bytes that were not believed for whoever looks into it, under a name that says so.
func (t *Trust) refuse(name string, u Unverified, err error) error {
	var fault *TrustError
	if !errors.As(err, &fault) || fault.Fault == FaultTooLong {
		return err
	}
	if kept := t.store.Save(name+UnverifiedSuffix, u.data); kept != nil {
		return errors.Join(err, fmt.Errorf("keep what was refused: %w", kept))
	}
	return err
}

// takeTimestamp verifies the timestamp against what was known of it.
func (t *Trust) takeTimestamp(trusted *trustedmetadata.TrustedMetadata, u Unverified) error {
	k := t.knowing()
	if k.timestamp.data != nil {
		if _, err := trusted.UpdateTimestamp(k.timestamp.data); err != nil {
			return trustFault(timestampFile, err)
		}
	}
	if _, err := verified(k.root, RoleTimestamp, timestampFile, u.data, fitTimestamp); err != nil {
		return t.refuse(timestampFile, u, err)
	}
	meta, err := trusted.UpdateTimestamp(u.data)
	if errors.Is(err, &metadata.ErrEqualVersionNumber{}) {
		return nil // nothing new; what is known stays, even if other bytes came
	}
	if err != nil {
		return t.refuse(timestampFile, u, trustFault(timestampFile, err))
	}
	k.timestamp = document[metadata.TimestampType]{u.data, meta}
	return t.learn(k, timestampFile, u.data)
}

// takeSnapshot fetches the snapshot that the timestamp names, unless it is known.
func (t *Trust) takeSnapshot(ctx context.Context, f Fetcher, trusted *trustedmetadata.TrustedMetadata) error {
	k := t.knowing()
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
		_, err = verified(k.root, RoleSnapshot, name, data, fitSnapshot)
	}
	if err != nil {
		return t.refuse(snapshotFile, u, err)
	}
	meta, err := trusted.UpdateSnapshot(data, false)
	if err != nil {
		return t.refuse(snapshotFile, u, trustFault(name, err))
	}
	k.snapshot = document[metadata.SnapshotType]{data, meta}
	return t.learn(k, snapshotFile, data)
}

// fetchNamed fetches a document of which digest and length are known.
func fetchNamed(ctx context.Context, f Fetcher, name string, o Object) (u Unverified, data []byte, err error) {
	if u, err = fetch(ctx, f, metadataFolder+name, o.Size); err != nil {
		return u, nil, err
	}
	if data, err = u.Verify(o); err != nil {
		return u, nil, &TrustError{Document: name, Fault: FaultMixed, Err: err}
	}
	return u, data, nil
}

// takeTargets fetches the list that the snapshot names, unless it is known, and holds it to the numbers seen before.
func (t *Trust) takeTargets(ctx context.Context, f Fetcher, trusted *trustedmetadata.TrustedMetadata) error {
	k := t.knowing()
	version, o := referenced(trusted.Snapshot.Signed.Meta, targetsFile)
	if k.targets.data != nil && o.Verify(k.targets.data) == nil {
		return nil
	}
	name := numbered(version, targetsFile)
	u, data, err := fetchNamed(ctx, f, name, o)
	if err == nil {
		_, err = verified(k.root, RoleTargets, name, data, fitTargets)
	}
	if err != nil {
		return t.refuse(targetsFile, u, err)
	}
	meta, err := trusted.UpdateTargets(data)
	if err != nil {
		return t.refuse(targetsFile, u, trustFault(name, err))
	}
	if err := k.risen(name, meta); err != nil {
		return t.refuse(targetsFile, u, err)
	}
	k.targets, k.entries = document[metadata.TargetsType]{data, meta}, mustEntries(meta)
	return t.learn(k, targetsFile, data)
}

// risen wants no version and no number to be lower than before.
func (k knowledge) risen(name string, next *targetsMeta) error {
	if k.targets.meta != nil && next.Signed.Version < k.targets.meta.Signed.Version {
		return &TrustError{Document: name, Fault: FaultRolledBack, Err: fmt.Errorf("version %d after %d", next.Signed.Version, k.targets.meta.Signed.Version)}
	}
	entries := mustEntries(next)
	for _, seen := range k.numbers.floors {
		top, _ := highest(entries, func(e Entry) bool { return e.line() == seen.line() })
		if top.Number < seen.Number {
			return &TrustError{Document: name, Fault: FaultRolledBack, Err: fmt.Errorf("release %s was seen, and the highest is %d", seen.Path(), top.Number)}
		}
	}
	return nil
}
