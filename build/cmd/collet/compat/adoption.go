package compat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"collet/build/cmd/collet/console"
	"collet/netproto/adoption"
	"collet/platform"
	"collet/platform/interrupt"
	"collet/platform/text"
)

// AdoptionCommand is `collet release adoption`. It is here because it asks a server as the other commands of this package do.
type AdoptionCommand struct {
	Window  string `group:"out" enum:"hour,day,month" default:"day" placeholder:"WINDOW" help:"hour, day or month (default: ${default})."`
	Channel string `group:"out" placeholder:"NAME" help:"Only releases of this channel."`
	Target  string `group:"out" placeholder:"TARGET" help:"Only releases for this target."`
	Log     string `group:"out" placeholder:"FILE" help:"Count the beacons in an access log instead of asking a server; - is standard input."`
	FiguresFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (AdoptionCommand) Help() string {
	return `Shows which releases players have, how fast a release spreads, how updates and first starts end, and the bytes that patches
and chunks saved. The figures are those of beacons, which clients send where the publisher has set Release.Beacon; they name
no player and no install (docs/PRIVACY.md).

  collet release adoption
  collet release adoption --window month --channel stable --json
  zcat access.log.*.gz | collet release adoption --log -

A server that receives beacons (Operations.Figures) is asked as with collet compat. With --log the server of Release.Beacon
can be any web server or CDN that writes the common or the combined format; its newest beacon is the end of the window, and
bytes saved are not known.`
}

// Run prints the report.
func (r AdoptionCommand) Run(ctx context.Context, c console.Console) error {
	window, err := adoption.ParseWindow(r.Window)
	if err != nil {
		return console.Usage(err)
	}
	var report adoption.Report
	if r.Log != "" {
		report, err = r.readLog(ctx, window)
	} else {
		report, err = r.ask(ctx, window)
	}
	if err != nil {
		return err
	}
	all := len(report.Releases)
	report = report.Only(r.Channel, r.Target)
	return r.Print(c.Out, report, func(out io.Writer) error { return printAdoption(out, report, all-len(report.Releases)) })
}

// readLog reads the log.
func (r AdoptionCommand) readLog(ctx context.Context, w adoption.Window) (report adoption.Report, err error) {
	in := os.Stdin
	if r.Log != "-" {
		if in, err = os.Open(r.Log); err != nil {
			return report, fmt.Errorf("access log %s: %w", r.Log, platform.Reason(err))
		}
		defer in.Close()
	}
	log, err := adoption.ReadLog(interrupt.Reader(ctx, in), adoption.AnyName)
	if err != nil {
		return report, fmt.Errorf("access log %s: %w", r.Log, platform.Reason(err))
	}
	if log.Beacons == 0 {
		return report, fmt.Errorf("access log %s: none of its %d lines has a beacon: want the common or combined format, with requests like GET /beacon?1,start,…", r.Log, log.Lines)
	}
	return adoption.Summarize(w, log.Newest, log.Buckets(w), nil), nil
}

// maxBefore is how many releases before one the table has.
const maxBefore = 3

// printAdoption prints a report as tables. others is how many releases --channel and --target leave out.
func printAdoption(out io.Writer, r adoption.Report, others int) error {
	form, end := "2006-01-02 15:04", r.Begins[len(r.Begins)-1].Add(time.Hour)
	if r.Window == adoption.Month {
		form, end = time.DateOnly, r.Begins[len(r.Begins)-1] // days, the last one included
	}
	_, err := fmt.Fprintf(out, "%s to %s UTC: %s\n", r.Begins[0].Format(form), end.Format(form), text.Count(r.Beacons, "beacon"))
	if r.Limited > 0 {
		_, limited := fmt.Fprintf(out, "%d more came from ranges of addresses that had their share, and are not counted\n", r.Limited)
		err = errors.Join(err, limited)
	}
	if len(r.Releases) == 0 {
		why := "no release has figures in this time; clients send beacons where Release.Beacon is set"
		if others > 0 {
			why = "no release of this channel and target has figures in this time, and " + text.Count(others, "other") + " did: leave out --channel and --target to see them"
		}
		_, none := fmt.Fprintln(out, why)
		return errors.Join(err, none)
	}
	tables := []func(*tabwriter.Writer){
		func(t *tabwriter.Writer) { printReleases(t, r) }, func(t *tabwriter.Writer) { printSpread(t, r) }, func(t *tabwriter.Writer) { printOutcomes(t, r) },
	}
	for _, print := range tables {
		t := console.NewTable(out)
		fmt.Fprintln(t)
		print(t)
		err = errors.Join(err, t.Flush())
	}
	return err
}

// printReleases prints the table of releases.
func printReleases(t io.Writer, r adoption.Report) {
	fmt.Fprintln(t, "channel\ttarget\trelease\tstarts\tshare\tinstalls a day\tfirst starts\tfailed\tupdates\tfailed\tseconds\treceived\tsaved")
	for _, one := range r.Releases {
		saved, installs := "-", "-"
		if one.Saved != nil {
			saved = text.Bytes(int64(*one.Saved))
		}
		if one.Installs > 0 {
			installs = fmt.Sprint(one.Installs)
		}
		fmt.Fprintf(t, "%s\t%d\t%.1f %%\t%s\t%d\t%s\t%d\t%d\t%.0f\t%s\t%s\n", cells(one.Has), one.Starts, one.Share*100, installs, one.Confirmed+one.Failed,
			failures(one), one.Updates, one.Attempts, one.Seconds, text.Bytes(int64(one.Bytes)), saved)
	}
}

// printSpread prints how many starts each release had, over time.
func printSpread(t io.Writer, r adoption.Report) {
	step := "hour"
	if r.Window == adoption.Month {
		step = "day"
	}
	fmt.Fprintf(t, "channel\ttarget\trelease\tstarts by %s, the newest last\n", step)
	for _, one := range r.Releases {
		if one.Starts > 0 {
			fmt.Fprintf(t, "%s\t%s\n", cells(one.Has), strings.Trim(fmt.Sprint(one.Spread), "[]"))
		}
	}
}

// printOutcomes prints how updates and starts ended, and from which releases updates came.
func printOutcomes(t io.Writer, r adoption.Report) {
	fmt.Fprintln(t, "channel\ttarget\trelease\twhat\tcount")
	for _, o := range r.Outcomes {
		fmt.Fprintf(t, "%s\t%s: %s\t%d\n", cells(o.Has), console.Clean(string(o.Kind)), console.Clean(o.Outcome), o.Count)
	}
	for _, one := range r.Releases {
		for _, b := range one.Before[:min(len(one.Before), maxBefore)] {
			fmt.Fprintf(t, "%s\tupdate from %s\t%d\n", cells(one.Has), console.Clean(b.Release), b.Updates)
		}
	}
}

// cells are the columns of a release.
func cells(h adoption.Has) string {
	return console.Clean(h.Channel) + "\t" + console.Clean(h.Target) + "\t" + console.Clean(h.Release)
}

// failures are the failed first starts with their share.
func failures(r adoption.Release) string {
	if r.Failed == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%.1f %%)", r.Failed, 100*float64(r.Failed)/float64(r.Failed+r.Confirmed))
}
