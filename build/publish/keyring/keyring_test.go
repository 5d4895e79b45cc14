package keyring_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/publish/keyring"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/testlevel"
)

func secret(string) ([]byte, error) { return []byte("correct horse"), nil }

func TestKeyring(t *testing.T) {
	t.Parallel()
	testlevel.Lab(t) // scrypt is slow on purpose
	dir := t.TempDir()
	ring := keyring.Open(openDir(t, dir), keyring.Ask{Passphrase: secret})
	list, err := ring.Init(3, 1, true)
	must(t, err)
	if len(list) != 6 || list[0].Name != "root-1" || list[5].Role != trust.RoleTimestamp || !list[3].Private || !list[3].Development {
		t.Errorf("%+v", list)
	}
	if _, err := ring.Init(3, 1, true); err == nil || !strings.Contains(err.Error(), "has keys already") {
		t.Errorf("twice: %v", err)
	}
	added, err := ring.Add(trust.RoleTargets, false)
	must(t, err)
	if added.Name != "targets-2" {
		t.Errorf("%+v", added)
	}
	text, err := os.ReadFile(filepath.Join(dir, "targets-2.key"))
	must(t, err)
	info, err := os.Stat(filepath.Join(dir, "targets-2.key"))
	if err != nil || info.Mode().Perm() != 0o600 || !trust.NeedsPassphrase(text) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	keys, err := ring.Open(trust.RoleTargets)
	if err != nil || len(keys) != 2 || keys[1].Public().ID() != added.ID {
		t.Errorf("%v, %v", keys, err)
	}
	wrong := keyring.Open(openDir(t, dir), keyring.Ask{Passphrase: func(string) ([]byte, error) { return []byte("wrong horse"), nil }})
	if _, err := wrong.Open(trust.RoleTargets); !errors.Is(err, trust.ErrPassphrase) {
		t.Errorf("a wrong passphrase: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "targets-1.key"))) // it went to another machine
	must(t, os.Remove(filepath.Join(dir, "root-3.key")))
	must(t, os.Remove(filepath.Join(dir, "root-3.pub"))) // it was lost
	if keys, err = ring.Open(trust.RoleTargets); err != nil || len(keys) != 1 {
		t.Errorf("%v, %v", keys, err)
	}
	plan, err := ring.Plan()
	if err != nil || len(plan[trust.RoleRoot].Keys) != 2 || len(plan[trust.RoleTargets].Keys) != 2 {
		t.Errorf("%v, %v", plan, err)
	}
	if _, err := ring.Add("captain", true); err == nil {
		t.Error("a role that does not exist")
	}
	must(t, os.Remove(filepath.Join(dir, "snapshot-1.pub")))
	if _, err := ring.Plan(); err == nil || !strings.Contains(err.Error(), "collet keys add snapshot") {
		t.Errorf("a role without a key: %v", err)
	}
	if again, err := ring.Add(trust.RoleSnapshot, true); err != nil || again.Name != "snapshot-2" {
		t.Errorf("a number is used again: %+v, %v", again, err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "root-1.pub"), []byte("garbage"), 0o644))
	if _, err := ring.List(); err == nil || !strings.Contains(err.Error(), "root-1.pub") {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestKeysAreMadeAllOrNone: what is asked for and not given leaves no trace, not even a folder.
func TestKeysAreMadeAllOrNone(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "deep", "keys")
	created := 0
	create := func() (platform.FS, error) {
		created++
		must(t, os.MkdirAll(folder, 0o700))
		return openDir(t, folder), nil
	}
	asked, refusal := []string{}, errors.New("no passphrase")
	never := keyring.New(folder, create, keyring.Ask{Passphrase: func(file string) ([]byte, error) {
		asked = append(asked, file)
		return nil, refusal
	}})
	if _, err := never.Init(3, 1, false); !errors.Is(err, refusal) || len(asked) != 1 || asked[0] != filepath.Join(folder, "root-1.key") {
		t.Errorf("%v after asking for %q", err, asked)
	}
	if _, err := never.Add(trust.RoleTargets, false); !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
	short := keyring.New(folder, create, keyring.Ask{Passphrase: func(string) ([]byte, error) { return []byte("short"), nil }})
	if _, err := short.Init(1, 1, false); err == nil || !strings.Contains(err.Error(), "passphrase") {
		t.Errorf("%v", err)
	}
	if list, err := never.List(); err != nil || len(list) != 0 || created != 0 {
		t.Errorf("%v, %v; %d folders", list, err, created)
	}
	clear := keyring.New(folder, create, keyring.Ask{})
	list, err := clear.Init(2, 1, true)
	if err != nil || len(list) != 5 || created != 1 || list[1].Name != "root-2" {
		t.Errorf("%+v, %v; %d folders", list, err, created)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openDir(t testing.TB, name string) platform.FS {
	t.Helper()
	d, err := platform.OpenDir(name)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}
