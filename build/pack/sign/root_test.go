package sign_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"collet/build/pack/sign"
	"collet/netproto/release"
)

// rootOf makes a trusted root with so many root keys.
func rootOf(t *testing.T, development bool, keys int) []byte {
	t.Helper()
	plan := release.RootPlan{}
	var all []*release.PrivateKey
	for _, role := range release.KeyRoles() {
		n := 1
		if role == release.RoleRoot {
			n = keys
		}
		var public []release.PublicKey
		for range n {
			key, err := release.GenerateKey(development)
			if err != nil {
				t.Fatal(err)
			}
			all, public = append(all, key), append(public, key.Public())
		}
		plan[role] = release.RolePlan{Keys: public}
	}
	repo, err := release.CreateRepo(&release.MemoryStore{}, plan, all, release.RepoOptions{Allow: release.Allow{Development: true, SingleRoot: true}})
	if err != nil {
		t.Fatal(err)
	}
	return repo.Root()
}

func TestCheckRoot(t *testing.T) {
	good, development, single := rootOf(t, false, 3), rootOf(t, true, 3), rootOf(t, false, 1)
	now := time.Now()
	for _, c := range []struct {
		name  string
		root  []byte
		allow release.Allow
		now   time.Time
		want  string
	}{
		{"good", good, release.Allow{}, now, ""},
		{"development keys", development, release.Allow{SingleRoot: true}, now, "development keys"},
		{"development keys by name", development, release.Allow{Development: true}, now, ""},
		{"one root key", single, release.Allow{Development: true}, now, "1 of 1 root keys"},
		{"one root key by name", single, release.Allow{SingleRoot: true}, now, ""},
		{"expired", good, release.Allow{}, now.AddDate(11, 0, 0), "expired on"},
		{"text", []byte("text"), release.Allow{}, now, "collet keys export"},
	} {
		err := sign.CheckRoot(c.root, c.allow, c.now)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		var weak *release.WeakRootError
		if strings.Contains(c.want, "keys") && c.name != "text" && !errors.As(err, &weak) {
			t.Errorf("%s: %v is no WeakRootError", c.name, err)
		}
	}
}
