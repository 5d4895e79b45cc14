package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"collet/app/acquire"
	"collet/build/advice"
	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/netproto/release/trust"
	"collet/platform/text"
)

// releaseRow is a release for programs.
type releaseRow struct {
	Product   string     `json:"product"`
	Channel   string     `json:"channel"`
	Target    string     `json:"target"`
	Number    uint64     `json:"number"`
	Version   string     `json:"version"`
	Percent   uint8      `json:"percent"`
	Hold      bool       `json:"hold"`
	Killed    bool       `json:"killed"`
	Published time.Time  `json:"published"`
	Files     int        `json:"files"`
	Bytes     int64      `json:"bytes"`
	Head      string     `json:"head"`
	Listing   string     `json:"listing"`
	Patches   []patchRow `json:"patches"`
	Solid     string     `json:"solid,omitempty"` // digest of the solid form's index
	Notes     []string   `json:"notes"`

	Expires map[trust.KeyRole]time.Time `json:"expires,omitempty"` // when the signature of each list ends; only in show
}

type patchRow struct {
	From  string `json:"from"`
	Bytes int64  `json:"bytes"`
}

func rowOf(l publish.Listed) releaseRow {
	e, h := l.Entry, l.Head
	r := releaseRow{
		Product: e.Product, Channel: e.Channel, Target: e.Target, Number: e.Number, Version: h.Version, Percent: e.Percent,
		Hold: e.Hold, Killed: e.Killed, Published: h.Published, Files: h.Count, Bytes: h.Bytes, Head: e.Head.Sum.String(),
		Listing: h.Listing.Sum.String(), Patches: []patchRow{}, Notes: slices.Sorted(maps.Keys(h.Notes)),
	}
	if o, found := h.Solid(); found {
		r.Solid = o.Sum.String()
	}
	for _, p := range h.Patches {
		if p.Announces() {
			continue
		}
		r.Patches = append(r.Patches, patchRow{p.From.String(), p.Object.Size})
	}
	return r
}

func rowsOf(list []publish.Listed) []releaseRow {
	rows := []releaseRow{}
	for _, l := range list {
		rows = append(rows, rowOf(l))
	}
	return rows
}

// releaseListCommand is `collet release list`.
type releaseListCommand struct {
	folderFlags
	readFlags
	console.JSONFlags
	Channel string `group:"who" placeholder:"NAME" help:"Only releases of this channel."`
	Target  string `group:"who" placeholder:"TARGET" help:"Only releases for this target."`
}

// Help is what --help adds to the flags.
func (releaseListCommand) Help() string {
	return `All releases, the newest of each channel and target last.

  collet release list
  collet release list --channel beta --target Linux-x64`
}

// Run prints the table, and when signatures end.
func (r releaseListCommand) Run(c console.Console) error {
	return reading(c, r.folderFlags, func(w *workshop) error {
		list, err := w.List()
		if err != nil {
			return err
		}
		if channels := channelsOf(list); r.Channel != "" && !slices.Contains(channels, r.Channel) {
			return fmt.Errorf("no release is in the channel %s; there is %s", r.Channel, cmp.Or(advice.OneOf(channels), "none"))
		}
		list = slices.DeleteFunc(list, func(l publish.Listed) bool {
			return r.Channel != "" && l.Entry.Channel != r.Channel || r.Target != "" && l.Entry.Target != r.Target
		})
		if r.JSON {
			return console.PrintJSON(c.Out, rowsOf(list))
		}
		t := console.NewTable(c.Out)
		fmt.Fprintln(t, "channel\ttarget\tnumber\tversion\tpublished\tfiles\tsize\tpatches\toffered to")
		for _, l := range list {
			e, h := l.Entry, l.Head
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%d\t%s\t%d\t%s\n", e.Channel, e.Target, e.Number, console.Clean(h.Version),
				h.Published.Format("2006-01-02 15:04"), h.Count, text.Bytes(h.Bytes), h.PatchCount(), offerTo(e))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if n := len(w.Keys().Development); n > 0 {
			fmt.Fprintf(c.Out, "%d keys of this folder are development keys, which lie in the clear: commands that sign need --allow-development, and packages take "+
				"such a root with client.weak-root = true\n", n)
		}
		return printExpiries(c.Out, w, time.Now())
	})
}

