package trust

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
)

const (
	// MaxRoot is the size of the largest root.json in bytes: 64 keys of some 300 bytes and as many signatures.
	MaxRoot = 64 << 10
	// MaxTimestamp is the size of the largest timestamp.json in bytes: one reference and eight signatures. Ours has less than 500.
	MaxTimestamp = 4 << 10
	// MaxSnapshot is the size of the largest snapshot.json in bytes: the same.
	MaxSnapshot = 4 << 10
	// MaxTargets is the size of the largest targets.json in bytes: release.MaxEntries of some 300 bytes.
	MaxTargets = 2 << 20
	// maxVersion is the largest version of a document, see release.MaxNumber.
	maxVersion = release.MaxNumber

	rootFile      = "root.json"
	timestampFile = "timestamp.json"
	snapshotFile  = "snapshot.json"
	targetsFile   = "targets.json"
	// metadataFolder holds the metadata in a release folder.
	metadataFolder = "metadata/"
	// developmentField of a root lists the ids of development keys.
	developmentField = "x-development"
)

type (
	rootMeta      = metadata.Metadata[metadata.RootType]
	timestampMeta = metadata.Metadata[metadata.TimestampType]
	snapshotMeta  = metadata.Metadata[metadata.SnapshotType]
	targetsMeta   = metadata.Metadata[metadata.TargetsType]
)

// numbered prefixes the name of a document with its version, as consistent snapshots demand.
func numbered(version int64, file string) string { return strconv.FormatInt(version, 10) + "." + file }

// verified checks the signatures of a document against root, and then this program's restrictions. Every document from
// outside must pass it before use.
func verified[T metadata.Roles](root *rootMeta, role KeyRole, document string, data []byte, fit func(*T) string) (*metadata.Metadata[T], error) {
	if err := checkJSON(data); err != nil {
		return nil, &Error{Document: document, Fault: FaultMalformed, Err: err}
	}
	m, err := new(metadata.Metadata[T]).FromBytes(data)
	if err != nil {
		return nil, &Error{Document: document, Fault: FaultMalformed, Err: err}
	}
	if err := root.VerifyDelegate(string(role), m); err != nil {
		return nil, &Error{Document: document, Fault: FaultUnsigned, Err: err}
	}
	if reason := fit(&m.Signed); reason != "" {
		return nil, &Error{Document: document, Fault: FaultUnfit, Err: errors.New(reason)}
	}
	return m, nil
}

// parseRoot reads a root and checks that it is signed by its own keys. It does not check whether these keys are trusted.
func parseRoot(document string, data []byte) (*rootMeta, error) {
	if len(data) > MaxRoot {
		return nil, &Error{Document: document, Fault: FaultTooLong}
	}
	if err := checkJSON(data); err != nil {
		return nil, &Error{Document: document, Fault: FaultMalformed, Err: err}
	}
	m, err := metadata.Root().FromBytes(data)
	if err != nil {
		return nil, &Error{Document: document, Fault: FaultMalformed, Err: err}
	}
	if reason := checkRoot(&m.Signed); reason != "" {
		return nil, &Error{Document: document, Fault: FaultUnfit, Err: errors.New(reason)}
	}
	if err := m.VerifyDelegate(metadata.ROOT, m); err != nil {
		return nil, &Error{Document: document, Fault: FaultUnsigned, Err: err}
	}
	return m, nil
}

// nextRoot verifies the successor of old: its version is one higher, and enough keys of the old root and of its own signed it.
func nextRoot(old *rootMeta, data []byte) (*rootMeta, error) {
	document := numbered(old.Signed.Version+1, rootFile)
	if len(data) > MaxRoot {
		return nil, &Error{Document: document, Fault: FaultTooLong}
	}
	if _, err := verified(old, RoleRoot, document, data, checkRoot); err != nil {
		return nil, err
	}
	trusted, err := trustedFrom(old)
	if err != nil {
		return nil, err
	}
	next, err := trusted.UpdateRoot(data)
	if err != nil {
		return nil, trustFault(document, err)
	}
	return next, nil
}

func checkRoot(r *metadata.RootType) string {
	if !r.ConsistentSnapshot {
		return "it has no consistent snapshots"
	}
	if r.Version < 1 || r.Version > maxVersion {
		return "its version is out of range"
	}
	for _, role := range KeyRoles() {
		keys := r.Roles[string(role)]
		if keys == nil || len(keys.KeyIDs) == 0 || len(keys.KeyIDs) > maxRoleKeys {
			return fmt.Sprintf("the role %s has no keys, or more than %d", role, maxRoleKeys)
		}
		if keys.Threshold < 1 || keys.Threshold > len(keys.KeyIDs) {
			return fmt.Sprintf("the threshold of %s is %d of %d keys", role, keys.Threshold, len(keys.KeyIDs))
		}
		for _, id := range keys.KeyIDs {
			if reason := checkKey(id, r.Keys[id]); reason != "" {
				return reason
			}
		}
	}
	return ""
}

