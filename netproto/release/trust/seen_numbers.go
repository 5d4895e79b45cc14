package trust

import (
	"slices"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"collet/netproto/release"
)

const (
	numbersFile = "numbers.json"
	// maxRoleKeys is how many keys a role may have.
	maxRoleKeys = release.MaxSigners
)

// seenNumbers are the highest release numbers seen, with the keys that signed the list. They are valid while the root lets
// enough of these keys sign releases. After the theft of a key with which the numbers were raised, a new root without
// that key removes them.
type seenNumbers release.Numbers

// signedUnder reports whether enough of the keys behind the numbers may still sign releases.
func (n seenNumbers) signedUnder(root *rootMeta) bool {
	role, valid := root.Signed.Roles[string(RoleTargets)], 0
	for _, id := range n.Signers {
		if slices.Contains(role.KeyIDs, id) {
			valid++
		}
	}
	return len(n.Seen) == 0 || valid >= role.Threshold
}

// withSeen returns n after e was seen in a list signed by signers. That list had no lower number than n on any track, or it
// would have been rejected, so signers stand for all of n.
func (n seenNumbers) withSeen(e release.Entry, signers []string) seenNumbers {
	next := seenNumbers{Signers: signers, Seen: slices.Clone(n.Seen)}
	seen := release.Entry{Product: e.Product, Channel: e.Channel, Target: e.Target, Number: e.Number}
	next.Seen = slices.DeleteFunc(next.Seen, func(f release.Entry) bool { return f.Track() == e.Track() })
	next.Seen = append(next.Seen, seen)
	slices.SortFunc(next.Seen, release.CompareEntries)
	return next
}

// hasNumber reports whether exactly this number is stored.
func (n seenNumbers) hasNumber(e release.Entry) bool {
	return slices.ContainsFunc(n.Seen, func(f release.Entry) bool { return f.Track() == e.Track() && f.Number == e.Number })
}

func (n seenNumbers) equal(o seenNumbers) bool {
	return slices.Equal(n.Signers, o.Signers) && slices.Equal(n.Seen, o.Seen)
}

// signersOf lists the keys of a role whose own signature on m is valid. The list of signatures itself is not signed, so
// each is checked.
func signersOf[T metadata.Roles](root *rootMeta, role KeyRole, m *metadata.Metadata[T]) []string {
	var ids []string
	for _, id := range root.Signed.Roles[string(role)].KeyIDs {
		alone := &rootMeta{Signed: metadata.RootType{Keys: root.Signed.Keys, Roles: map[string]*metadata.Role{
			string(role): {KeyIDs: []string{id}, Threshold: 1},
		}}}
		if alone.VerifyDelegate(string(role), m) == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
