package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"collet/build/publish"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/text"
)

// releaseCommand is `collet release`.
type releaseCommand struct {
	Init     releaseInitCommand     `cmd:"" help:"Set up a release folder: settings, and signed lists without a release."`
	Publish  releasePublishCommand  `cmd:"" help:"Make a release of a game folder."`
	List     releaseListCommand     `cmd:"" help:"List the releases and who is offered them."`
	Show     releaseShowCommand     `cmd:"" help:"Tell all about one release."`
	Estimate releaseEstimateCommand `cmd:"" help:"Tell what a client fetches that goes from one release to another."`
	Promote  releasePromoteCommand  `cmd:"" help:"Offer a release in another channel."`
	Rollout  releaseRolloutCommand  `cmd:"" help:"Offer a release to more or fewer players."`
	Hold     releaseHoldCommand     `cmd:"" help:"Stop offering a release; whoever has it keeps it."`
	Kill     releaseKillCommand     `cmd:"" help:"Take a release back for ever; whoever has it leaves it."`
	GC       releaseGCCommand       `cmd:"" name:"gc" help:"Remove what no release needs. Shows what without --apply."`
	Verify   releaseVerifyCommand   `cmd:"" help:"Read everything again and compare it with what is signed."`
	Refresh  releaseRefreshCommand  `cmd:"" help:"Sign anew what expires soon. To be run every day."`
}

// Help is what --help adds to the list of commands.
func (releaseCommand) Help() string {
	return `A release folder is what players read, from collet-server, from any web server or from a bucket. From nothing to the
first release:

  collet keys init --keys keys
  collet release init --dir release --keys keys --product lathe
  collet release publish ./game --dir release

The folder is --dir, or $COLLET_RELEASE, or ./release. Passphrases come from $COLLET_PASSPHRASE, from --passphrase-file, or
are asked for on a terminal. docs/RELEASING.md is the whole walk-through.`
}

// folderFlags say which release folder is meant. Embed it.
type folderFlags struct {
	Dir string `group:"folder" env:"COLLET_RELEASE" default:"release" placeholder:"DIR" help:"The release folder (default: $$COLLET_RELEASE, or ./${default})."`
}

// keyFlags say where keys are. Embed it.
type keyFlags struct {
	Keys           string `group:"folder" env:"COLLET_KEYS" placeholder:"DIR" help:"The folder of the keys (default: $$COLLET_KEYS, or what the settings of the release folder say)."`
	PassphraseFile string `group:"folder" env:"COLLET_PASSPHRASE_FILE" placeholder:"FILE" help:"File with the passphrase of the keys (default: $$COLLET_PASSPHRASE, or a question on the terminal)."`
}

// allowFlags name what is refused otherwise. Embed it.
type allowFlags struct {
	AllowDevelopment bool `group:"folder" help:"Take keys that lie in the clear, for trying things out."`
	AllowSingleRoot  bool `group:"folder" help:"Take a root that one person, or one lost key, decides about."`
}

func (f allowFlags) allow() trust.Allow {
	return trust.Allow{Development: f.AllowDevelopment, SingleRoot: f.AllowSingleRoot}
}

// outputFlags say where else a change goes. Embed it.
type outputFlags struct {
	To string `group:"folder" placeholder:"OUTPUT" help:"Bring this place up to date, too: a folder, or s3://bucket/prefix?endpoint=host:port (default: what the settings say)."`
}

// jsonFlags choose the form of a table. Embed it.
type jsonFlags struct {
	JSON bool `name:"json" group:"out" help:"Print JSON instead of a table."`
}

// workshop is a release folder that a command works on.
type workshop struct {
	*publish.Folder
	console console
	dir     *platform.Dir
	flags   folderFlags
	shows   *progress
}

// open opens the folder. The caller closes it.
func (f folderFlags) open(c console, o publish.Options) (*workshop, error) {
	dir, err := openDir(f.Dir, "make it with collet release init, or name another one with --dir")
	if err != nil {
		return nil, err
	}
	w := &workshop{console: c, dir: dir, flags: f, shows: newProgress(c.err)}
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
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w; %s", name, platform.Reason(err), next)
	}
	return dir, nil
}

// close lets go of the folder.
func (w *workshop) close() error {
	w.shows.end()
	return errors.Join(w.Folder.Close(), w.dir.Close())
}

