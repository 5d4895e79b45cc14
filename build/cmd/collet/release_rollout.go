package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"collet/build/cmd/collet/compat"
	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/build/publish/rolling"
	"collet/netproto/adoption"
	"collet/netproto/release"
	"collet/netproto/release/rollout"
	"collet/netproto/release/trust"
	"collet/netproto/server/admin"
)

// releaseRolloutCommand is `collet release rollout`.
type releaseRolloutCommand struct {
	Number  uint64 `arg:"" placeholder:"NUMBER" help:"Number of the release."`
	Percent *int   `arg:"" optional:"" placeholder:"PERCENT" help:"Percentage of players who are offered it, 0 to 100."`
	changeFlags

	Auto        bool           `group:"auto" help:"Widen it by the first starts that players' clients report, and hold it if too many fail."`
	Steps       []int          `group:"auto" default:"1,5,25,100" placeholder:"PERCENT" help:"Percentages, one after the other (default: ${default})."`
	Stay        console.Period `group:"auto" default:"2h" placeholder:"TIME" help:"At least so long at each of them, such as 90m or 1d (default: ${default})."`
	Patience    console.Period `group:"auto" default:"0" placeholder:"TIME" help:"Widen after so long without enough evidence, if nothing speaks against it: for small games (default: wait for evidence)."`
	After       console.Period `group:"auto" default:"24h" placeholder:"TIME" help:"Go on judging for so long when all players are offered it (default: ${default})."`
	Every       time.Duration  `group:"auto" default:"1m" placeholder:"TIME" help:"Time between two looks at the figures, 1 s or more (default: ${default})."`
	Worse       float64        `group:"auto" default:"0.4" placeholder:"PERCENT" help:"How many more first starts in a hundred must fail for the release to be bad (default: ${default})."`
	ChanceHold  float64        `group:"auto" default:"0.5" placeholder:"PERCENT" help:"Chance of holding a release that fails no more often than the one before (default: ${default})."`
	ChanceWiden float64        `group:"auto" default:"0.1" placeholder:"PERCENT" help:"Chance of widening one that is bad (default: ${default})."`
	Usual       *float64       `group:"auto" placeholder:"PERCENT" help:"First starts in a hundred that usually fail, where the server knows none of the release before."`
	ProposeKill string         `group:"auto" placeholder:"FOLDER" help:"When the release is held, write a proposal here that takes it back from the players who have it."`
	compat.FiguresFlags
}

// Help is what --help adds to the flags.
func (releaseRolloutCommand) Help() string {
	return `A hash of the install's id decides which players come first, so the first 10 % are part of the first 50 %. Players who have
the release keep it when the percentage falls.

  collet release rollout 8 50
  collet release rollout 8 --auto --server https://play.example.org:9400

With --auto the command runs until the rollout ends. Every minute it asks the server for the first starts of the release, which
clients report where Release.Beacon is set, and compares how many failed with the release before, for each target, by a
sequential test. A target that is good goes to the next step; one that is bad is held, at once. What is decided is told here and
recorded in the server's history. Change the rollout yourself at any time: the command sees it, and ends.

The server has to offer what this command signs: set its Operations.WatchTime, or name its control socket with --control.

It signs by itself: give it the keys, and their passphrase in $COLLET_PASSPHRASE or --passphrase-file. The exit code is 0 when all
players are offered the release, and 1 when it was held. docs/OPERATING.md says what the chances mean.`
}

// Run changes the share, or lets it change.
func (r releaseRolloutCommand) Run(ctx context.Context, c console.Console) error {
	switch {
	case r.Auto && r.Percent != nil:
		return console.Usage(errors.New("PERCENT and --auto do not go together: --auto begins at the present percentage, or at the first step"))
	case r.Auto && r.Propose != "":
		return console.Usage(errors.New("--propose and --auto do not go together: what waits for signatures can't be widened by evidence; --propose-kill is possible"))
	case r.Auto:
		return r.drive(ctx, c)
	case r.Percent == nil:
		return console.Usage(errors.New("name a percentage, 0 to 100, or say --auto"))
	case *r.Percent < 0 || *r.Percent > 100:
		return console.Usage(fmt.Errorf("%d percent: want 0 to 100", *r.Percent))
	}
	held := false
	err := r.change(ctx, c, r.Number, func(e *release.Entry) {
		e.Percent = uint8(*r.Percent)
		held = held || e.Hold && !e.Killed
	})
	if err == nil && held {
		err = fmt.Errorf("release %d is held: no player is offered it; collet release hold --off %d offers it again", r.Number, r.Number)
	}
	return err
}

// plan is how the flags want the rollout to go.
func (r releaseRolloutCommand) plan() rollout.Plan {
	return rollout.Plan{Steps: r.Steps, Stay: r.Stay.Duration(), Patience: r.Patience.Duration(),
		Chances: rollout.Chances{Hold: r.ChanceHold / 100, Widen: r.ChanceWiden / 100, Worse: r.Worse / 100}}
}

