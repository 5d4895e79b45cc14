package publish_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/publish"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/testlevel"
)

func secret(string) ([]byte, error) { return []byte("correct horse"), nil }

func TestKeyring(t *testing.T) {
	t.Parallel()
	testlevel.Lab(t) // scrypt is slow on purpose
	dir := t.TempDir()
	ring := publish.OpenKeyring(openDir(t, dir), secret)
	list, err := ring.Init(3, true)
	must(t, err)
	if len(list) != 6 || list[0].Name != "root-1" || list[5].Role != trust.RoleTimestamp || !list[3].Private || !list[3].Development {
		t.Errorf("%+v", list)
	}
	if _, err := ring.Init(3, true); err == nil || !strings.Contains(err.Error(), "has keys already") {
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
	wrong := publish.OpenKeyring(openDir(t, dir), func(string) ([]byte, error) { return []byte("wrong horse"), nil })
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

func TestRotateAndDrill(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.publish(game(t, small(1)), publish.Request{})
	fresh, err := trust.GenerateKey(false)
	must(t, err)
	plan := trust.RootPlan{trust.RoleTargets: {Keys: []trust.PublicKey{fresh.Public()}}}
	online := append([]*trust.PrivateKey{fresh}, s.keys.online()[1:]...)
	f := s.open()
	draft, err := f.Draft(plan, s.keys.all[:1])
	must(t, err)
	if err := f.Install(context.Background(), draft, online); err == nil {
		t.Error("one of three root keys suffices")
	}
	draft, err = trust.SignRoot(draft, s.keys.all[1])
	must(t, err)
	must(t, f.Install(context.Background(), draft, online))
	must(t, f.Close())
	s.wants(query("stable", linux, 0), 1, small(1).setOf(linux)) // a client with the first root follows
	f = s.open()
	if _, err := f.Publish(context.Background(), game(t, small(2)), publish.Request{}, s.keys.online()); err == nil {
		t.Error("the old key still publishes")
	}
	_, err = f.Publish(context.Background(), game(t, small(2)), publish.Request{}, online)
	must(t, err)
	must(t, f.Close())

	before := s.offered(query("stable", linux, 0))
	s.with(func(f *publish.Folder) error {
		steps, err := f.Drill(context.Background(), s.keys.all[0].Public().ID(), append(s.keys.all[:3:3], online...))
		if len(steps) != 5 {
			t.Errorf("%v", steps)
		}
		if _, bad := f.Drill(context.Background(), s.keys.all[0].Public().ID(), append(s.keys.all[:2:2], online...)); bad == nil {
			t.Error("one key that is left suffices")
		}
		if _, bad := f.Drill(context.Background(), "nobody", s.keys.all); bad == nil {
			t.Error("a key that is not there was lost")
		}
		_, info, e := f.Root()
		if info.Version != 2 {
			t.Errorf("a drill changes nothing, and the root is %d", info.Version)
		}
		return errors.Join(err, e)
	})
	if s.offered(query("stable", linux, 0)) != before {
		t.Error("the drill changed something")
	}
}

func TestExportRefusesWeakRoots(t *testing.T) {
	t.Parallel()
	fsys := openDir(t, t.TempDir())
	ring := publish.OpenKeyring(openDir(t, t.TempDir()), secret)
	_, err := ring.Init(1, true)
	must(t, err)
	plan, err := ring.Plan()
	must(t, err)
	all, err := ring.Open(trust.KeyRoles()...)
	must(t, err)
	var weak *trust.WeakRootError
	if err := publish.Init(fsys, "lathe", "", plan, all, publish.Options{}); !errors.As(err, &weak) {
		t.Errorf("init: %v", err)
	}
	allow := publish.Options{Allow: trust.Allow{Development: true, SingleRoot: true}}
	must(t, publish.Init(fsys, "lathe", "", plan, all, allow))
	f, err := publish.Open(fsys, publish.Options{ReadOnly: true})
	must(t, err)
	if _, _, err := f.Root(); !errors.As(err, &weak) {
		t.Errorf("export: %v", err)
	}
	must(t, f.Close())
	if f, err = publish.Open(fsys, publish.Options{ReadOnly: true, Allow: allow.Allow}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Root(); err != nil {
		t.Errorf("export by name: %v", err)
	}
	must(t, f.Close())
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
	never := publish.NewKeyring(folder, create, func(file string) ([]byte, error) {
		asked = append(asked, file)
		return nil, refusal
	})
	if _, err := never.Init(3, false); !errors.Is(err, refusal) || len(asked) != 1 || asked[0] != filepath.Join(folder, "root-1.key") {
		t.Errorf("%v after asking for %q", err, asked)
	}
	if _, err := never.Add(trust.RoleTargets, false); !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
	short := publish.NewKeyring(folder, create, func(string) ([]byte, error) { return []byte("short"), nil })
	if _, err := short.Init(1, false); err == nil || !strings.Contains(err.Error(), "passphrase") {
		t.Errorf("%v", err)
	}
	if list, err := never.List(); err != nil || len(list) != 0 || created != 0 {
		t.Errorf("%v, %v; %d folders", list, err, created)
	}
	clear := publish.NewKeyring(folder, create, nil)
	list, err := clear.Init(2, true)
	if err != nil || len(list) != 5 || created != 1 || list[1].Name != "root-2" {
		t.Errorf("%+v, %v; %d folders", list, err, created)
	}
}
