package trust

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

// RootPlan is the keys of a new root. A missing role keeps its keys.
type RootPlan map[KeyRole]RolePlan

// RolePlan is the keys and the threshold of a role.
type RolePlan struct {
	Keys      []PublicKey
	Threshold int // 0 for the one before, and at least the usual one: 2 for a root of two keys or more, else 1
}

// effectiveThreshold is the effective threshold. old is the root before; it may be nil.
func (p RolePlan) effectiveThreshold(role KeyRole, old *rootMeta) int {
	if p.Threshold > 0 {
		return p.Threshold
	}
	usual := 1
	if role == RoleRoot {
		usual = 2
	}
	if old != nil {
		usual = max(usual, old.Signed.Roles[string(role)].Threshold)
	}
	return min(usual, max(len(p.Keys), 1))
}

// draft makes the unsigned successor of old, or the first root if old is nil.
func (p RootPlan) draft(old *rootMeta, expires time.Time) (*rootMeta, error) {
	draft := metadata.Root(expires)
	var development []string
	if old != nil {
		draft.Signed.Version = old.Signed.Version + 1
		development = infoOf(old).Development
	}
	for _, role := range KeyRoles() {
		plan, planned := p[role]
		switch {
		case planned:
			development = append(development, plan.addTo(draft, role, old)...)
		case old == nil:
			return nil, fmt.Errorf("the plan names no keys for %s", role)
		default:
			was := old.Signed.Roles[string(role)]
			draft.Signed.Roles[string(role)] = &metadata.Role{KeyIDs: slices.Clone(was.KeyIDs), Threshold: was.Threshold}
			for _, id := range was.KeyIDs {
				draft.Signed.Keys[id] = old.Signed.Keys[id]
			}
		}
	}
	markDevelopment(draft, development)
	if reason := checkRoot(&draft.Signed); reason != "" {
		return nil, errors.New("the planned root does not work: " + reason)
	}
	return draft, nil
}

// addTo sets the keys of one role and returns the ids of development keys.
func (p RolePlan) addTo(draft *rootMeta, role KeyRole, old *rootMeta) (development []string) {
	entry := &metadata.Role{KeyIDs: []string{}, Threshold: p.effectiveThreshold(role, old)}
	for _, k := range p.Keys {
		id := k.ID()
		if !slices.Contains(entry.KeyIDs, id) {
			entry.KeyIDs = append(entry.KeyIDs, id)
		}
		draft.Signed.Keys[id] = k.metadataKey()
		if k.Development {
			development = append(development, id)
		}
	}
	draft.Signed.Roles[string(role)] = entry
	return development
}

// markDevelopment marks the development keys among those that the root names.
func markDevelopment(draft *rootMeta, ids []string) {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return draft.Signed.Keys[id] == nil })
	if len(ids) == 0 {
		return
	}
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	draft.Signed.UnrecognizedFields = map[string]any{developmentField: list}
}

// DraftRoot writes the unsigned next root: to rotate keys, or with an empty plan to renew it. Each holder of a root key
// signs it with SignRoot, on the machine with the key; InstallRoot then installs it.
func (r *Repo) DraftRoot(plan RootPlan) ([]byte, error) {
	if r.pending {
		return nil, ErrUnfinished
	}
	draft, err := plan.draft(r.root, r.expiry(r.validity.Root))
	if err != nil {
		return nil, err
	}
	if err := infoOf(draft).Check(r.allow); err != nil {
		return nil, err
	}
	data, err := draft.ToBytes(false)
	if err != nil {
		return nil, fmt.Errorf("write root: %w", err)
	}
	return data, nil
}

// DescribeRoot describes a draft, signed or not, for its signers. It does not verify signatures.
func DescribeRoot(draft []byte) (RootInfo, error) {
	root, err := draftFrom(draft)
	if err != nil {
		return RootInfo{}, err
	}
	return infoOf(root), nil
}

func draftFrom(data []byte) (*rootMeta, error) {
	if len(data) > MaxRoot {
		return nil, &Error{Document: "root draft", Fault: FaultTooLong}
	}
	if err := checkJSON(data); err != nil {
		return nil, &Error{Document: "root draft", Fault: FaultMalformed, Err: err}
	}
	root, err := metadata.Root().FromBytes(data)
	if err != nil {
		return nil, &Error{Document: "root draft", Fault: FaultMalformed, Err: err}
	}
	if reason := checkRoot(&root.Signed); reason != "" {
		return nil, &Error{Document: "root draft", Fault: FaultUnfit, Err: errors.New(reason)}
	}
	return root, nil
}

// SignRoot adds one key's signature to a draft, replacing an earlier one of the same key. Keys that only the old root
// names sign, too: so the remaining keys can replace a lost one.
func SignRoot(draft []byte, key *PrivateKey) ([]byte, error) {
	root, err := draftFrom(draft)
	if err != nil {
		return nil, err
	}
	id := key.Public().ID()
	root.Signatures = slices.DeleteFunc(root.Signatures, func(s metadata.Signature) bool { return s.KeyID == id })
	if err := addSignature(root, RoleRoot, key); err != nil {
		return nil, err
	}
	return root.ToBytes(false)
}

// InstallRoot makes a signed root the newest one and signs everything below it again with signers, which must reach the
// thresholds of the new root. A list of releases whose signatures the new root accepts stays as it is, unless signers can sign it. After an interruption it is called again with the same bytes.
func (r *Repo) InstallRoot(signed []byte, signers []*PrivateKey) error {
	if !r.pending && bytes.Equal(signed, r.rootData) { // it was interrupted after the root, and the lists suit it as they are
		return r.write(change{snapshot: true}, signers)
	}
	next, err := nextRoot(r.root, signed)
	if err != nil {
		return err
	}
	if err := infoOf(next).Check(r.allow); err != nil {
		return err
	}
	name := metadataFolder + numbered(next.Signed.Version, rootFile)
	if there, err := r.store.Load(name, MaxRoot); err == nil && !bytes.Equal(there, signed) {
		return fmt.Errorf("another root of version %d lies in the release folder: %w", next.Signed.Version, ErrUnfinished)
	}
	before := *r
	r.root, r.rootData, r.pending = next, slices.Clone(signed), false
	targets := meetsThreshold(next, RoleTargets, signers) || next.VerifyDelegate(string(RoleTargets), r.targets) != nil
	if err := r.write(change{root: signed, targets: targets, snapshot: true}, signers); err != nil {
		*r = before
		_, missing := r.store.Load(name, MaxRoot)
		r.pending = missing == nil // readers may already see the new root
		return err
	}
	return nil
}

// PublicKeys returns the keys that the newest root names for a role, in the order of the root, for plans that keep some of them.
func (r *Repo) PublicKeys(role KeyRole) []PublicKey {
	var keys []PublicKey
	for _, id := range r.root.Signed.Roles[string(role)].KeyIDs {
		p := PublicKey{Development: slices.Contains(infoOf(r.root).Development, id)}
		if _, err := hex.Decode(p.key[:], []byte(r.root.Signed.Keys[id].Value.PublicKey)); err != nil {
			panic("trust: internal error: a key that was verified can't be read: " + err.Error())
		}
		keys = append(keys, p)
	}
	return keys
}