func channelsOf(list []publish.Listed) (names []string) {
	for _, l := range list {
		if !slices.Contains(names, l.Entry.Channel) {
			names = append(names, l.Entry.Channel)
		}
	}
	return names
}

// printExpiries warns of signatures that end within a week; the timestamp's, which is renewed every day, when two days are
// left.
func printExpiries(out io.Writer, w *workshop, now time.Time) error {
	for _, role := range trust.KeyRoles() {
		left, warn, next := w.Expiries()[role].Sub(now), 7*24*time.Hour, "collet release refresh renews it"
		if role == trust.RoleTimestamp {
			warn = 2 * 24 * time.Hour
		}
		if role == trust.RoleRoot {
			warn, next = 60*24*time.Hour, "collet keys rotate renews it"
		}
		if left < warn {
			if _, err := fmt.Fprintf(out, "the signature of %s ends in %v: %s\n", role, left.Round(time.Hour), next); err != nil {
				return err
			}
		}
	}
	return nil
}

// whichFlags name one release. Embed it.
type whichFlags struct {
	Channel string `group:"who" placeholder:"NAME" help:"Channel of the release (default: the one in the settings)."`
	Target  string `group:"who" placeholder:"TARGET" help:"Only for this target (default: all)."`
}

func (f whichFlags) which(number uint64) publish.Which {
	return publish.Which{Channel: f.Channel, Target: f.Target, Number: number}
}

