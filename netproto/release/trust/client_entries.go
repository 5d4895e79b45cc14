package trust

import (
	"slices"
	"time"

	"collet/netproto/release"
)

// Entries returns all releases of the newest verified list, sorted by product, channel, target and number. Servers of a
// whole release folder use it. Before anything was verified the error is ErrNothingKnown.
func (c *Client) Entries() ([]release.Entry, error) {
	k := c.current()
	if k.targets.meta == nil {
		return nil, ErrNothingKnown
	}
	return slices.Clone(k.entries), nil
}

// Document is one verified document of metadata.
type Document struct {
	Name    string // path in the release folder: "metadata/timestamp.json", "metadata/12.snapshot.json", …
	Version int64
	Data    []byte // the signed bytes; read-only
}

// Documents returns the newest verified timestamp, snapshot and list of releases, in this order. Until all are known the
// error is ErrNothingKnown.
func (c *Client) Documents() ([3]Document, error) {
	k := c.current()
	if k.timestamp.meta == nil || k.snapshot.meta == nil || k.targets.meta == nil {
		return [3]Document{}, ErrNothingKnown
	}
	snapshot, targets := k.snapshot.meta.Signed.Version, k.targets.meta.Signed.Version
	return [3]Document{
		{metadataFolder + timestampFile, k.timestamp.meta.Signed.Version, k.timestamp.data},
		{metadataFolder + numbered(snapshot, snapshotFile), snapshot, k.snapshot.data},
		{metadataFolder + numbered(targets, targetsFile), targets, k.targets.data},
	}, nil
}

// Expiries returns when the newest verified document of each role expires. Until all are known the error is ErrNothingKnown.
func (c *Client) Expiries() (map[KeyRole]time.Time, error) {
	k := c.current()
	if k.timestamp.meta == nil || k.snapshot.meta == nil || k.targets.meta == nil {
		return nil, ErrNothingKnown
	}
	return map[KeyRole]time.Time{
		RoleRoot: k.root.Signed.Expires, RoleTargets: k.targets.meta.Signed.Expires,
		RoleSnapshot: k.snapshot.meta.Signed.Expires, RoleTimestamp: k.timestamp.meta.Signed.Expires,
	}, nil
}
