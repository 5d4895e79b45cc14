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
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/pack"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// releaseInitCommand is `collet release init`.
type releaseInitCommand struct {
	folderFlags
	keyFlags
	allowFlags
	Product string `required:"" group:"what" placeholder:"NAME" help:"The game's name in addresses: letters, digits, dot, dash and underscore."`
	Need    int    `group:"what" default:"1" placeholder:"N" help:"How many of the targets keys have to sign a release (default: ${default})."`
}

// Help is what --help adds to the flags.
func (releaseInitCommand) Help() string {
	return `Makes the folder with its settings, release.toml, and signs an empty list of releases. The folder of the keys must have two
root keys and one key of each other role. Afterwards give each root key to another person and remove it from the folder.

  collet keys init --keys keys
  collet release init --dir release --keys keys --product lathe`
}

// Run sets the folder up.
func (r releaseInitCommand) Run(ctx context.Context, c console.Console) (err error) {
	if r.Keys == "" {
		r.Keys = filepath.Join(r.Dir, publish.DefaultSettings().Keys)
	}
	ring, done, err := r.openRing(r.Keys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	plan, err := ring.Plan()
	if err != nil {
		return err
	}
	targets := plan[trust.RoleTargets]
	if r.Need < 1 || r.Need > len(targets.Keys) {
		return console.Usage(fmt.Errorf("--need %d: there are %d targets keys; collet keys init --releasers makes more", r.Need, len(targets.Keys)))
	}
	targets.Threshold = r.Need
	plan[trust.RoleTargets] = targets
	keys, err := ring.Open(trust.KeyRoles()...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("make the release folder %s: %w; name another one with --dir", r.Dir, platform.Reason(err))
	}
	dir, err := openDir(r.Dir, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	keysFolder, err := relativeKeys(r.Dir, r.Keys)
	if err != nil {
		return err
	}
	if err := publish.Init(dir, r.Product, keysFolder, plan, keys, publish.Options{Allow: r.allow()}); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "release folder %s is set up for %s\nsettings: %s\nnext: collet keys export root.json, which the client is built with, and collet release publish GAME\n",
		r.Dir, r.Product, filepath.Join(r.Dir, publish.SettingsFile))
	return nil
}

// relativeKeys is the folder of the keys as the settings have it: relative to the release folder, with slashes. On another volume of Windows
// it is absolute.
func relativeKeys(folder, keys string) (string, error) {
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(keys)
	if err != nil {
		return "", err
	}
	if relative, err := filepath.Rel(from, to); err == nil {
		to = relative
	}
	return filepath.ToSlash(to), nil
}

// releasePublishCommand is `collet release publish`.
type releasePublishCommand struct {
	Game string `arg:"" optional:"" placeholder:"GAME" help:"Folder with Resources and PlatformBinaries/<target>, or, with --target, an install (default: what collet.toml describes)."`
	folderFlags
	keyFlags
	allowFlags
	outputFlags
	proposeFlags
	console.JSONFlags

	Number    *uint64           `group:"what" placeholder:"N" help:"Number of the release (default: the highest plus one)."`
	Label     string            `group:"what" placeholder:"TEXT" help:"Version that players see (default: the number)."`
	Target    string            `group:"what" placeholder:"TARGET" help:"Publish only this target, for example Linux-x64 (default: all in the folder)."`
	Notes     map[string]string `group:"what" placeholder:"LANG=FILE" help:"Release notes in a language (default: GAME/notes/<language>.md)."`
	Patches   int               `group:"what" default:"-1" placeholder:"N" help:"Make patches from the last N releases (default: the number in the settings)."`
	PatchFrom []uint64          `group:"what" placeholder:"N" help:"Also make a patch from this release. May be repeated."`

	Effort publish.Effort `group:"what" enum:"fast,balanced,best," default:"" placeholder:"EFFORT" help:"Processor time for new files: fast, balanced or best (default: the one in the settings, which is balanced at first)."`

	Compatibility *string `group:"what" placeholder:"TEXT" help:"Compatibility version of the game (default: the one in the settings)."`
	Logic         *uint32 `group:"what" placeholder:"N" help:"Logic version."`
	HostABI       *uint32 `name:"host-abi" group:"what" placeholder:"N" help:"The oldest host ABI that can run it."`
	HostBuild     *uint64 `group:"what" placeholder:"N" help:"The oldest host build that can install it."`

	Channel string `group:"who" placeholder:"NAME" help:"Channel of the release (default: the one in the settings)."`
	Percent *int   `group:"who" placeholder:"P" help:"Percentage of players who are offered it (default: the one in the settings)."`
	Hold    bool   `group:"who" help:"Do not offer it until collet release hold --off."`

	File     string `group:"what" short:"f" default:"collet.toml" placeholder:"FILE" help:"Without GAME: the description of the project (default: ${default})."`
	CI       bool   `name:"ci" group:"out" help:"Run in a build job: ask for nothing, and take keys from the environment if they are there."`
	Yes      bool   `group:"what" env:"COLLET_YES" help:"All that would be asked is meant: packs and targets that disappear, a new channel, an unchanged set, a set without packs."`
	DryRun   bool   `group:"what" help:"Check, pack and make patches, and tell what players would fetch, but sign nothing: no player gets anything. Needs no keys."`
	imagined bool   // the release folder is one of imagine

	Summary string `group:"out" placeholder:"FILE" help:"Append a summary in Markdown: files added, changed and removed, and what players of the last five releases fetch."`
}

// Help is what --help adds to the flags.
func (releasePublishCommand) Help() string {
	return `Hashes the game folder, packs new files, makes patches from the last releases, and signs the list. Unchanged files are not
read again. Players always see the previous release or this one, complete. Run the same command again after an interruption:
it continues where it stopped.

  collet release publish                              # the project of collet.toml
  collet release publish ./game
  collet release publish ./game --number 8 --channel beta --percent 10 --notes en=notes.md
  collet release publish ./install --target Windows-win64 --to 's3://games/lathe?endpoint=s3.example.org'
  collet release publish --to www --to 's3://games/lathe?endpoint=s3.example.org'   # two places
  collet release publish --dry-run                    # what would change, and what players would fetch
  collet release publish --ci --summary "$GITHUB_STEP_SUMMARY"

First it checks the game. It refuses what can't be right: a target that no client asks for, a module that is no library of its
target, a program that was built for another one, a name that not every system takes. It asks about what may be meant: a set
without packs or without a module, a pack that can't be opened, packs and targets that disappear, a channel that is new, a set
that has not changed. Without a terminal, and with --ci, such a publication needs --yes. Signed rules (collet release rules) stay in
force: a note says if they would keep clients of this release out. A dry
run tells what would be asked, and without --yes it ends there with exit code 1, too.

With --ci the texts of the key files can be in $COLLET_KEY_TARGETS, $COLLET_KEY_SNAPSHOT and $COLLET_KEY_TIMESTAMP, and their
passphrase in $COLLET_PASSPHRASE. docs/RELEASING.md has examples for GitHub and GitLab.`
}

var errDryProposal = errors.New("--dry-run and --propose do not go together: a proposal changes nothing until it is accepted")

// Run publishes.
func (r releasePublishCommand) Run(ctx context.Context, c console.Console) error {
	request, err := r.request()
	if err != nil {
		return err
	}
	if r.DryRun && r.Propose != "" {
		return console.Usage(errDryProposal)
	}
	r.keyFlags.ci = r.CI
	game, done, err := r.openGame(ctx, c, &request)
	if err != nil {
		return interrupted(ctx, err)
	}
	p := published{imagined: r.imagined}
	v := newReviewer(c, "publish", r.Yes, r.DryRun, r.CI)
	work := func(w *workshop, keys []*trust.PrivateKey) (err error) {
		request.Review = func(ctx context.Context, found publish.Review) error {
			w.shows.ClearLine()
			return v.review(ctx, found)
		}
		if p.Summary, err = w.Folder.Publish(ctx, game, request, keys); err == nil {
			err = p.addUpdates(ctx, c, w)
		}
		if err == nil && r.Summary != "" {
			err = appendSummary(r.Summary, p)
		}
		if err == nil && r.DryRun {
			err = w.foresee(ctx, r.outputFlags, p.Summary)
		}
		return err
	}
	if r.DryRun {
		p.dryRun = true
		err = unsigned(ctx, c, r.folderFlags, r.allowFlags, work)
	} else {
		err = r.changingOrProposing(ctx, c, r.folderFlags, r.keyFlags, r.allowFlags, r.outputFlags, work)
	}
	return cmp.Or(p.tell(r.JSONFlags, c.Out, errors.Join(err, done())), v.refusal())
}

// openGame opens the folder of the game, or composes it as collet.toml describes. done closes it.
func (r *releasePublishCommand) openGame(ctx context.Context, c console.Console, q *publish.Request) (game platform.FS, done func() error, err error) {
	if r.Game != "" {
		dir, err := openDir(r.Game, "name the folder of the game")
		if err != nil {
			return nil, nil, err
		}
		return dir, dir.Close, nil
	}
	if _, err := os.Stat(r.File); errors.Is(err, os.ErrNotExist) {
		return nil, nil, console.Usage(fmt.Errorf("there is no %s: name the folder of the game, or make a description with collet wrap or collet pack init", r.File))
	}
	load, scratch := pack.Load, ""
	if r.DryRun {
		load = pack.LoadUnrooted
		scratch, err = r.imagine(c)
	} else {
		err = r.setUp(ctx, c)
	}
	if err != nil {
		return nil, nil, err
	}
	done = func() error { return removeFolders(scratch) }
	project, err := descriptionFlag{r.File}.loadBy(load, c)
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	made, err := os.MkdirTemp("", "collet-publish-")
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	done = func() error { return removeFolders(scratch, made) }
	offer, err := project.Offer(ctx, made)
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	q.Describe = offer.Describe
	if q.Version == "" {
		q.Version = project.Game.Version
	}
	q.Head = func(h *release.Head) {
		if h.Compatibility == "" {
			h.Compatibility = project.Server.Compatibility
		}
		r.head(h)
	}
	return offer, done, nil
}

// removeFolders removes folders that commands made for themselves; empty names are skipped.
func removeFolders(names ...string) (err error) {
	for _, name := range names {
		if name != "" {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	return err
}

// imagine says what the first publication would make, and lets the dry run work in an empty release folder beside its place, with keys that
// exist in memory only. scratch is that folder, to be removed; empty if there is a release folder.
func (r *releasePublishCommand) imagine(c console.Console) (scratch string, err error) {
	first, err := pack.LoadFirst(r.File)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(r.Dir, publish.SettingsFile)); !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if first.Product == "" {
		return "", fmt.Errorf("there is no release folder %s, and %s has no client.product to make one for: add it, or name the folder with --dir", r.Dir, r.File)
	}
	parent, err := filepath.Abs(filepath.Dir(r.Dir))
	if err != nil {
		return "", err
	}
	if scratch, err = os.MkdirTemp(parent, ".collet-dry-run-"); err != nil {
		return "", fmt.Errorf("a dry run without a release folder works beside its place: %w", platform.Reason(err))
	}
	if err := initEmpty(scratch, first.Product); err != nil {
		return "", errors.Join(err, os.RemoveAll(scratch))
	}
	keys := cmp.Or(r.Keys, filepath.Join(r.Dir, publish.DefaultSettings().Keys))
	fmt.Fprintf(c.Err, "first publication: it makes the release folder %s for %s", r.Dir, first.Product)
	if _, err := os.Stat(first.Root); first.Root != "" && errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(c.Err, ", and %s, which packed clients trust", first.Root)
	}
	fmt.Fprintln(c.Err)
	if _, err := os.Stat(keys); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(c.Err, "there are no keys in %s yet: make them with collet keys init\n", filepath.Clean(keys))
	}
	r.Dir, r.imagined, r.allowFlags = scratch, true, allowFlags{AllowDevelopment: true, AllowSingleRoot: true}
	return scratch, nil
}

