package publish_test

import (
	"context"
	"errors"
	"testing"

	"collet/build/publish"
	"collet/build/publish/keyring"
	"collet/netproto/release/trust"
)

func TestRotateAndDrill(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
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
	ring := keyring.Open(openDir(t, t.TempDir()), keyring.Ask{})
	_, err := ring.Init(1, 1, true)
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
