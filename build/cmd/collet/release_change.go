package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform/text"
)

// releasePromoteCommand is `collet release promote`.
type releasePromoteCommand struct {
	Number uint64 `arg:"" placeholder:"NUMBER" help:"Number of the release."`
	folderFlags
	keyFlags
	allowFlags
	outputFlags
	console.JSONFlags
	proposeFlags
	whichFlags
	Into     string  `required:"" group:"who" placeholder:"NAME" help:"The channel to offer it in."`
	AsNumber *uint64 `group:"who" placeholder:"N" help:"Its number there (default: the same)."`
	Percent  int     `group:"who" default:"100" placeholder:"P" help:"Percentage of players there who are offered it (default: ${default})."`
	Yes      bool    `group:"consent" env:"COLLET_YES" help:"A channel that is new is meant."`
	DryRun   bool    `group:"consent" help:"Make patches, and tell what players there would fetch, but sign nothing: no player gets anything. Needs no keys."`
}

// Help is what --help adds to the flags.
func (releasePromoteCommand) Help() string {
	return `Offers the same files in another channel, with patches from the releases that its players have.

Asks if that channel is new; without a terminal it needs --yes then. A release that was killed in any channel is not promoted.

  collet release promote 8 --channel beta --into stable --percent 10
  collet release promote 8 --channel beta --into stable --dry-run     # what players there would fetch`
}

// Run promotes.
func (r releasePromoteCommand) Run(ctx context.Context, c console.Console) error {
	q := publish.Promotion{Which: r.which(r.Number), Into: r.Into, Percent: r.Percent, DryRun: r.DryRun}
	switch fault := release.NameFault(r.Into); {
	case fault != "":
		return console.Usage(fmt.Errorf("--into %q %s", r.Into, fault))
	case r.Percent < 0 || r.Percent > 100:
		return console.Usage(fmt.Errorf("--percent %d: want 0 to 100", r.Percent))
	case r.AsNumber != nil && (*r.AsNumber == 0 || *r.AsNumber > release.MaxNumber):
		return console.Usage(fmt.Errorf("--as-number %d: want 1 to %d, or leave it out", *r.AsNumber, uint64(release.MaxNumber)))
	case r.AsNumber != nil:
		q.Number = *r.AsNumber
	}
	if r.DryRun && r.Propose != "" {
		return console.Usage(errDryProposal)
	}
	v := newReviewer(c, "promote", r.Yes, r.DryRun, false)
	p := published{dryRun: r.DryRun}
	work := func(w *workshop, keys []*trust.PrivateKey) (err error) {
		q.Review = func(ctx context.Context, found publish.Review) error {
			w.shows.ClearLine()
			return v.review(ctx, found)
		}
		if p.Summary, err = w.Promote(ctx, q, keys); err == nil {
			err = p.addUpdates(ctx, c, w)
		}
		if err == nil && r.DryRun {
			err = w.foresee(ctx, r.outputFlags, p.Summary)
		}
		return err
	}
	var err error
	if r.DryRun {
		err = unsigned(ctx, c, r.folderFlags, r.allowFlags, work)
	} else {
		err = r.changingOrProposing(ctx, c, r.folderFlags, r.keyFlags, r.allowFlags, r.outputFlags, work)
	}
	return cmp.Or(p.tell(r.JSONFlags, c.Out, err), v.refusal())
}

// changeFlags are those of commands that change lines of the signed list. Embed it.
type changeFlags struct {
	folderFlags
	keyFlags
	allowFlags
	outputFlags
	proposeFlags
	whichFlags
}

// change changes the lines and tells what became of them.
func (f changeFlags) change(ctx context.Context, c console.Console, number uint64, change func(*release.Entry)) error {
	return f.changingOrProposing(ctx, c, f.folderFlags, f.keyFlags, f.allowFlags, f.outputFlags, func(w *workshop, keys []*trust.PrivateKey) error {
		changed, err := w.Change(ctx, f.which(number), keys, change)
		if err != nil || f.Propose != "" {
			return err
		}
		list, err := w.Show(f.which(number))
		if err != nil {
			return err
		}
		if !changed {
			fmt.Fprintln(c.Out, "nothing to change")
		}
		if err := warnOfNone(c, w, list); err != nil {
			return err
		}
		for _, l := range list {
			fmt.Fprintf(c.Out, "%s: %s\n", l.Entry.Path(), offerTo(l.Entry))
		}
		return nil
	})
}

// warnOfNone warns if a hold or kill left no release for all players.
func warnOfNone(c console.Console, w *workshop, changed []publish.Listed) error {
	all, err := w.List()
	if err != nil {
		return err
	}
	for _, l := range changed {
		e := l.Entry
		if (e.Hold || e.Killed) && !slices.ContainsFunc(all, func(o publish.Listed) bool {
			return o.Entry.Track() == e.Track() && !o.Entry.Hold && !o.Entry.Killed && o.Entry.Percent == 100
		}) {
			fmt.Fprintf(c.Err, "warning: no release of %s for %s is left for everybody: players keep what they have, and new players get none\n", e.Channel, e.Target)
		}
	}
	return nil
}

// releaseHoldCommand is `collet release hold`.
type releaseHoldCommand struct {
	Number uint64 `arg:"" placeholder:"NUMBER" help:"Number of the release."`
	changeFlags
	Off bool `group:"who" help:"Offer it again."`
}

