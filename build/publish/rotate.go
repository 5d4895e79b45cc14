package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"collet/build/advice"
	"collet/build/publish/places"
	"collet/netproto/release"
	"collet/netproto/release/trust"
)

// Draft writes the next root with the keys of plan, and with the present keys for roles that plan does not name. It is signed by the given
// keys that the old or the new root names.
func (f *Folder) Draft(plan trust.RootPlan, keys []*trust.PrivateKey) (draft []byte, err error) {
	if draft, err = f.repo.DraftRoot(plan); err != nil {
		return nil, advice.Because(err, "", "draft of a new root")
	}
	return signDraft(f.repo, draft, keys)
}

// signDraft adds the signatures of keys that the old or the new root names.
func signDraft(repo *trust.Repo, draft []byte, keys []*trust.PrivateKey) ([]byte, error) {
	next, err := trust.DescribeRoot(draft)
	if err != nil {
		return nil, err
	}
	old := repo.RootInfo()
	for _, k := range keys {
		id := k.Public().ID()
		if !slices.Contains(next.Roles[trust.RoleRoot].Keys, id) && !slices.Contains(old.Roles[trust.RoleRoot].Keys, id) {
			continue
		}
		if draft, err = trust.SignRoot(draft, k); err != nil {
			return nil, err
		}
	}
	return draft, nil
}

// Install makes a signed draft the newest root and signs everything below it again. After an interruption call it again with the same
// bytes.
func (f *Folder) Install(ctx context.Context, signed []byte, keys []*trust.PrivateKey) error {
	if err := f.repo.InstallRoot(signed, keys); err != nil {
		return advice.Because(err, "", "install the new root")
	}
	return f.sequels.update(ctx)
}

// Root returns the newest root.json, which clients embed, and its content. It fails if the root is not fit for players.
func (f *Folder) Root() ([]byte, trust.RootInfo, error) {
	info := f.repo.RootInfo()
	if err := info.Check(f.options.Allow); err != nil {
		return nil, info, advice.Because(err, "make proper keys with collet keys init, or allow it by name", "export the root")
	}
	return f.repo.Root(), info, nil
}

// DrillStep is one step of a drill and its result.
type DrillStep struct {
	What string
	Err  error
}

// Drill rehearses the loss of one root key, given by its id, on a copy of the signed lists in memory. The remaining keys make and sign a
// new root with a new key in its place, and a client with today's root follows it. The release folder stays unchanged. keys are all
// available keys; the lost one is not used even if it is among them.
func (f *Folder) Drill(ctx context.Context, lost string, keys []*trust.PrivateKey) (steps []DrillStep, err error) {
	d := &drill{folder: f, copy: &trust.MemoryStore{}, client: &trust.MemoryStore{}}
	for _, k := range keys {
		if k.Public().ID() != lost {
			d.keys = append(d.keys, k)
		}
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"copy the signed lists", d.load},
		{"a client with today's root reads them", d.follow},
		{"the keys that are left sign a root with a new key in the place of the lost one", func(context.Context) error { return d.replace(lost) }},
		{"the client follows the new root", d.follow},
		{"the lost key signs nothing that the client takes any more", func(context.Context) error { return d.gone(lost) }},
	} {
		err := step.do(ctx)
		steps = append(steps, DrillStep{step.what, err})
		if err != nil {
			return steps, advice.Because(err, "look for the missing keys before you need them", "drill: %s", step.what)
		}
	}
	return steps, nil
}

// drill is the state of a rehearsal.
type drill struct {
	folder       *Folder
	keys         []*trust.PrivateKey
	copy, client *trust.MemoryStore
	repo         *trust.Repo
	wanted       int64 // version of the root that the client must end with
}

// load copies the public signed lists into memory.
func (d *drill) load(context.Context) error {
	entries, err := d.folder.fs.ReadDir("metadata")
	if err != nil {
		return err
	}
	from := store{d.folder.fs}
	for _, e := range entries {
		if name := "metadata/" + e.Name(); places.IsPublic(name) {
			data, err := from.Load(name, maxMetadata)
			if err == nil {
				err = d.copy.Save(name, data)
			}
			if err != nil {
				return err
			}
		}
	}
	d.wanted = d.folder.repo.RootInfo().Version
	d.repo, err = trust.OpenRepo(d.copy, trust.RepoOptions{Now: d.folder.options.Now, Allow: d.folder.options.Allow})
	return err
}

// follow simulates a client's start.
func (d *drill) follow(ctx context.Context) error {
	client, err := trust.Open(d.folder.repo.Root(), d.client, d.folder.options.Now)
	if err != nil {
		return err
	}
	_, err = client.Refresh(ctx, trust.StoreFetcher{Store: d.copy}, release.Query{Product: d.folder.settings.Product, Channel: d.folder.settings.Channel, Target: "drill"})
	if err != nil && !errors.Is(err, release.ErrNoRelease) {
		return err
	}
	if got := client.Root().Version; got != d.wanted {
		return fmt.Errorf("the client has root %d, want %d", got, d.wanted)
	}
	return nil
}

func (d *drill) replace(lost string) error {
	fresh, err := trust.GenerateKey(d.folder.options.Allow.Development)
	if err != nil {
		return err
	}
	plan := trust.RolePlan{Keys: []trust.PublicKey{fresh.Public()}}
	found := false
	for _, p := range d.repo.PublicKeys(trust.RoleRoot) {
		if found = found || p.ID() == lost; p.ID() != lost {
			plan.Keys = append(plan.Keys, p)
		}
	}
	if !found {
		return fmt.Errorf("no root key has the id %s", lost)
	}
	d.keys = append(d.keys, fresh)
	draft, err := d.repo.DraftRoot(trust.RootPlan{trust.RoleRoot: plan})
	if err != nil {
		return err
	}
	for _, k := range d.keys {
		if slices.Contains(d.repo.RootInfo().Roles[trust.RoleRoot].Keys, k.Public().ID()) || k == fresh {
			if draft, err = trust.SignRoot(draft, k); err != nil {
				return err
			}
		}
	}
	d.wanted++
	return d.repo.InstallRoot(draft, d.keys)
}

func (d *drill) gone(lost string) error {
	info := d.repo.RootInfo()
	if slices.Contains(info.Roles[trust.RoleRoot].Keys, lost) {
		return errors.New("the new root still names it")
	}
	return nil
}

// Keys describes the keys that count.
func (f *Folder) Keys() trust.RootInfo { return f.repo.RootInfo() }

// Expiries returns when each role's signature expires, for warnings.
func (f *Folder) Expiries() map[trust.KeyRole]time.Time { return f.repo.Expiries() }

// Lists names the newest documents of the signed list, in the order in which clients read them.
func (f *Folder) Lists() []string { return f.repo.Lists() }