// drive lets the rollout drive itself.
func (r releaseRolloutCommand) drive(ctx context.Context, c console.Console) error {
	d := rolling.Driver{
		Plan: r.plan(), Every: r.Every, After: r.After.Duration(), Number: r.Number,
		Entries: func(context.Context) ([]release.Entry, error) { return r.entries(c) },
		Figures: r.firstStarts,
		Reload:  r.FiguresFlags.Reload,
		Record:  r.record,
	}
	if err := d.Plan.Check(); err != nil {
		return console.Usage(err)
	}
	if r.Every < time.Second {
		return console.Usage(fmt.Errorf("--every %v: want 1s or more", r.Every))
	}
	if r.Usual != nil {
		if *r.Usual < 0 || *r.Usual >= 100 {
			return console.Usage(fmt.Errorf("--usual %v: want 0 or more and less than 100", *r.Usual))
		}
		share := *r.Usual / 100
		d.Usual = &share
	}
	// The keys are opened once: a passphrase that is typed is asked for before anything depends on it.
	keys, err := r.openKeys(c)
	if err != nil {
		return err
	}
	d.Change = func(ctx context.Context, next map[string]rollout.Decision) error {
		return r.carryOut(ctx, c, keys, next)
	}
	progress, shown := console.NewProgress(c.Err), map[string]time.Time{}
	d.Tell = func(target, what, reason string, isNew bool) {
		line := console.Clean(fmt.Sprintf("%s %s: %s", target, what, reason))
		now := time.Now()
		if isNew || !progress.Terminal && now.Sub(shown[target]) >= time.Hour { // a log shows that the command is alive
			progress.ClearLine()
			fmt.Fprintf(c.Out, "%s %s\n", now.Format(time.DateTime), line)
			shown[target] = now
		} else if progress.Terminal {
			progress.Show(func(time.Time) string { return line })
		}
	}
	err = d.Drive(ctx)
	progress.ClearLine()
	if errors.Is(err, rolling.ErrHeld) && r.ProposeKill != "" {
		kill := r.changeFlags
		kill.Propose = r.ProposeKill
		err = errors.Join(err, kill.change(ctx, c, r.Number, func(e *release.Entry) { e.Killed = e.Hold }))
	}
	return interrupted(ctx, err)
}

// openKeys opens the keys that change a list.
func (r releaseRolloutCommand) openKeys(c console.Console) (keys []*trust.PrivateKey, err error) {
	w, err := r.openFolder(c, publish.Options{Allow: r.allow(), ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if keys, err = w.releaseSigners(r.keyFlags); err != nil {
		return nil, err
	}
	return keys, w.CheckKeys(keys, trust.RoleTargets, trust.RoleSnapshot, trust.RoleTimestamp)
}

// entries are the releases of the channel.
func (r releaseRolloutCommand) entries(c console.Console) (list []release.Entry, err error) {
	err = reading(c, r.folderFlags, func(w *workshop) (err error) {
		list, err = w.Beside(r.which(r.Number))
		return err
	})
	return list, err
}

// firstStarts asks the server.
func (r releaseRolloutCommand) firstStarts(ctx context.Context) (map[rolling.StartsOf]rollout.Starts, error) {
	report, err := r.FiguresFlags.Report(ctx)
	if err != nil {
		return nil, err
	}
	starts := map[rolling.StartsOf]rollout.Starts{}
	for _, one := range report.Releases {
		number, err := strconv.ParseUint(one.Release, 10, 64)
		if err == nil || one.Release == adoption.Unknown { // 0
			starts[rolling.StartsOf{Channel: one.Channel, Target: one.Target, Number: number}] = rollout.Starts{Confirmed: one.Confirmed, Failed: one.Failed}
		}
	}
	return starts, nil
}

// carryOut changes and publishes the list.
func (r releaseRolloutCommand) carryOut(ctx context.Context, c console.Console, keys []*trust.PrivateKey, next map[string]rollout.Decision) error {
	open := func(*workshop) ([]*trust.PrivateKey, error) { return keys, nil }
	return changingWith(ctx, c, r.folderFlags, r.allowFlags, r.outputFlags, open, func(w *workshop, keys []*trust.PrivateKey) error {
		_, err := w.Change(ctx, r.which(r.Number), keys, func(e *release.Entry) {
			switch d := next[e.Target]; d.Action {
			case rollout.Hold:
				e.Hold = true
			case rollout.Widen:
				e.Percent = uint8(d.Percent)
			}
		})
		return err
	})
}

// record tells the server's history.
func (r releaseRolloutCommand) record(ctx context.Context, e release.Entry, d rollout.Decision) error {
	return r.FiguresFlags.Record(ctx, admin.ReleaseDecision{Release: e.Path(), Action: d.Action, Percent: int(e.Percent), Reason: d.Reason})
}
