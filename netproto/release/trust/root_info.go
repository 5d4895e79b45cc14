package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// RootInfo describes a root, for people and for checks before a release.
type RootInfo struct {
	Version     int64
	Expires     time.Time // UTC
	Roles       map[KeyRole]RoleInfo
	Development []string // ids of keys that are marked as development keys
}

// RoleInfo is the keys and the threshold of a role.
type RoleInfo struct {
	Keys      []string // ids, sorted
	Threshold int      // signatures needed
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

// ListKeys are the ids of the keys that may sign snapshots and lists of releases, sorted.
func (i RootInfo) ListKeys() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(i.Roles[RoleSnapshot].Keys, i.Roles[RoleTargets].Keys))))
}

// InspectRoot reads a root.json that is to be embedded or was exported. It must be signed by its own keys; the error is an *Error.
func InspectRoot(data []byte) (RootInfo, error) {
	root, err := parseRoot(rootFile, data)
	if err != nil {
		return RootInfo{}, err
	}
	return infoOf(root), nil
}

// Allow names weaknesses that are rejected unless explicitly allowed.
type Allow struct {
	Development bool // keys stored unencrypted
	SingleRoot  bool // a root that one person controls, or that one lost key disables
}

// WeakRootError lists the reasons why a root is too weak for players.
type WeakRootError struct{ Reasons []string }

func (e *WeakRootError) Error() string {
	return "this root is not fit for players: " + strings.Join(e.Reasons, "; ")
}

// Check checks that a root is strong enough for players. The error is a *WeakRootError.
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
