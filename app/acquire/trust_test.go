package acquire

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/fstest"
	"time"

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
	roots := fstest.MapFS{"trust/2.root.json": {}, "trust/3.root.json": {}, "trust/5.root.json": {}}
	both := []string{"metadata/timestamp.json", "metadata/4.root.json"}
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for asked, want := range map[string][]string{
		"": both, "?": both, "2026-11-27T12:00:00Z": both, "2026-11-27T12:00:01Z": both[:1], "2026-11-28T12:00:01Z": both,
	} {
		kept := maps.Clone(roots)
		if asked != "" {
			kept["trust/"+trust.AskedFile] = &fstest.MapFile{Data: []byte(asked)}
		}
		var names []string
		for _, f := range FirstFiles(repo.Root(), kept, now) {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("asked %s: %q, want %q", asked, names, want)
		}
	}
	if files := FirstFiles([]byte("no root"), roots, now); files != nil {
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
