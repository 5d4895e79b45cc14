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
	"time"

	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/release/proposal"
	"collet/netproto/release/trust"
	"collet/platform"
	"collet/platform/text"
)

// proposeFlags turn a change of the list into a proposal. Embed it.
type proposeFlags struct {
	Propose string `group:"folder" placeholder:"FOLDER" help:"Write the change as a proposal into this folder, a new one, in place of making it public. The keys at hand sign it, if there are any; others add theirs with collet release approve."`
}

// changingOrProposing is changing, or proposing.
func (f proposeFlags) changingOrProposing(ctx context.Context, c console.Console, folder folderFlags, k keyFlags, a allowFlags, o outputFlags, work func(*workshop, []*trust.PrivateKey) error) error {
	if f.Propose != "" {
		return f.proposing(ctx, c, folder, k, a, work)
	}
	return changing(ctx, c, folder, k, a, o, work)
}

// proposing makes a change into a proposal.
func (f proposeFlags) proposing(ctx context.Context, c console.Console, folder folderFlags, k keyFlags, a allowFlags, work func(*workshop, []*trust.PrivateKey) error) (err error) {
	if err := os.MkdirAll(f.Propose, 0o755); err != nil {
		return fmt.Errorf("folder of the proposal: %w", err)
	}
	to, err := openDir(f.Propose, "name another folder with --propose")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	w, err := folder.openFolder(c, publish.Options{Allow: a.allow(), Propose: to})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	keys, err := w.signers(k, trust.RoleTargets)
	if errors.Is(err, fs.ErrNotExist) && k.Keys == "" {
		err = nil // an unsigned proposal
	}
	if err != nil {
		return err
	}
	if err := proposal.CheckFolder(to); err != nil {
		return err
	}
	if err := work(w, keys); err != nil {
		return interrupted(ctx, err)
	}
	w.shows.ClearLine()
	if !w.Proposed() {
		fmt.Fprintln(c.Err, "there is nothing to propose")
		return nil
	}
	p, err := proposal.Read(to)
	if err != nil {
		return err
	}
	info, err := p.Describe(nil, time.Now())
	if err != nil {
		return err
	}
	printProposal(c.Err, to, info, false)
	printNext(c.Err, f.Propose, info)
	return nil
}

// printProposal prints the lines of a proposal: all, or the changed ones. from is its folder, with the heads of new releases.
func printProposal(out io.Writer, from platform.FS, info proposal.Info, all bool) {
	fmt.Fprintf(out, "list %d, under root %d, valid until %s\n", info.Version, info.Root.Version, info.Expires.Format(time.DateOnly))
	t := console.NewTable(out)
	for _, l := range info.Lines {
		if all || l.Changed() {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", markOf(l), console.Clean(l.Entry.Path()), offerOf(l))
		}
	}
	_ = t.Flush() // out keeps its own errors
	for _, l := range info.Lines {
		if l.Before != nil {
			continue
		}
		if h, err := proposal.Head(from, l.Entry); err == nil { // one that is promoted may lie in the release folder only
			fmt.Fprintf(out, "%s: version %s, %d files, %s, set %s\n", console.Clean(l.Entry.Path()), console.Clean(h.Version), h.Count, text.Bytes(h.Bytes), h.Listing.Sum)
		}
	}
}

// markOf says what becomes of a release.
func markOf(l proposal.Line) string {
	switch {
	case l.Gone:
		return "leaves"
	case l.Before == nil:
		return "new"
	case l.Changed():
		return "changed"
	default:
		return "as before"
	}
}

// offerOf says who is offered a release, and who was.
func offerOf(l proposal.Line) string {
	if l.Before == nil || !l.Changed() || l.Gone {
		return offerTo(l.Entry)
	}
	line := offerTo(*l.Before) + " → " + offerTo(l.Entry)
	if l.Before.Head != l.Entry.Head {
		line += ", WITH OTHER FILES"
	}
	return line
}

// offerTo is who is offered a release.
func offerTo(e release.Entry) string { return cmp.Or(offered(e), "everybody") }

// printNext prints who signed, and what to do now.
func printNext(out io.Writer, folder string, info proposal.Info) {
	for _, id := range info.Signers {
		fmt.Fprintf(out, "signed by %s\n", id)
	}
	if len(info.Signers) < info.Need {
		fmt.Fprintf(out, "%d of %d signatures; a holder of another targets key adds one:\n  collet release approve %s --keys KEYS\n", len(info.Signers), info.Need, text.ShellWord(folder))
		return
	}
	fmt.Fprintf(out, "%d of %d signatures; the machine with the keys of snapshot and timestamp makes it public:\n  collet release accept %s\n", len(info.Signers), info.Need, text.ShellWord(folder))
}

// releaseApproveCommand is `collet release approve`.
type releaseApproveCommand struct {
	Proposal string `arg:"" placeholder:"PROPOSAL" help:"Folder of the proposal."`
	keyFlags
	Against string `group:"folder" placeholder:"DIR" help:"Check against the root and the list of this release folder (default: those that the proposal brought along)."`
	Yes     bool   `group:"consent" help:"Sign without asking."`
	DryRun  bool   `group:"consent" help:"Show the proposal and sign nothing."`
}

