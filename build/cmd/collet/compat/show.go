package compat

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"collet/build/cmd/collet/console"
	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// showCommand is `collet compat show`.
type showCommand struct {
	apiFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (showCommand) Help() string {
	return `Example:

  collet compat show`
}

// Run prints the state.
func (s showCommand) Run(ctx context.Context, c console.Console) (err error) {
	a, err := s.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	if s.JSON {
		var text []byte
		if err := a.request(ctx, "GET", "/api/compat", nil, 0, &text); err != nil {
			return err
		}
		_, err := c.Out.Write(text)
		return err
	}
	state, err := a.state(ctx)
	if err != nil {
		return err
	}
	return showState(c.Out, state, time.Now())
}

// showState prints everything, one table after the other, without those that are empty.
func showState(out io.Writer, s operator.State, now time.Time) error {
	t := console.NewTable(out)
	showSettings(t, s.Settings)
	fmt.Fprintf(t, "serves\t%s\n", console.Clean(s.Compatibility))
	if s.Content != "" {
		fmt.Fprintf(t, "packs\t%s\n", console.Clean(s.Content))
	}
	fmt.Fprintf(t, "supported\t%s\n", rangeText(s.Supported, s.Versioned))
	fmt.Fprintf(t, "build\t%s\n", buildText(s.Build))
	if s.Development {
		fmt.Fprintln(t, "development\tyes: differences are shown, and no build is replaced")
	}
	if s.ReadOnly != "" {
		fmt.Fprintf(t, "read-only\t%s\n", console.Clean(s.ReadOnly))
	}
	if !s.Secured {
		fmt.Fprintln(t, "tokens\tnone: only the control socket is answered; collet compat token NAME --control SOCKET makes one")
	}
	showMaintenance(t, s.Settings.Maintenance, now)
	showTargets(t, s)
	showClients(t, s)
	for _, h := range s.Hints {
		fmt.Fprintf(t, "note\t%s\n", console.Clean(h.String()))
	}
	for _, b := range s.Boot {
		fmt.Fprintf(t, "start\t%s: %s\n", console.Clean(b.Step), console.Clean(b.Why))
	}
	return t.Flush()
}

// showSettings prints what an operator decides.
func showSettings(out io.Writer, s compat.Settings) {
	fmt.Fprintf(out, "revision\t%d\n", s.Revision)
	fmt.Fprintf(out, "active\t%s\n", rangeText(s.Active(), s.ActiveMax != compat.NoLogic))
	fmt.Fprintf(out, "components\t%s, manifest %s\n", console.Clean(string(s.Components)), console.Clean(string(s.Manifest)))
	fmt.Fprintf(out, "auto-upgrade\t%s\n", onOff(s.AutoUpgrade))
	for _, r := range s.PatchRules {
		fmt.Fprintf(out, "patch rule\tlogic %d on %s needs patch %d\n", r.Logic, cmp.Or(console.Clean(r.Target), "every target"), r.MinPatch)
	}
	if r := s.Redirect; r.Enabled {
		scheme := "tcp"
		if r.TLS {
			scheme = "tls"
		}
		fmt.Fprintf(out, "redirect\ttoo new clients to %s://%s:%d %s\n", scheme, console.Clean(r.Host), r.Port, console.Clean(r.BaseURL))
	}
	for _, name := range slices.Sorted(maps.Keys(s.StoreURLs)) {
		fmt.Fprintf(out, "store\t%s: %s\n", console.Clean(name), console.Clean(s.StoreURLs[name]))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Messages)) {
		fmt.Fprintf(out, "message\t%s: %s\n", console.Clean(key), console.Clean(s.Messages[key]))
	}
	if len(s.Developers) > 0 {
		fmt.Fprintf(out, "developers\t%s\n", console.Clean(strings.Join(s.Developers, ", ")))
	}
}

func showMaintenance(out io.Writer, m compat.MaintenanceSettings, now time.Time) {
	if !m.Enabled {
		return
	}
	text := "on"
	if len(m.Targets) > 0 {
		text += " for " + console.Clean(strings.Join(m.Targets, ", "))
	}
	if !m.Until.IsZero() {
		text += fmt.Sprintf(", until %s (in %.0f min)", m.Until.Format("2006-01-02 15:04Z"), max(m.Until.Sub(now), 0).Minutes())
	}
	if m.AllowDownload {
		text += ", downloads go on"
	}
	fmt.Fprintf(out, "maintenance\t%s\n", text)
}

func showTargets(out io.Writer, s operator.State) {
	for _, b := range s.Baselines {
		fmt.Fprintf(out, "logic %d\t%s\n", b.Logic, cmp.Or(b.Components, "no baseline: nothing is compared"))
	}
	for _, target := range s.Targets {
		switch {
		case target.Store:
			fmt.Fprintf(out, "%s\ta store replaces the module\n", console.Clean(target.Name))
		case target.NoBinary:
			fmt.Fprintf(out, "%s\tNOTHING that fits the active range\n", console.Clean(target.Name))
		}
		for _, p := range target.Payloads {
			fmt.Fprintf(out, "%s\t%s\n", console.Clean(target.Name), payloadText(p))
		}
	}
}

func payloadText(p operator.PayloadState) string {
	text := fmt.Sprintf("logic %d patch %d %s", p.Logic, p.Patch, p.Components)
	if p.Logic == compat.NoLogic {
		text = "a module without a declared version"
	}
	if !p.Active {
		text += ", not offered"
	}
	if p.Why != "" {
		text += ": " + console.Clean(p.Why)
	}
	return text
}

func showClients(out io.Writer, s operator.State) {
	for _, list := range []struct {
		name   string
		groups []operator.Group
	}{{"connected", s.Connected}, {"last hour", s.LastHour}} {
		for _, g := range list.groups {
			fmt.Fprintf(out, "%s\t%d of logic %s on %s %s\n", list.name, g.Count, console.Clean(g.Logic), console.Clean(g.Target), console.Clean(g.Verdict))
		}
	}
	for _, f := range s.Floors {
		fmt.Fprintf(out, "floors\t%s at %d\n", text.Count(f.Count, "player"), f.Logic)
	}
}

func rangeText(r compat.Range, known bool) string {
	if !known {
		return "no logic versions: only compatibility versions are compared"
	}
	return r.String()
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// buildText is a build in a few words.
func buildText(b operator.BuildState) string {
	var words []string
	if b.Logic != compat.NoLogic {
		words = append(words, fmt.Sprintf("logic %d", b.Logic))
	}
	for _, word := range []string{b.Components, b.ID, b.Branch} {
		if word != "" {
			words = append(words, console.Clean(word))
		}
	}
	if b.Seq != 0 {
		words = append(words, fmt.Sprintf("#%d", b.Seq))
	}
	if b.Time != 0 {
		words = append(words, time.Unix(b.Time, 0).UTC().Format("2006-01-02 15:04Z"))
	}
	return cmp.Or(strings.Join(words, " "), "unknown")
}