// Help is what --help adds to the flags.
func (releaseHoldCommand) Help() string {
	return `Stops a rollout and withdraws nothing.

  collet release hold 8
  collet release hold --off 8     # offers it again`
}

// Run holds a release, or lets it go.
func (r releaseHoldCommand) Run(ctx context.Context, c console.Console) error {
	return r.change(ctx, c, r.Number, func(e *release.Entry) { e.Hold = !r.Off })
}

// releaseKillCommand is `collet release kill`.
type releaseKillCommand struct {
	Number uint64 `arg:"" placeholder:"NUMBER" help:"Number of the release."`
	changeFlags
	Yes bool `group:"who" help:"Confirm: it can't be undone."`
}

// Help is what --help adds to the flags.
func (releaseKillCommand) Help() string {
	return `Every client that has the release changes to the highest remaining one, even if its number is lower. No other command makes
clients go back. It can't be undone: publish a corrected release with a higher number. To stop a rollout and withdraw
nothing, use collet release hold.

  collet release kill 8 --yes`
}

// Run kills.
func (r releaseKillCommand) Run(ctx context.Context, c console.Console) error {
	if !r.Yes {
		return console.Usage(errors.New("kill takes a release back for ever; say --yes if you mean it, or use hold"))
	}
	return r.change(ctx, c, r.Number, func(e *release.Entry) { e.Killed = true })
}

// releaseRefreshCommand is `collet release refresh`.
type releaseRefreshCommand struct {
	folderFlags
	keyFlags
	allowFlags
	outputFlags
	proposeFlags
}

// Help is what --help adds to the flags.
func (releaseRefreshCommand) Help() string {
	return `Signs timestamp.json, which is valid for 14 days, and the lists whose validity is half over, if their keys are present. A
server that has only the keys of timestamp and snapshot may run it every day. If the signatures expire, players can still
play, and their clients warn that they can't check for updates. Where other people have the targets keys, --propose makes a proposal
that renews the list's signature for a year.

  collet release refresh`
}

// Run refreshes.
func (r releaseRefreshCommand) Run(ctx context.Context, c console.Console) error {
	if r.Propose != "" {
		return r.proposing(ctx, c, r.folderFlags, r.keyFlags, r.allowFlags, func(w *workshop, keys []*trust.PrivateKey) error { return w.ProposeSame(ctx, keys) })
	}
	return changing(ctx, c, r.folderFlags, r.keyFlags, r.allowFlags, r.outputFlags, func(w *workshop, keys []*trust.PrivateKey) error {
		if err := w.Refresh(ctx, keys); err != nil {
			return err
		}
		for _, role := range trust.KeyRoles() {
			fmt.Fprintf(c.Out, "%s is signed until %s\n", role, w.Expiries()[role].Format("2006-01-02 15:04"))
		}
		return nil
	})
}

// releaseGCCommand is `collet release gc`.
type releaseGCCommand struct {
	folderFlags
	keyFlags
	allowFlags
	outputFlags
	proposeFlags
	Keep  int  `group:"what" placeholder:"N" help:"Keep the newest N releases of each channel and target (default: the number in the settings)."`
	Apply bool `group:"what" help:"Remove the files. Without this flag they are only listed."`
	Names bool `group:"out" help:"List every file."`
}

// Help is what --help adds to the flags.
func (releaseGCCommand) Help() string {
	return `Removes old releases from the signed list: those beyond the number to keep that are older than the newest fully offered one.
Then deletes every file that no release refers to: objects of removed releases, remains of interrupted publications, old lists.

With --propose the shorter list becomes a proposal; once it is public, gc --apply needs no targets key.

  collet release gc
  collet release gc --apply`
}

// Run shows or removes.
func (r releaseGCCommand) Run(ctx context.Context, c console.Console) (err error) {
	if r.Keep < 0 {
		return console.Usage(fmt.Errorf("--keep %d: want 1 or more", r.Keep))
	}
	if r.Propose != "" {
		return r.proposing(ctx, c, r.folderFlags, r.keyFlags, r.allowFlags, func(w *workshop, keys []*trust.PrivateKey) error {
			p, err := w.PlanCollect(ctx, r.Keep)
			if err != nil {
				return err
			}
			return w.Collect(ctx, publish.CollectPlan{Drop: p.Drop}, keys) // the files go once the list is public
		})
	}
	w, err := r.openFolder(c, publish.Options{Allow: r.allow()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	p, err := w.PlanCollect(ctx, r.Keep)
	if err != nil {
		return interrupted(ctx, err)
	}
	for _, e := range p.Drop {
		fmt.Fprintf(c.Out, "release %s\n", e.Path())
	}
	if r.Names {
		for _, f := range p.Remove {
			fmt.Fprintf(c.Out, "%s\t%d\n", f.Name, f.Size)
		}
	}
	fmt.Fprintf(c.Out, "%d releases, %d files, %s\n", len(p.Drop), len(p.Remove), text.Bytes(p.Bytes))
	if !r.Apply {
		fmt.Fprintln(c.Out, "nothing was removed; --apply removes it")
		return nil
	}
	var keys []*trust.PrivateKey
	if len(p.Drop) > 0 {
		if keys, err = w.releaseSigners(r.keyFlags); err != nil {
			return err
		}
	}
	others, err := w.openPlaces(r.outputFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.close()) }()
	if err := w.Collect(ctx, p, keys); err != nil {
		return interrupted(ctx, err)
	}
	return interrupted(ctx, w.updatePlaces(ctx, others, true))
}
