package release

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

const (
	numbersFile = "numbers.json"
	// maxLines is how many channels and targets one install remembers numbers of.
	maxLines = 64
	// maxNumbers is the size of the file in bytes.
	maxNumbers = 64 << 10
)

// numbers are the highest release numbers seen, with the keys that vouched for them. They count as long as the root lets
// enough of these keys sign releases: when a key was stolen and its thief has driven the numbers up, a new root without
// that key is what ends it.
type numbers struct {
	signers []string // ids of keys whose signature was valid, sorted
	floors  []Entry  // product, channel, target and number, sorted
}

func (n *numbers) code(c *canon) {
	c.mark(`{"numbers":`)
	codeList(c, "numbers", &n.floors, maxLines, func(c *canon, e *Entry) {
		c.mark(`{"channel":`)
		c.text("channel", &e.Channel, maxName, nameFault)
		c.mark(`,"number":`)
		c.number("number", &e.Number, MaxNumber)
		c.mark(`,"product":`)
		c.text("product", &e.Product, maxName, nameFault)
		c.mark(`,"target":`)
		c.text("target", &e.Target, maxName, nameFault)
		c.mark(`}`)
	})
	c.mark(`,"signers":`)
	codeList(c, "signers", &n.signers, maxRoleKeys, func(c *canon, s *string) { c.text("signer", s, maxText, hexFault) })
	c.mark(`}`)
}

// vouched reports whether enough of the keys behind the numbers may still sign releases.
func (n *numbers) vouched(root *rootMeta) bool {
	role, valid := root.Signed.Roles[string(RoleTargets)], 0
	for _, id := range n.signers {
		if slices.Contains(role.KeyIDs, id) {
			valid++
		}
	}
	return len(n.floors) == 0 || valid >= role.Threshold
}

// with is n after e was seen in a list that signers vouched for. That list had no lower number than n on any line, or it
// would have been refused, so signers vouch for all of n.
func (n *numbers) with(e Entry, signers []string) numbers {
	next := numbers{signers: signers, floors: slices.Clone(n.floors)}
	seen := Entry{Product: e.Product, Channel: e.Channel, Target: e.Target, Number: e.Number}
	next.floors = slices.DeleteFunc(next.floors, func(f Entry) bool { return f.line() == e.line() })
	next.floors = append(next.floors, seen)
	slices.SortFunc(next.floors, compareEntries)
	return next
}

// has reports whether this very number is remembered.
func (n *numbers) has(e Entry) bool {
	return slices.ContainsFunc(n.floors, func(f Entry) bool { return f.line() == e.line() && f.Number == e.Number })
}

func (n *numbers) equal(o numbers) bool {
	return slices.Equal(n.signers, o.signers) && slices.Equal(n.floors, o.floors)
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

// RootInfo is what a root says, for people and for checks before a release.
type RootInfo struct {
	Version     int64
	Expires     time.Time // UTC
	Roles       map[KeyRole]RoleInfo
	Development []string // ids of keys that are marked as development keys
}

// RoleInfo says who may sign for a role.
type RoleInfo struct {
	Keys      []string // ids, sorted
	Threshold int      // how many of them are needed
}

func infoOf(root *rootMeta) RootInfo {
	info := RootInfo{Version: root.Signed.Version, Expires: root.Signed.Expires.UTC(), Roles: map[KeyRole]RoleInfo{}}
	for _, role := range KeyRoles() {
		r := root.Signed.Roles[string(role)]
		info.Roles[role] = RoleInfo{Keys: slices.Sorted(slices.Values(r.KeyIDs)), Threshold: r.Threshold}
	}
	list, _ := root.Signed.UnrecognizedFields[developmentField].([]any)
	for _, id := range list {
		if text, is := id.(string); is {
			info.Development = append(info.Development, text)
		}
	}
	return info
}

// InspectRoot reads a root.json that is about to be embedded or that was exported. It must be signed by its own keys; the
// error is a *TrustError.
func InspectRoot(data []byte) (RootInfo, error) {
	root, err := parseRoot(rootFile, data)
	if err != nil {
		return RootInfo{}, err
	}
	return infoOf(root), nil
}

// Allow names what is refused unless somebody asks for it by name.
type Allow struct {
	Development bool // keys that lie in the clear
	SingleRoot  bool // a root that one person, or one lost key, decides about
}

// WeakRootError says why a root is not fit for players.
type WeakRootError struct{ Reasons []string }

func (e *WeakRootError) Error() string {
	return "this root is not fit for players: " + strings.Join(e.Reasons, "; ")
}

// Check holds a root to what players need. The error is a *WeakRootError.
func (i RootInfo) Check(allow Allow) error {
	var reasons []string
	if len(i.Development) > 0 && !allow.Development {
		reasons = append(reasons, fmt.Sprintf("%d of its keys are development keys, which lie in the clear", len(i.Development)))
	}
	root := i.Roles[RoleRoot]
	if (root.Threshold < 2 || len(root.Keys) <= root.Threshold) && !allow.SingleRoot {
		reasons = append(reasons, fmt.Sprintf("it takes %d of %d root keys; with 2 of 3 none that is stolen or lost does harm", root.Threshold, len(root.Keys)))
	}
	for _, role := range []KeyRole{RoleTargets, RoleSnapshot, RoleTimestamp} {
		for _, id := range i.Roles[role].Keys {
			if slices.Contains(root.Keys, id) && !allow.SingleRoot {
				reasons = append(reasons, fmt.Sprintf("a root key also signs as %s, so it is not offline", role))
			}
		}
	}
	if len(reasons) > 0 {
		return &WeakRootError{Reasons: reasons}
	}
	return nil
}