// Help is what --help adds to the flags.
func (releaseApproveCommand) Help() string {
	return `Shows what a proposal changes, asks, and adds the signatures of the targets keys in --keys (default: ./keys). The whole list is
signed, so all of its releases are shown, and its files are checked against their names. Root and list before come from the proposal's author, unless --against names a copy of the
release folder that you trust: its metadata is enough.

  collet release approve proposal --dry-run
  collet release approve proposal --keys /media/anna --against release`
}

// Run shows and signs.
func (r releaseApproveCommand) Run(ctx context.Context, c console.Console) (err error) {
	dir, err := openDir(r.Proposal, "name the folder that collet release publish --propose made")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	p, err := proposal.Read(dir)
	if err != nil {
		return err
	}
	known, err := r.known(c)
	if err != nil {
		return err
	}
	info, err := p.Describe(known, time.Now())
	if err != nil {
		return err
	}
	printProposal(c.Out, dir, info, true)
	if err := proposal.CheckFiles(dir, info.Lines); err != nil {
		return err
	}
	if known == nil {
		fmt.Fprintln(c.Out, "checked against the root and the list that the proposal brought along; --against names a release folder of your own")
	} else {
		p.Root = known.Root
	}
	if r.DryRun {
		printNext(c.Out, r.Proposal, info)
		return nil
	}
	ring, done, err := r.openRing(cmp.Or(r.Keys, keysFolder))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := r.ask(ctx, c); err != nil {
		return err
	}
	keys, err := ring.Open(trust.RoleTargets)
	if err != nil {
		return err
	}
	ids, err := p.Sign(keys)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return fmt.Errorf("%s has no key that root %d lets sign releases; name the folder that has one with --keys", cmp.Or(r.Keys, keysFolder), info.Root.Version)
	}
	if err := p.Write(dir); err != nil {
		return err
	}
	if info, err = p.Describe(known, time.Now()); err != nil {
		return err
	}
	printNext(c.Out, r.Proposal, info)
	return nil
}

// known are root and list of Against; nil without one.
func (r releaseApproveCommand) known(c console.Console) (*proposal.Known, error) {
	if r.Against == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(r.Against, publish.SettingsFile)); err != nil {
		return nil, console.Usage(fmt.Errorf("--against %s is no release folder: %s: %w; name the one that the proposal is for, or leave --against out", r.Against, publish.SettingsFile, platform.Reason(err)))
	}
	var known proposal.Known
	err := reading(c, folderFlags{Dir: r.Against}, func(w *workshop) (err error) {
		known, err = w.Known()
		return err
	})
	return &known, err
}

// ask asks before signing.
func (r releaseApproveCommand) ask(ctx context.Context, c console.Console) error {
	if r.Yes {
		return nil
	}
	if !platform.IsTerminal(os.Stdin) {
		return console.Usage(errors.New("there is no terminal to ask; say --yes to sign, or --dry-run to look"))
	}
	meant, err := console.Confirm(ctx, os.Stdin, c.Out, "Sign this list?")
	if err == nil && !meant {
		err = errors.New("nothing was signed")
	}
	return err
}

// releaseAcceptCommand is `collet release accept`.
type releaseAcceptCommand struct {
	Proposal string `arg:"" placeholder:"PROPOSAL" help:"Folder of the proposal."`
	folderFlags
	keyFlags
	allowFlags
	outputFlags
	Sign bool `group:"consent" help:"Sign it with the targets keys at hand first, as collet release approve does: shows it, and asks."`
	Yes  bool `group:"consent" help:"With --sign: do not ask."`
}

// Help is what --help adds to the flags.
func (releaseAcceptCommand) Help() string {
	return `Makes a proposal public that enough holders of targets keys have signed. Takes its files into the release folder after checking
them, signs snapshot and timestamp, and updates the copies. The proposal must follow the present list: if that has changed, the
author proposes again. Run the same command again after an interruption.

  collet release accept proposal
  collet release accept proposal --sign      # where a targets key is, too`
}

// Run accepts.
func (r releaseAcceptCommand) Run(ctx context.Context, c console.Console) (err error) {
	from, err := openDir(r.Proposal, "name the folder that collet release publish --propose made")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if r.Sign {
		approve := releaseApproveCommand{Proposal: r.Proposal, keyFlags: r.keyFlags, Against: r.Dir, Yes: r.Yes}
		if approve.Keys, err = r.keysFolder(c); err != nil {
			return err
		}
		if err := approve.Run(ctx, c); err != nil {
			return err
		}
	}
	return changing(ctx, c, r.folderFlags, r.keyFlags, r.allowFlags, r.outputFlags, func(w *workshop, keys []*trust.PrivateKey) error {
		a, err := w.Accept(ctx, from, keys)
		if err != nil {
			return err
		}
		w.shows.ClearLine()
		printProposal(c.Out, from, a.Info, false)
		_, err = fmt.Fprintf(c.Out, "public, signed by %s; %d new files, %s\n", strings.Join(a.Info.Signers, " and "), a.Files, text.Bytes(a.Bytes))
		return err
	})
}

// keysFolder is the folder of the keys: --keys, or that of the release folder's settings.
func (r releaseAcceptCommand) keysFolder(c console.Console) (name string, err error) {
	err = reading(c, r.folderFlags, func(w *workshop) error {
		name = w.keysFolder(r.keyFlags)
		return nil
	})
	return name, err
}
