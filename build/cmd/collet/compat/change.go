package compat

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"collet/build/cmd/collet/console"
	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// consentFlags are what a change needs beside itself. Embed it.
type consentFlags struct {
	Comment  string         `group:"consent" placeholder:"TEXT" help:"Reason, for the history. Required to lower an end of the active range, or to raise its lower end."`
	Yes      bool           `group:"consent" help:"Confirm lowering: players who have used a newer version are locked out."`
	Kick     *time.Duration `group:"consent" placeholder:"TIME" help:"End sessions that the new settings would reject, after this time. Otherwise they stay."`
	Revision uint64         `group:"consent" placeholder:"N" help:"Change nothing unless this is the current revision (default: the revision that this command reads)."`
}

// seconds is the countdown as the API has it.
func (f consentFlags) seconds() *int {
	if f.Kick == nil {
		return nil
	}
	n := int(f.Kick.Round(time.Second) / time.Second)
	return &n
}

// of is the revision that a change of what was read is for.
func (f consentFlags) of(s operator.State) uint64 {
	if f.Revision != 0 {
		return f.Revision
	}
	return s.Settings.Revision
}

// base is the revision that a change is for.
func (f consentFlags) base(ctx context.Context, a *api) (uint64, error) {
	if f.Revision != 0 {
		return f.Revision, nil
	}
	s, err := a.state(ctx)
	return f.of(s), err
}

// setCommand is `collet compat set`.
type setCommand struct {
	settingsFlags
	consentFlags
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (setCommand) Help() string {
	return `Running sessions stay. The new settings apply to the next client that connects.

  collet compat set --active 6-7 --comment "7 is out"
  collet compat set --maintenance on --until 30m --comment "moving the database"`
}

// Run changes the settings.
func (s setCommand) Run(ctx context.Context, c console.Console) (err error) {
	if err := s.check(); err != nil { // before the server is asked
		return err
	}
	a, err := s.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	state, settings, err := s.apply(ctx, a)
	if err != nil {
		return err
	}
	var out operator.Outcome
	ask := admin.ChangeRequest{Settings: settings, Comment: s.Comment, Confirm: s.Yes, KickSeconds: s.seconds()}
	if err := a.request(ctx, http.MethodPut, "/api/compat", ask, s.of(state), &out); err != nil {
		return err
	}
	return s.Print(c.Out, out, func(w io.Writer) error { return printOutcome(w, out) })
}

// printOutcome prints the result of a change.
func printOutcome(out io.Writer, o operator.Outcome) error {
	if len(o.Changed) == 0 {
		_, err := fmt.Fprintf(out, "nothing to change: the settings are like that already, at revision %d\n", o.Settings.Revision)
		return err
	}
	fmt.Fprintf(out, "revision %d: changed %s\n", o.Settings.Revision, console.Clean(strings.Join(o.Changed, ", ")))
	printImpact(out, o.Impact)
	printHints(out, o.Hints)
	return nil
}

func printImpact(out io.Writer, i compat.Impact) {
	if i != (compat.Impact{}) {
		fmt.Fprintf(out, "%s would not be let in again; %s played with a newer version\n", text.Count(i.Sessions, "connected client"), text.Count(i.Floors, "player"))
	}
}

func printHints(out io.Writer, hints []compat.Mistake) {
	for _, h := range hints {
		fmt.Fprintf(out, "note: %s\n", console.Clean(h.String()))
	}
}

// dryRunCommand is `collet compat dry-run`.
type dryRunCommand struct {
	settingsFlags
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (dryRunCommand) Help() string {
	return `Example:

  collet compat dry-run --active 7-7`
}

// Run asks what would happen.
func (d dryRunCommand) Run(ctx context.Context, c console.Console) (err error) {
	if err := d.check(); err != nil { // before the server is asked
		return err
	}
	a, err := d.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	_, settings, err := d.apply(ctx, a)
	if err != nil {
		return err
	}
	var answer admin.EvaluateAnswer
	if err := a.request(ctx, http.MethodPost, "/api/compat/evaluate", admin.EvaluateRequest{Settings: settings}, 0, &answer); err != nil {
		return err
	}
	if answer.Forecast == nil {
		return fmt.Errorf("%s answers without a forecast", a.name)
	}
	return d.Print(c.Out, answer.Forecast, func(out io.Writer) error { return printForecast(out, *answer.Forecast) })
}

// printForecast prints the verdicts of the connected clients, before and after.
func printForecast(out io.Writer, f operator.Forecast) error {
	if len(f.Changed) == 0 {
		fmt.Fprintln(out, "nothing would change")
	} else {
		fmt.Fprintf(out, "would change %s\n", console.Clean(strings.Join(f.Changed, ", ")))
	}
	verdicts := map[string]bool{}
	for _, counts := range []map[string]int{f.Now, f.Then} {
		for v := range counts {
			verdicts[v] = true
		}
	}
	for _, v := range slices.Sorted(maps.Keys(verdicts)) {
		fmt.Fprintf(out, "%-20s %6d now, %6d then\n", console.Clean(v), f.Now[v], f.Then[v])
	}
	for _, g := range f.Groups {
		fmt.Fprintf(out, "  %d of logic %s on %s: %s, not %s\n", g.Count, console.Clean(g.Logic), console.Clean(g.Target), console.Clean(g.Then), console.Clean(g.Now))
	}
	printImpact(out, f.Impact)
	if f.Lowers {
		fmt.Fprintln(out, "it lowers an end of the active range: collet compat set needs --comment and --yes")
	}
	if f.Raises && !f.Lowers {
		fmt.Fprintln(out, "it raises the lower end of the active range: collet compat set needs --comment")
	}
	printHints(out, f.Hints)
	return nil
}

// rollbackCommand is `collet compat rollback`.
type rollbackCommand struct {
	To uint64 `arg:"" name:"revision" placeholder:"REV" help:"The revision to go back to."`
	consentFlags
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (rollbackCommand) Help() string {
	return `Makes a new revision with the settings of an earlier one; the history keeps all revisions. The --revision flag is the current
revision, as with collet compat set.

  collet compat rollback 12 --comment "7 crashes" --yes`
}

// Run goes back.
func (r rollbackCommand) Run(ctx context.Context, c console.Console) (err error) {
	a, err := r.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	revision, err := r.base(ctx, a)
	if err != nil {
		return err
	}
	var out operator.Outcome
	ask := admin.RollbackRequest{Revision: r.To, Comment: r.Comment, Confirm: r.Yes, KickSeconds: r.seconds()}
	if err := a.request(ctx, http.MethodPost, "/api/compat/rollback", ask, revision, &out); err != nil {
		return err
	}
	return r.Print(c.Out, out, func(w io.Writer) error { return printOutcome(w, out) })
}
