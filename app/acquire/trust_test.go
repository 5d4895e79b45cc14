package acquire

import (
	"errors"
	"slices"
	"testing"

	"collet/app/download"
	"collet/netproto/release/trust"
)

func TestFirstFiles(t *testing.T) {
	plan, keys := trust.RootPlan{}, []*trust.PrivateKey(nil)
	for _, role := range trust.KeyRoles() {
		var r trust.RolePlan
		for range map[bool]int{true: 3, false: 1}[role == trust.RoleRoot] {
			key, err := trust.GenerateKey(false)
			if err != nil {
				t.Fatal(err)
			}
			keys, r.Keys = append(keys, key), append(r.Keys, key.Public())
		}
		plan[role] = r
	}
	repo, err := trust.CreateRepo(&trust.MemoryStore{}, plan, keys, trust.RepoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{"trust/2.root.json": true, "trust/3.root.json": true, "trust/5.root.json": true}
	var names []string
	for _, f := range FirstFiles(repo.Root(), func(name string) bool { return stored[name] }) {
		names = append(names, f.Name)
	}
	if want := []string{"metadata/timestamp.json", "metadata/4.root.json"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if files := FirstFiles([]byte("no root"), func(string) bool { return true }); files != nil {
		t.Errorf("%v", files)
	}
}

// TestUnverified: a file beyond its limit is too long for the trust client, too.
func TestUnverified(t *testing.T) {
	if _, err := unverified(nil, &download.WrongError{Kind: download.WrongLong}); !errors.Is(err, trust.ErrTooLong) {
		t.Errorf("beyond the limit: %v", err)
	}
	if u, err := unverified([]byte("there"), nil); err != nil || u.Len() != 5 {
		t.Errorf("%v, %v", u, err)
	}
}