// releaseShowCommand is `collet release show`.
type releaseShowCommand struct {
	Number uint64 `arg:"" placeholder:"NUMBER" help:"Number of the release."`
	folderFlags
	readFlags
	whichFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (releaseShowCommand) Help() string {
	return `What a release says of itself, and until when its lists are signed.

  collet release show 8`
}

// Run prints what a release says of itself.
func (r releaseShowCommand) Run(c console.Console) error {
	return reading(c, r.folderFlags, func(w *workshop) error {
		list, err := w.Show(r.which(r.Number))
		if err != nil {
			return err
		}
		if r.JSON {
			rows := rowsOf(list)
			for i := range rows {
				rows[i].Expires = w.Expiries()
			}
			return console.PrintJSON(c.Out, rows)
		}
		for _, l := range list {
			if err := printRelease(c.Out, l, w.Expiries()); err != nil {
				return err
			}
		}
		return printExpiries(c.Out, w, time.Now())
	})
}

func printRelease(out io.Writer, l publish.Listed, expires map[trust.KeyRole]time.Time) error {
	e, h := l.Entry, l.Head
	t := console.NewTable(out)
	fmt.Fprintf(t, "release\t%s\n", e.Path())
	fmt.Fprintf(t, "version\t%s\n", console.Clean(h.Version))
	fmt.Fprintf(t, "offered to\t%s\n", offerTo(e))
	fmt.Fprintf(t, "published\t%s\n", h.Published.Format(time.RFC3339))
	fmt.Fprintf(t, "set\t%d files, %s, %v\n", h.Count, text.Bytes(h.Bytes), h.Listing.Sum)
	fmt.Fprintf(t, "needs\tcompatibility %q, logic %d, host ABI %d, host build %d\n", h.Compatibility, h.Logic, h.HostABI, h.HostBuild)
	fmt.Fprintf(t, "head\t%s\t%d bytes\n", e.Head.HeadPath(), e.Head.Size)
	fmt.Fprintf(t, "listing\t%s\t%s\n", h.Listing.Object.Path(), text.Bytes(h.Listing.Object.Size))
	fmt.Fprintf(t, "sources\t%s\t%s\n", h.Sources.Path(), text.Bytes(h.Sources.Size))
	if !h.Changes.IsZero() {
		fmt.Fprintf(t, "changes\t%s\t%s\n", h.Changes.Path(), text.Bytes(h.Changes.Size))
	}
	if o, found := h.Solid(); found {
		fmt.Fprintf(t, "solid form\t%s\t%s\n", o.Path(), text.Bytes(o.Size))
	}
	for _, p := range h.Patches {
		if p.Announces() {
			continue
		}
		fmt.Fprintf(t, "patch\t%s\t%s\tfrom the set %v\n", p.Object.Path(), text.Bytes(p.Object.Size), p.From)
	}
	for _, language := range slices.Sorted(maps.Keys(h.Notes)) {
		fmt.Fprintf(t, "notes\t%s\t%s\t%s\n", h.Notes[language].Path(), text.Bytes(h.Notes[language].Size), language)
	}
	for _, m := range h.Mirrors {
		fmt.Fprintf(t, "mirror\t%s\n", m)
	}
	for _, role := range trust.KeyRoles() {
		fmt.Fprintf(t, "signed until\t%s\t%s\n", expires[role].Format("2006-01-02 15:04"), role)
	}
	return t.Flush()
}

// releaseEstimateCommand is `collet release estimate`.
type releaseEstimateCommand struct {
	Old uint64 `arg:"" placeholder:"OLD" help:"Number of the installed release."`
	New uint64 `arg:"" placeholder:"NEW" help:"Number of the new release."`
	folderFlags
	readFlags
	whichFlags
	console.JSONFlags
}

// Help is what --help adds to the flags.
func (releaseEstimateCommand) Help() string {
	return `Prints the bytes of each update strategy for a client with an undamaged old set: the patch, if there is one; missing chunks;
whole objects of new files. A client chooses the strategy of each file by the time that it takes on its connection; this
command assumes a usual home connection. "Fetches" is all that such a client receives, with the signed lists, the head, the
lists of files and the release notes, which "lists" has alone.

  collet release estimate 7 8`
}

// Run prints one row for each target.
func (r releaseEstimateCommand) Run(ctx context.Context, c console.Console) error {
	return reading(c, r.folderFlags, func(w *workshop) error {
		list, err := w.Estimate(ctx, r.Channel, r.Target, r.Old, r.New, acquire.Link{})
		if err != nil {
			return err
		}
		return r.Print(c.Out, estimateRows(list), func(out io.Writer) error { return printEstimates(out, list) })
	})
}

// printEstimates prints one row for each target.
func printEstimates(out io.Writer, list []publish.Estimate) error {
	t := console.NewTable(out)
	fmt.Fprintln(t, "target\tfiles\tnew data\tpatch\tchunks\twhole\ta client takes\tfetches\tlists\trequests\tsaved")
	for _, e := range list {
		patch := "none"
		if e.Patch.Bytes >= 0 {
			patch = text.Bytes(e.Patch.Bytes)
		}
		if e.Expanded.Bytes >= 0 {
			patch += ", expanded " + text.Bytes(e.Expanded.Bytes)
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", e.Target, e.Files, text.Bytes(e.Fresh), patch, text.Bytes(e.Chunks.Bytes),
			text.Bytes(e.Whole.Bytes), e.Takes, text.Bytes(e.Cost.Bytes), text.Bytes(e.Lists), e.Cost.Requests+e.Cost.RoundTrips,
			savedText(e.Cost.Bytes, e.Whole.Bytes))
	}
	return t.Flush()
}

// estimateRow is an estimate for programs.
type estimateRow struct {
	Target   string `json:"target"`
	Old      uint64 `json:"old"`
	New      uint64 `json:"new"`
	Files    int    `json:"files"`
	Fresh    int64  `json:"fresh"`
	Patch    int64  `json:"patch"`    // -1 without a patch
	Expanded int64  `json:"expanded"` // likewise
	Chunks   int64  `json:"chunks"`
	Whole    int64  `json:"whole"`
	Takes    string `json:"takes"`   // by which most of it comes
	Fetches  int64  `json:"fetches"` // all bytes that a client receives
	Lists    int64  `json:"lists"`   // those of them that are lists, signatures and notes
	Requests int    `json:"requests"`
}

func estimateRows(list []publish.Estimate) []estimateRow {
	rows := []estimateRow{}
	for _, e := range list {
		rows = append(rows, estimateRow{
			e.Target, e.Old, e.New, e.Files, e.Fresh, e.Patch.Bytes, e.Expanded.Bytes, e.Chunks.Bytes, e.Whole.Bytes, string(e.Takes), e.Cost.Bytes,
			e.Lists, e.Cost.Requests + e.Cost.RoundTrips,
		})
	}
	return rows
}
