package trust

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/secure-systems-lab/go-securesystemslib/cjson"
	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
)

// A proposal is the next list of releases, signed by none, some or all of the keys that it takes. The holders of targets keys sign it on
// their own machines; the machine with the keys of snapshot and timestamp installs it:
//
//	Repo.ProposeEntries ─► SignProposal ─► … ─► SignProposal ─► Repo.InstallProposal
//
// It has the version that follows the list it was made from, so it can be installed only in that list's place.

// ListPath is the path of a signed list in a release folder.
func ListPath(version int64) string { return metadataFolder + numbered(version, targetsFile) }

// proposalName names a proposal in errors.
const proposalName = "proposed list"

// ProposeEntries writes the unsigned list that would follow the signed one. The conditions are those of SetEntries.
func (r *Repo) ProposeEntries(entries []release.Entry) ([]byte, error) {
	if r.pending {
		return nil, ErrUnfinished
	}
	list, err := checkedTargets(r.Entries(), entries)
	if err != nil {
		return nil, err
	}
	next := metadata.Targets(r.expiry(r.validity.Targets))
	next.Signed.Targets, next.Signed.Version = list, r.targets.Signed.Version+1
	data, err := next.ToBytes(false)
	if err != nil {
		return nil, fmt.Errorf("write proposal: %w", err)
	}
	if len(data) > MaxTargets {
		return nil, fmt.Errorf("write proposal: it would have %d bytes, more than %d; drop old releases from the list", len(data), MaxTargets)
	}
	return data, nil
}

// SignProposal adds the signature of one key, replacing an earlier one of the same key. root is the signed root that must name the key for
// targets.
func SignProposal(root, proposal []byte, key *PrivateKey) ([]byte, error) {
	r, m, err := readProposal(root, proposal)
	if err != nil {
		return nil, err
	}
	id := key.Public().ID()
	if !slices.Contains(r.Signed.Roles[string(RoleTargets)].KeyIDs, id) {
		return nil, fmt.Errorf("root %d does not let key %s sign releases", r.Signed.Version, id)
	}
	m.Signatures = slices.DeleteFunc(m.Signatures, func(s metadata.Signature) bool { return s.KeyID == id })
	if err := addSignature(m, RoleTargets, key); err != nil {
		return nil, err
	}
	return m.ToBytes(false)
}

// ProposalInfo describes a proposal or a signed list.
type ProposalInfo struct {
	Version int64
	Expires time.Time
	Entries []release.Entry // sorted
	Signers []string        // ids of the targets keys that signed it, sorted
	Need    int             // how many it takes
}

// DescribeProposal describes a proposal, or a signed list, for who has to decide about it. Only valid signatures of keys that root names for
// targets count. It does not check that the root is the right one.
func DescribeProposal(root, proposal []byte) (info ProposalInfo, err error) {
	r, m, err := readProposal(root, proposal)
	if err != nil {
		return info, err
	}
	role := r.Signed.Roles[string(RoleTargets)]
	return ProposalInfo{
		Version: m.Signed.Version, Expires: m.Signed.Expires, Entries: mustEntries(m), Signers: validSigners(r, m), Need: role.Threshold,
	}, nil
}

