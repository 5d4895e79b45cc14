package trust

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
)

// maxLeft is how many leftover files of interrupted publications are skipped.
const maxLeft = 1000

// change says which documents are signed again; the timestamp always is. A change of targets implies snapshot.
type change struct {
	root              []byte // a new root, or nil
	targets, snapshot bool
	proposed          *targetsMeta // instead of targets: this list, which has its signatures already, as proposal has it
	proposal          []byte
	rules             *[]StatedRules // that the timestamp names from now on; nil: the same
}

// file is a file to be written.
type file struct {
	name string
	data []byte
}

// write first signs everything and then writes: the lists under unused version numbers, the new root, and last the
// timestamp, which makes all of it visible at once.
func (r *Repo) write(c change, signers []*PrivateKey) error {
	before := *r
	files, err := r.prepare(c, signers)
	if err != nil {
		r.restore(before)
		return err
	}
	for _, f := range files {
		if err := r.store.Save(metadataFolder+f.name, f.data); err != nil {
			r.restore(before)
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return nil
}

// restore returns to the earlier documents; prepare works on copies.
func (r *Repo) restore(before Repo) { *r = before }

func (r *Repo) prepare(c change, signers []*PrivateKey) (files []file, err error) {
	if c.targets {
		next := *r.targets
		if next.Signed.Version, err = r.nextVersion(next.Signed.Version, targetsFile, MaxTargets); err != nil {
			return nil, err
		}
		next.Signed.Expires, next.Signatures = r.expiry(r.validity.Targets), nil
		f, err := signDocument(r.root, RoleTargets, &next, next.Signed.Version, targetsFile, MaxTargets, signers)
		if err != nil {
			return nil, err
		}
		r.targets, files = &next, append(files, f)
	}
	if c.proposed != nil { // a leftover file of that version was never referred to, so it may be replaced
		r.targets, files = c.proposed, append(files, file{numbered(c.proposed.Signed.Version, targetsFile), c.proposal})
	}
	if c.snapshot {
		next := *r.snapshot
		if next.Signed.Version, err = r.nextVersion(next.Signed.Version, snapshotFile, MaxSnapshot); err != nil {
			return nil, err
		}
		if len(files) > 0 {
			next.Signed.Meta = reference(targetsFile, r.targets.Signed.Version, files[0].data)
		}
		next.Signed.Expires, next.Signatures = r.expiry(r.validity.Snapshot), nil
		f, err := signDocument(r.root, RoleSnapshot, &next, next.Signed.Version, snapshotFile, MaxSnapshot, signers)
		if err != nil {
			return nil, err
		}
		r.snapshot, files = &next, append(files, f)
	}
	next := *r.timestamp
	if c.snapshot {
		next.Signed.Meta = reference(snapshotFile, r.snapshot.Signed.Version, files[len(files)-1].data)
	}
	next.Signed.Version++
	next.Signed.Expires, next.Signatures = r.expiry(r.validity.Timestamp), nil
	next.Signed.UnrecognizedFields = map[string]any{newestRootField: r.root.Signed.Version}
	if c.rules != nil {
		r.rules = *c.rules
	}
	if rules := r.Rules(); len(rules) > 0 {
		next.Signed.UnrecognizedFields[rulesField] = encodeRules(rules)
	}
	last, err := signDocument(r.root, RoleTimestamp, &next, 0, timestampFile, MaxTimestamp, signers)
	if err != nil {
		return nil, err
	}
	r.timestamp = &next
	if c.root != nil {
		files = append(files, file{numbered(r.root.Signed.Version, rootFile), c.root})
	}
	return append(files, last), nil
}

// nextVersion is the next version without a file. An interrupted publication leaves unreferenced files, and caches may hold them.
func (r *Repo) nextVersion(version int64, name string, limit int64) (int64, error) {
	for range maxLeft {
		version++
		_, err := r.store.Load(metadataFolder+numbered(version, name), limit)
		if errors.Is(err, fs.ErrNotExist) {
			return version, nil
		}
		if err != nil && !errors.Is(err, ErrTooLong) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%d files up to %s lie in the release folder and nothing refers to them; remove them", maxLeft, numbered(version, name))
}

func reference(name string, version int64, data []byte) map[string]*metadata.MetaFiles {
	sum, _ := release.ObjectOf(data).Sum.SHA256()
	return map[string]*metadata.MetaFiles{name: {Version: version, Length: int64(len(data)), Hashes: metadata.Hashes{"sha256": sum[:]}}}
}

// signDocument signs a document and returns its file; version 0 is the one without a number.
func signDocument[T metadata.Roles](root *rootMeta, role KeyRole, m *metadata.Metadata[T], version int64, name string, limit int, signers []*PrivateKey) (file, error) {
	if err := sign(root, m, role, signers); err != nil {
		return file{}, err
	}
	data, err := m.ToBytes(false)
	if err != nil {
		return file{}, fmt.Errorf("write %s: %w", name, err)
	}
	if len(data) > limit {
		return file{}, fmt.Errorf("write %s: it would have %d bytes, more than %d; drop old releases from the list", name, len(data), limit)
	}
	if version > 0 {
		name = numbered(version, name)
	}
	return file{name, data}, nil
}

// KeysError says that the given keys do not reach the threshold of a role.
type KeysError struct {
	Role       KeyRole
	Have, Need int
}

func (e *KeysError) Error() string {
	return fmt.Sprintf("%d of the keys at hand may sign as %s, and it takes %d", e.Have, e.Role, e.Need)
}

// usableKeys returns the keys that root lets sign for a role.
func usableKeys(root *rootMeta, role KeyRole, keys []*PrivateKey) (fit []*PrivateKey) {
	seen := map[string]bool{}
	for _, id := range root.Signed.Roles[string(role)].KeyIDs {
		seen[id] = true
	}
	for _, k := range keys {
		if id := k.Public().ID(); seen[id] {
			fit, seen[id] = append(fit, k), false
		}
	}
	return fit
}

func meetsThreshold(root *rootMeta, role KeyRole, keys []*PrivateKey) bool {
	return len(usableKeys(root, role, keys)) >= root.Signed.Roles[string(role)].Threshold
}

// sign adds the signatures of all keys that root lets sign for the role.
func sign[T metadata.Roles](root *rootMeta, m *metadata.Metadata[T], role KeyRole, keys []*PrivateKey) error {
	fit, need := usableKeys(root, role, keys), root.Signed.Roles[string(role)].Threshold
	if len(fit) < need {
		return &KeysError{Role: role, Have: len(fit), Need: need}
	}
	for _, k := range fit {
		if err := addSignature(m, role, k); err != nil {
			return err
		}
	}
	return nil
}

// addSignature adds the signature of one key.
func addSignature[T metadata.Roles](m *metadata.Metadata[T], role KeyRole, k *PrivateKey) error {
	s := k.signer()
	if _, err := m.Sign(s); err != nil {
		return fmt.Errorf("sign as %s: %w", role, cmp.Or(s.fault, err))
	}
	return nil
}
