package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"collet/build/cmd/collet/compat"
	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/build/publish/keyring"
	"collet/build/publish/places"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/text"
)

// releaseCommand is `collet release`.
type releaseCommand struct {
	Init     releaseInitCommand     `cmd:"" help:"Make a release folder with its settings and an empty signed list."`
	Publish  releasePublishCommand  `cmd:"" help:"Publish a game folder as a release."`
	List     releaseListCommand     `cmd:"" help:"List the releases and their rollouts."`
	Show     releaseShowCommand     `cmd:"" help:"Show one release in detail."`
	Estimate releaseEstimateCommand `cmd:"" help:"Estimate the download from one release to another."`
	Promote  releasePromoteCommand  `cmd:"" help:"Offer a release in another channel."`
	Rollout  releaseRolloutCommand  `cmd:"" help:"Offer a release to more or fewer players."`
	Hold     releaseHoldCommand     `cmd:"" help:"Stop offering a release. Players who have it keep it."`
	Kill     releaseKillCommand     `cmd:"" help:"Withdraw a release for good. Players who have it get another one."`
	Approve  releaseApproveCommand  `cmd:"" help:"Add your signature to a proposal of another person."`
	Accept   releaseAcceptCommand   `cmd:"" help:"Make a proposal public that enough people have signed."`
	GC       releaseGCCommand       `cmd:"" name:"gc" help:"Remove files that no release needs. Only lists them without --apply."`
	Verify   releaseVerifyCommand   `cmd:"" help:"Read all files and compare them with the signed lists."`
	Sync     releaseSyncCommand     `cmd:"" help:"Bring the places up to date with the folder. Signs nothing."`
	Refresh  releaseRefreshCommand  `cmd:"" help:"Renew signatures that expire soon. Run it every day."`
	Rules    releaseRulesCommand    `cmd:"" help:"Sign the server's rules into the folder, for clients that reach no server."`
	Adoption compat.AdoptionCommand `cmd:"" help:"Show which releases players have, and how updates and first starts end."`
}

// Help is what --help adds to the list of commands.
func (releaseCommand) Help() string {
	return `Players download from a release folder, over collet-server, any web server, a bucket, a GitHub release or an OCI registry. The
first release:

  collet keys init --keys keys
  collet release init --dir release --keys keys --product lathe
  collet release publish ./game --dir release

The folder is --dir, $COLLET_RELEASE or ./release. The passphrase of keys is in $COLLET_PASSPHRASE or --passphrase-file, or is
asked for on the terminal. docs/RELEASING.md is the complete walk-through.`
}

// folderFlags say which release folder is meant. Embed it.
type folderFlags struct {
	Dir string `group:"folder" env:"COLLET_RELEASE" default:"release" placeholder:"DIR" help:"The release folder (default: ./${default})."`
}

// keyFlags say where keys are. Embed it.
type keyFlags struct {
	Keys           string `group:"folder" env:"COLLET_KEYS" placeholder:"DIR" help:"The folder of the keys (default: the one in the settings of the release folder)."`
	ci             bool   // no terminal: nothing is asked for, and keys may come from the environment
	PassphraseFile string `group:"folder" env:"COLLET_PASSPHRASE_FILE" placeholder:"FILE" help:"File with the passphrase of the keys (default: $$COLLET_PASSPHRASE, or a prompt on the terminal)."`
}

// allowFlags name what is refused otherwise. Embed it.
type allowFlags struct {
	AllowDevelopment bool `group:"folder" help:"Accept unencrypted development keys, for experiments."`
	AllowSingleRoot  bool `group:"folder" help:"Accept a root that one person controls, or that one lost key disables."`
}

func (f allowFlags) allow() trust.Allow {
	return trust.Allow{Development: f.AllowDevelopment, SingleRoot: f.AllowSingleRoot}
}