// step shows progress.
func (w *workshop) step(p publish.Progress) {
	w.shows.show(func(time.Time) string {
		text := p.Doing
		if p.Total > 0 {
			text += fmt.Sprintf(" %s of %s (%d %%)", byteText(p.Done), byteText(p.Total), p.Done*100/p.Total)
		}
		if p.What != "" {
			text += ": " + clean(p.What)
		}
		return text
	})
}

// signers opens the keys of roles.
func (w *workshop) signers(k keyFlags, roles ...trust.KeyRole) ([]*trust.PrivateKey, error) {
	ring, done, err := w.ring(k)
	if err != nil {
		return nil, err
	}
	keys, err := ring.Open(roles...)
	return keys, errors.Join(err, done())
}

// openWithKeys opens the release folder and that of its keys. done closes both.
func (f folderFlags) openWithKeys(c console, k keyFlags, o publish.Options) (w *workshop, ring *publish.Keyring, done func() error, err error) {
	if w, err = f.open(c, o); err != nil {
		return nil, nil, nil, err
	}
	ring, closeRing, err := w.ring(k)
	if err != nil {
		return nil, nil, nil, errors.Join(err, w.close())
	}
	return w, ring, func() error { return errors.Join(closeRing(), w.close()) }, nil
}

// ring opens the folder of the keys.
func (w *workshop) ring(k keyFlags) (*publish.Keyring, func() error, error) {
	name := k.Keys
	if name == "" {
		name = w.Settings().Keys
		if !filepath.IsAbs(name) {
			name = filepath.Join(w.flags.Dir, name)
		}
	}
	return k.openRing(name)
}

func (k keyFlags) openRing(name string) (*publish.Keyring, func() error, error) {
	dir, err := openDir(name, "name the folder of the keys with --keys, or make one with collet keys init")
	if err != nil {
		return nil, nil, err
	}
	return publish.OpenKeyring(dir, k.passphrase), dir.Close, nil
}

// makeRing opens a folder of keys. One that is not there is made when there is something to put into it.
func (k keyFlags) makeRing() (*publish.Keyring, func() error, error) {
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
	return publish.NewKeyring(full, create, k.passphrase), func() error { return done() }, nil
}

// releaseSigners opens the keys that change a list of releases.
func (w *workshop) releaseSigners(k keyFlags) ([]*trust.PrivateKey, error) {
	return w.signers(k, trust.RoleTargets, trust.RoleSnapshot, trust.RoleTimestamp)
}

// mirror brings the other place up to date, if there is one.
func (w *workshop) mirror(ctx context.Context, o outputFlags, remove bool) error {
	name := o.To
	if name == "" {
		name = w.Settings().Output
	}
	if name == "" {
		return nil
	}
	out, closer, err := publish.OpenOutput(name, os.Getenv)
	if err != nil {
		return err
	}
	s, err := w.Folder.Mirror(ctx, out, remove)
	if err = errors.Join(err, closer.Close()); err != nil {
		return err
	}
	w.shows.end()
	fmt.Fprintf(w.console.err, "%v is up to date: %d files written (%s), %d removed\n", out, s.Files, byteText(s.Bytes), s.Removed)
	return nil
}

// changing opens a folder and its keys, does some work and brings the other place up to date.
func changing(ctx context.Context, c console, f folderFlags, k keyFlags, a allowFlags, o outputFlags, work func(*workshop, []*trust.PrivateKey) error) (err error) {
	w, err := f.open(c, publish.Options{Allow: a.allow()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	keys, err := w.releaseSigners(k)
	if err != nil {
		return err
	}
	if err := work(w, keys); err != nil {
		return interrupted(ctx, err)
	}
	return interrupted(ctx, w.mirror(ctx, o, false))
}

// interrupted replaces an error after Ctrl-C by one line.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: nothing half done is visible; run the same command again to go on")
	}
	return err
}

// reading opens a folder without changing it.
func reading(c console, f folderFlags, work func(*workshop) error) (err error) {
	w, err := f.open(c, publish.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	return work(w)
}

// printJSON prints a value for programs.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(text.NewJSONWriter(out))
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// byteText is a size for people, in units of 1000.
func byteText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	units, v := "kMGTP", float64(n)/1000
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1000, units[1:]
	}
	if v < 99.95 {
		return fmt.Sprintf("%.1f %cB", v, units[0])
	}
	return fmt.Sprintf("%.0f %cB", v, units[0])
}