func checkKey(id string, key *metadata.Key) string {
	if key == nil {
		return fmt.Sprintf("the key %q is missing", id)
	}
	if key.Type != metadata.KeyTypeEd25519 || key.Scheme != metadata.KeySchemeEd25519 || len(key.Value.PublicKey) != 2*ed25519.PublicKeySize {
		return fmt.Sprintf("the key %q is no Ed25519 key", id)
	}
	if _, err := hex.DecodeString(key.Value.PublicKey); err != nil {
		return fmt.Sprintf("the key %q is not hex", id)
	}
	if own, err := key.ID(); err != nil || own != id {
		return fmt.Sprintf("the key %q has another id", id)
	}
	return ""
}

func checkTimestamp(t *metadata.TimestampType) string {
	return checkReference(t.Version, t.Meta, snapshotFile, MaxSnapshot)
}

func checkSnapshot(s *metadata.SnapshotType) string {
	return checkReference(s.Version, s.Meta, targetsFile, MaxTargets)
}

// checkReference demands the digest and the length of one document.
func checkReference(version int64, meta map[string]*metadata.MetaFiles, file string, limit int64) string {
	ref := meta[file]
	switch {
	case version < 1 || version > maxVersion:
		return "its version is out of range"
	case ref == nil || len(meta) != 1:
		return "it does not name " + file + " alone"
	case ref.Version < 1 || ref.Version > maxVersion || ref.Length < 1 || ref.Length > limit:
		return "version or length of " + file + " is out of range"
	case len(ref.Hashes) != 1 || len(ref.Hashes["sha256"]) != 32:
		return "it names " + file + " without a SHA-256 digest, or with another one"
	default:
		return ""
	}
}

func checkTargets(t *metadata.TargetsType) string {
	if t.Version < 1 || t.Version > maxVersion {
		return "its version is out of range"
	}
	if t.Delegations != nil {
		return "it delegates, which no release folder of ours does"
	}
	if _, err := entriesOf(t); err != nil {
		return err.Error()
	}
	return ""
}

// referenced returns the reference to the next document, from a document that passed fitReference.
func referenced(meta map[string]*metadata.MetaFiles, file string) (version int64, o release.Object) {
	ref := meta[file]
	return ref.Version, release.Object{Sum: release.SHA256Digest([32]byte(ref.Hashes["sha256"])), Size: ref.Length}
}

// entriesOf reads the releases of the signed list, sorted.
func entriesOf(t *metadata.TargetsType) ([]release.Entry, error) {
	if len(t.Targets) > release.MaxEntries {
		return nil, fmt.Errorf("it lists more than %d releases", release.MaxEntries)
	}
	var entries []release.Entry
	for name, file := range t.Targets {
		e, taken, err := release.ParseEntryPath(name)
		if err == nil && taken {
			err = readEntry(&e, file)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("release %q: %w", name, err)
		case taken:
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, release.CompareEntries)
	return entries, nil
}

// mustEntries reads a list that was checked before.
func mustEntries(m *targetsMeta) []release.Entry {
	entries, err := entriesOf(&m.Signed)
	if err != nil {
		panic("trust: internal error: a list that was verified can't be read: " + err.Error())
	}
	return entries
}

// readEntry reads the fields beside the path.
func readEntry(e *release.Entry, file *metadata.TargetFiles) error {
	if len(file.Hashes) != 1 || len(file.Hashes["sha256"]) != 32 || file.Custom == nil {
		return errors.New("it lacks a SHA-256 digest or its conditions")
	}
	e.Head = release.Object{Sum: release.SHA256Digest([32]byte(file.Hashes["sha256"])), Size: file.Length}
	return e.ReadConditions(*file.Custom)
}

// targetFileOf is the entry in the form of TUF's library.
func targetFileOf(e release.Entry) (*metadata.TargetFiles, error) {
	custom, err := e.Conditions()
	if err != nil {
		return nil, err
	}
	sum, _ := e.Head.Sum.SHA256()
	return &metadata.TargetFiles{Length: e.Head.Size, Hashes: metadata.Hashes{"sha256": sum[:]}, Custom: (*rawJSON)(&custom)}, nil
}