// initEmpty makes a release folder with keys that exist in memory only, so its lists are of no use elsewhere.
func initEmpty(name, product string) (err error) {
	plan := trust.RootPlan{}
	var keys []*trust.PrivateKey
	for _, role := range trust.KeyRoles() {
		key, err := trust.GenerateKey(true)
		if err != nil {
			return err
		}
		keys = append(keys, key)
		plan[role] = trust.RolePlan{Keys: []trust.PublicKey{key.Public()}, Threshold: 1}
	}
	dir, err := openDir(name, "")
	if err != nil {
		return err
	}
	err = publish.Init(dir, product, "", plan, keys, publish.Options{Allow: trust.Allow{Development: true, SingleRoot: true}})
	return errors.Join(err, dir.Close())
}

// setUp makes what a project lacks before its first release: the release folder, and the trusted root that the client is packed with. Both
// follow from the description and the keys.
func (r releasePublishCommand) setUp(ctx context.Context, c console.Console) error {
	first, err := pack.LoadFirst(r.File)
	if err != nil || first.Product == "" {
		return err
	}
	if _, err = os.Stat(filepath.Join(r.Dir, publish.SettingsFile)); errors.Is(err, fs.ErrNotExist) {
		begin := releaseInitCommand{folderFlags: r.folderFlags, keyFlags: r.keyFlags, allowFlags: r.allowFlags, Product: first.Product, Need: 1}
		if err := begin.Run(ctx, console.Console{Out: io.Discard, Err: c.Err, Args: c.Args}); err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "made the release folder %s\n", r.Dir)
	}
	if _, err := os.Stat(first.Root); first.Root != "" && errors.Is(err, fs.ErrNotExist) {
		export := keysExportCommand{File: first.Root, folderFlags: r.folderFlags, allowFlags: r.allowFlags}
		if err := export.Run(console.Console{Out: io.Discard, Err: c.Err, Args: c.Args}); err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "wrote %s, which packed clients trust\n", first.Root)
	}
	return nil
}