// readFlags are those of commands that sign nothing. They accept what the commands beside them need. Embed it.
type readFlags struct {
	AllowDevelopment bool `hidden:"" help:"Nothing is signed, so keys do not matter."`
}

// workshop is a release folder that a command works on.
type workshop struct {
	*publish.Folder
	console console.Console
	dir     *platform.Dir
	flags   folderFlags
	shows   *console.Progress
	eta     stepETA
	others  places.Report // what became of the other places
}

// openFolder opens the folder. The caller closes it.
func (f folderFlags) openFolder(c console.Console, o publish.Options) (*workshop, error) {
	dir, err := openDir(f.Dir, "make it with collet release init, or name another one with --dir")
	if err != nil {
		return nil, err
	}
	w := &workshop{console: c, dir: dir, flags: f, shows: console.NewProgress(c.Err)}
	if slices.Contains(c.Args, "--json") {
		w.shows = console.NewProgress(io.Discard) // programs get the result alone
	}
	o.Progress = w.step
	if w.Folder, err = publish.Open(dir, o); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return w, nil
}

// openDir opens a folder, or says what to do.
func openDir(name, next string) (*platform.Dir, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	dir, err := platform.OpenDir(full)
	if errors.Is(err, fs.ErrPermission) {
		next = "run this as a user who may read and write there"
	}
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w; %s", name, platform.Reason(err), next)
	}
	return dir, nil
}

// close lets go of the folder.
func (w *workshop) close() error {
	w.shows.ClearLine()
	return errors.Join(w.Folder.Close(), w.dir.Close())
}

// step shows progress.
func (w *workshop) step(p publish.Progress) {
	w.eta.note(time.Now(), p)
	w.shows.Show(func(now time.Time) string { return w.eta.format(now, p) })
}

// stepETA estimates when a step ends.
type stepETA struct {
	doing string
	done  int64
	began time.Time
}

// minETA is how long a step has to last before its speed says something, and minShare which part of it is done then, in percent: packing
// together looks at all contents before it packs the first.
const (
	minETA   = time.Second
	minShare = 3
)

// note notes when a step begins.
func (e *stepETA) note(now time.Time, p publish.Progress) {
	if p.Doing != e.doing || p.Done < e.done {
		e.doing, e.began = p.Doing, now
	}
	e.done = p.Done
}

// format formats the line of a progress: stage, step, bytes, share, time left, file.
func (e *stepETA) format(now time.Time, p publish.Progress) string {
	line := p.Doing
	if p.Stages > 0 {
		line = fmt.Sprintf("stage %d of %d, %s", p.Stage, p.Stages, p.Doing)
	}
	if p.Total > 0 {
		line += fmt.Sprintf(" %s of %s (%d %%)", text.Bytes(p.Done), text.Bytes(p.Total), p.Done*100/p.Total)
	}
	if elapsed := now.Sub(e.began); p.Done*100 >= p.Total*minShare && p.Done < p.Total && elapsed >= minETA {
		line += console.TimeLeft(elapsed, p.Done, p.Total)
	}
	if p.What != "" {
		line += ": " + console.Clean(p.What)
	}
	return line
}

// signers opens the keys of roles.
func (w *workshop) signers(k keyFlags, roles ...trust.KeyRole) ([]*trust.PrivateKey, error) {
	if k.ci {
		if keys, err := k.keysFromEnvironment(os.Getenv, roles...); err != nil || keys != nil {
			return keys, cmp.Or(err, misplaced(w.Keys(), keys, roles))
		}
	}
	ring, done, err := w.ring(k)
	if err != nil && k.ci {
		return nil, noKeys(err, roles)
	}
	if err != nil {
		return nil, err
	}
	keys, err := ring.Open(roles...)
	return keys, errors.Join(err, done())
}