// validSigners are the ids of the targets keys whose signatures are valid.
func validSigners(root *rootMeta, m *targetsMeta) (ids []string) {
	role := root.Signed.Roles[string(RoleTargets)]
	for _, id := range role.KeyIDs {
		alone := *root
		alone.Signed.Roles = maps.Clone(root.Signed.Roles)
		alone.Signed.Roles[string(RoleTargets)] = &metadata.Role{KeyIDs: []string{id}, Threshold: 1}
		if alone.VerifyDelegate(string(RoleTargets), m) == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// readProposal reads a proposal and the root that it is to be signed under.
func readProposal(root, proposal []byte) (*rootMeta, *targetsMeta, error) {
	r, err := parseRoot(rootFile, root)
	if err != nil {
		return nil, nil, err
	}
	fault := func(fault Fault, err error) (*rootMeta, *targetsMeta, error) {
		return nil, nil, &Error{Document: proposalName, Fault: fault, Err: err}
	}
	if len(proposal) > MaxTargets {
		return fault(FaultTooLong, nil)
	}
	if err := checkJSON(proposal); err != nil {
		return fault(FaultMalformed, err)
	}
	m, err := metadata.Targets().FromBytes(proposal)
	if err != nil {
		return fault(FaultMalformed, err)
	}
	if reason := checkTargets(&m.Signed); reason != "" {
		return fault(FaultUnfit, errors.New(reason))
	}
	return r, m, nil
}

// ErrOutdatedProposal says that the list has changed since the proposal was made.
var ErrOutdatedProposal = errors.New("the list of releases has changed since the proposal was made")

// CheckProposal checks that a proposal may follow a signed list: it has the next version, keeps what a list promises, lasts no longer than a list
// may, and holds nothing but releases. A proposal that is the signed list already passes. It does not check signatures.
func CheckProposal(root, signed, proposal []byte, now time.Time) error {
	_, before, err := readProposal(root, signed)
	if err != nil {
		return err
	}
	_, next, err := readProposal(root, proposal)
	if err != nil {
		return err
	}
	_, err = mayFollow(before, next, now)
	return err
}

// maxValidity is the longest validity of a list: as RepoOptions allows, and a day for clocks that differ.
func maxValidity() time.Duration { return 10*DefaultValidity().Targets + 24*time.Hour }

// outdated says which of the list and a proposal is behind.
func outdated(list, proposed int64) error {
	if proposed > list {
		return fmt.Errorf("%w: the list here is %d, and the proposal follows list %d: bring the new metadata here first", ErrOutdatedProposal, list, proposed-1)
	}
	return fmt.Errorf("%w: it would be list %d, and list %d is public already; its author repeats the command with the new lists", ErrOutdatedProposal, proposed, list)
}

// mayFollow is CheckProposal; same reports whether the proposal is the signed list already.
func mayFollow(before, next *targetsMeta, now time.Time) (same bool, err error) {
	unfit := func(format string, args ...any) (bool, error) {
		return false, &Error{Document: proposalName, Fault: FaultUnfit, Err: fmt.Errorf(format, args...)}
	}
	entries := mustEntries(next)
	if next.Signed.Version == before.Signed.Version && slices.Equal(entries, mustEntries(before)) {
		return true, nil
	}
	if next.Signed.Version != before.Signed.Version+1 {
		return false, outdated(before.Signed.Version, next.Signed.Version)
	}
	switch until := next.Signed.Expires; {
	case !until.After(now):
		return unfit("it expired on %s", until.Format(time.DateOnly))
	case until.After(now.Add(maxValidity())):
		return unfit("it would be valid until %s, longer than any list may", until.Format(time.DateOnly))
	}
	list, err := checkedTargets(mustEntries(before), entries)
	if err != nil {
		return false, err
	}
	bare := metadata.Targets(next.Signed.Expires)
	bare.Signed.Targets, bare.Signed.Version, bare.Signed.SpecVersion = list, next.Signed.Version, next.Signed.SpecVersion
	want, errWant := cjson.EncodeCanonical(bare.Signed)
	got, errGot := cjson.EncodeCanonical(next.Signed)
	if err := errors.Join(errWant, errGot); err != nil {
		return false, err
	}
	if !bytes.Equal(want, got) {
		return unfit("it has more than releases, which its signers would not see")
	}
	return false, nil
}

// InstallProposal makes a proposal the signed list. It must have the signatures that the root wants, and follow the present list. signers
// must reach the thresholds of snapshot and timestamp. After an interruption it is called again with the same bytes; a proposal that is
// installed already changes nothing.
func (r *Repo) InstallProposal(proposal []byte, signers []*PrivateKey) error {
	if r.pending {
		return ErrUnfinished
	}
	if len(proposal) > MaxTargets {
		return &Error{Document: proposalName, Fault: FaultTooLong}
	}
	next, err := verified(r.root, RoleTargets, proposalName, proposal, checkTargets)
	if err != nil {
		return err
	}
	same, err := mayFollow(r.targets, next, r.now())
	if err != nil || same {
		return err
	}
	return r.write(change{proposed: next, proposal: proposal, snapshot: true}, signers)
}