// request is what the flags ask for.
func (r releasePublishCommand) request() (publish.Request, error) {
	q := publish.Request{
		Channel: r.Channel, Target: r.Target, Version: r.Label, Percent: r.Percent, Hold: r.Hold,
		PatchFrom: r.PatchFrom, Notes: map[string][]byte{}, Head: r.head, Effort: r.Effort, DryRun: r.DryRun,
	}
	if fault := release.NameFault(r.Channel); r.Channel != "" && fault != "" {
		return q, console.Usage(fmt.Errorf("--channel %q %s", r.Channel, fault))
	}
	if r.Number != nil {
		if q.Number = *r.Number; q.Number == 0 || q.Number > release.MaxNumber {
			return q, console.Usage(fmt.Errorf("--number %d: want 1 to %d, or leave it out", q.Number, uint64(release.MaxNumber)))
		}
	}
	if r.Percent != nil && (*r.Percent < 0 || *r.Percent > 100) {
		return q, console.Usage(fmt.Errorf("--percent %d: want 0 to 100", *r.Percent))
	}
	if r.Patches < -1 || r.Patches > release.MaxPatches {
		return q, console.Usage(fmt.Errorf("--patches %d: want 0 to %d", r.Patches, release.MaxPatches))
	}
	if r.Patches >= 0 {
		q.Patches = &r.Patches
	}
	for language, name := range r.Notes {
		text, err := readSmall(name, "notes", "check --notes", release.MaxNote)
		if err != nil {
			return q, err
		}
		q.Notes[language] = text
	}
	return q, nil
}

// head applies the flags that go before the settings.
func (r releasePublishCommand) head(h *release.Head) {
	if r.Compatibility != nil {
		h.Compatibility = *r.Compatibility
	}
	if r.Logic != nil {
		h.Logic = *r.Logic
	}
	if r.HostABI != nil {
		h.HostABI = *r.HostABI
	}
	if r.HostBuild != nil {
		h.HostBuild = *r.HostBuild
	}
}

// savedText is what a patch saves of the whole, in percent; empty if it saves nothing.
func savedText(bytes, whole int64) string {
	if bytes >= whole {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100-100*float64(bytes)/float64(whole))
}

// offered describes which clients get a release; empty for all.
func offered(e release.Entry) string {
	var words []string
	if e.Killed {
		words = append(words, "killed")
	}
	if e.Hold {
		words = append(words, "held")
	}
	if e.Percent < 100 {
		words = append(words, fmt.Sprintf("%d %% of the players", e.Percent))
	}
	return strings.Join(words, ", ")
}