// openWithKeys opens the release folder and that of its keys. done closes both.
func (f folderFlags) openWithKeys(c console.Console, k keyFlags, o publish.Options) (w *workshop, ring *keyring.Keyring, done func() error, err error) {
	if w, err = f.openFolder(c, o); err != nil {
		return nil, nil, nil, err
	}
	ring, closeRing, err := w.ring(k)
	if err != nil {
		return nil, nil, nil, errors.Join(err, w.close())
	}
	return w, ring, func() error { return errors.Join(closeRing(), w.close()) }, nil
}

// ring opens the folder of the keys.
func (w *workshop) ring(k keyFlags) (*keyring.Keyring, func() error, error) {
	return k.openRing(w.keysFolder(k))
}

// keysFolder is the folder of the keys: --keys, or that of the settings.
func (w *workshop) keysFolder(k keyFlags) string {
	switch name := w.Settings().Keys; {
	case k.Keys != "":
		return k.Keys
	case filepath.IsAbs(name):
		return name
	default:
		return filepath.Join(w.flags.Dir, name)
	}
}

func (k keyFlags) openRing(name string) (*keyring.Keyring, func() error, error) {
	dir, err := openDir(name, "name the folder of the keys with --keys, or make one with collet keys init")
	if err != nil {
		return nil, nil, err
	}
	return keyring.Open(dir, k.ask()), dir.Close, nil
}

// makeRing opens a folder of keys. One that is not there is made when there is something to put into it.
func (k keyFlags) makeRing() (*keyring.Keyring, func() error, error) {
	name := k.Keys
	if name == "" {
		name = keysFolder
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(full); !errors.Is(err, os.ErrNotExist) {
		return k.openRing(name)
	}
	done := func() error { return nil }
	create := func() (platform.FS, error) {
		if err := os.MkdirAll(full, 0o700); err != nil {
			return nil, err
		}
		dir, err := openDir(full, "name the folder of the keys with --keys")
		if err != nil {
			return nil, err
		}
		done = dir.Close
		return dir, nil
	}
	return keyring.New(full, create, k.ask()), func() error { return done() }, nil
}

// releaseSigners opens the keys that change a list of releases.
func (w *workshop) releaseSigners(k keyFlags) ([]*trust.PrivateKey, error) {
	return w.signers(k, trust.RoleTargets, trust.RoleSnapshot, trust.RoleTimestamp)
}

// changing is changingWith the keys that the flags name.
func changing(ctx context.Context, c console.Console, f folderFlags, k keyFlags, a allowFlags, o outputFlags, work func(*workshop, []*trust.PrivateKey) error) error {
	return changingWith(ctx, c, f, a, o, func(w *workshop) ([]*trust.PrivateKey, error) { return w.releaseSigners(k) }, work)
}

// changingWith opens a folder and its keys, does some work and brings the other place up to date.
func changingWith(ctx context.Context, c console.Console, f folderFlags, a allowFlags, o outputFlags, open func(*workshop) ([]*trust.PrivateKey, error), work func(*workshop, []*trust.PrivateKey) error) (err error) {
	w, err := f.openFolder(c, publish.Options{Allow: a.allow()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	keys, err := open(w)
	if err != nil {
		return err
	}
	others, err := w.openPlaces(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.close()) }()
	if err := work(w, keys); err != nil {
		return interrupted(ctx, err)
	}
	return w.updatePlaces(ctx, others, false)
}

// unsigned opens a folder and does some work that signs nothing.
func unsigned(ctx context.Context, c console.Console, f folderFlags, a allowFlags, work func(*workshop, []*trust.PrivateKey) error) (err error) {
	w, err := f.openFolder(c, publish.Options{Allow: a.allow()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	return interrupted(ctx, work(w, nil))
}

// interrupted replaces an error after Ctrl-C by one line.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: nothing half done is visible; run the same command again to go on")
	}
	return err
}

// reading opens a folder without changing it.
func reading(c console.Console, f folderFlags, work func(*workshop) error) (err error) {
	w, err := f.openFolder(c, publish.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	return work(w)
}
