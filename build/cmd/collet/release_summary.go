package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"collet/app/acquire"
	"collet/build/cmd/collet/compat"
	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/platform/text"
)

// summaryReleases is how many earlier releases a summary has.
const summaryReleases = 5

// published is the result of a publication or a promotion.
type published struct {
	publish.Summary
	updates []publish.Update // for each release, what changes for players
	dryRun  bool
	shop    *workshop // knows what became of other places; nil if nothing was made

	imagined bool // the dry run of a first publication: there is no release folder
}

// addUpdates compares each release with those before it, and warns of signed rules that are older than it.
func (p *published) addUpdates(ctx context.Context, c console.Console, w *workshop) error {
	p.shop = w
	for _, r := range p.Releases {
		if s, document, err := w.RulesOf(r.Entry.Channel); err != nil {
			fmt.Fprintf(c.Err, "note: %v\n", err)
		} else if document != nil && !r.Already {
			note, err := compat.RulesWarning(s, document, r.Entry, r.Compatibility, time.Now())
			if err != nil {
				note = fmt.Sprintf("note: signed rules of %s: %v", s.Channel, err)
			}
			if note != "" {
				fmt.Fprintln(c.Err, note)
			}
		}
		u, err := w.Update(ctx, r.Entry, summaryReleases, acquire.Link{})
		if err != nil {
			return err
		}
		p.updates = append(p.updates, u)
	}
	return nil
}

// wordless is said of a release without a compatibility version.
const wordless = "note: without a compatibility version web servers and buckets can offer it, collet-server can't; publish the next one " +
	"with --compatibility, or set Compatibility in release.toml"

// print prints one row for each target and one for each patch, then what changes for players.
func (p published) print(out io.Writer) error {
	t := console.NewTable(out)
	fmt.Fprintln(t, "release\ttarget\tfiles\tsize\tto fetch\tsaved")
	for i, r := range p.Releases {
		e := r.Entry
		name := fmt.Sprintf("%s %d", e.Channel, e.Number)
		whole := text.Bytes(r.Whole)
		if r.Already {
			whole = "published before"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t\n", name, e.Target, r.Files, text.Bytes(r.Bytes), whole)
		if i < len(p.updates) && !r.Already {
			first := p.updates[i].First.Cost.Bytes
			fmt.Fprintf(t, "  first install\t\t\t\t%s\t%s\n", text.Bytes(first), savedText(first, r.Whole))
		}
		for _, patch := range r.Patches {
			if patch.Bytes == 0 {
				fmt.Fprintf(t, "  from %d\t\t\t\tno patch: %s\t\n", patch.From, patch.Why)
			} else {
				fmt.Fprintf(t, "  from %d\t\t\t\t%s\t%s\n", patch.From, text.Bytes(patch.Bytes), savedText(patch.Bytes, patch.Whole))
			}
			if patch.Expanded > 0 {
				fmt.Fprintf(t, "  from %d, expanded\t\t\t\t%s\t%s\n", patch.From, text.Bytes(patch.Expanded), savedText(patch.Expanded, patch.Whole))
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var lines []string
	for i, r := range p.Releases {
		if r.Already {
			continue
		}
		if i < len(p.updates) {
			lines = append(lines, updateLines(p.updates[i])...)
		}
		if who := offered(r.Entry); who != "" {
			lines = append(lines, fmt.Sprintf("%s %d for %s: %s", r.Entry.Channel, r.Entry.Number, r.Entry.Target, who))
		}
	}
	if slices.ContainsFunc(p.Releases, func(r publish.ReleaseSummary) bool { return r.Compatibility == "" }) {
		lines = append(lines, wordless)
	}
	switch {
	case p.imagined:
		lines = append(lines, "a dry run: nothing is signed, and nothing stays on the disk")
	case p.dryRun:
		lines = append(lines, "a dry run: nothing is signed, and no player gets it; publishing it uses what was packed, and collet release gc removes that")
	}
	lines = append(lines, fmt.Sprintf("done in %v", p.Took.Round(10*time.Millisecond)))
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// updateLines says what a release changes, and what players of the earlier ones fetch.
func updateLines(u publish.Update) []string {
	if u.Before == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("%s: %s", u.Entry.Target, changesText(u))}
	for _, from := range u.From {
		lines = append(lines, fmt.Sprintf("%s: players of release %d fetch %s, %s of it lists and notes; by %s, with %d requests", u.Entry.Target, from.Old,
			text.Bytes(from.Cost.Bytes), text.Bytes(from.Lists), from.Takes, from.Cost.Requests+from.Cost.RoundTrips))
	}
	return lines
}

// changesText counts the files that differ from the release before, and their bytes.
func changesText(u publish.Update) string {
	var parts []string
	for _, kind := range []string{publish.Added, publish.Changed, publish.Removed} {
		files, bytes := u.Count(kind)
		parts = append(parts, fmt.Sprintf("%d %s (%s)", files, kind, text.Bytes(bytes)))
	}
	return fmt.Sprintf("Since release %d: files %s", u.Before, strings.Join(parts, ", "))
}

// forPrograms is a publication for programs.
func (p published) forPrograms() any {
	type patch struct {
		From  uint64 `json:"from"`
		Bytes int64  `json:"bytes"`
		Whole int64  `json:"whole"`
		Why   string `json:"why,omitempty"`

		Expanded int64 `json:"expanded,omitempty"`
	}
	type change struct {
		Files int   `json:"files"`
		Bytes int64 `json:"bytes"`
	}
	type first struct {
		Takes   string `json:"takes"`
		Fetches int64  `json:"fetches"`
		Lists   int64  `json:"lists"` // signed lists, lists of files and notes; part of Fetches
	}
	type row struct {
		Channel string  `json:"channel"`
		Target  string  `json:"target"`
		Number  uint64  `json:"number"`
		Already bool    `json:"already"`
		Files   int     `json:"files"`
		Bytes   int64   `json:"bytes"`
		Whole   int64   `json:"whole"`
		Solid   int64   `json:"solid,omitempty"` // bytes of all contents packed together
		Patches []patch `json:"patches"`

		First   first             `json:"first"`             // what a new player fetches, lists included
		Before  uint64            `json:"before,omitempty"`  // number of the release before
		Changes map[string]change `json:"changes,omitempty"` // since then, by kind
		Players []estimateRow     `json:"players,omitempty"` // what players of the earlier releases fetch
	}
	rows := []row{}
	for i, r := range p.Releases {
		one := row{
			Channel: r.Entry.Channel, Target: r.Entry.Target, Number: r.Entry.Number, Already: r.Already, Files: r.Files, Bytes: r.Bytes, Whole: r.Whole,
			Solid: r.Solid.Bytes, Patches: []patch{},
		}
		for _, made := range r.Patches {
			one.Patches = append(one.Patches, patch(made))
		}
		u := p.updates[i]
		one.First = first{string(u.First.Takes), u.First.Cost.Bytes, u.First.Lists}
		if u.Before > 0 {
			one.Before, one.Changes, one.Players = u.Before, map[string]change{}, estimateRows(u.From)
			for _, kind := range []string{publish.Added, publish.Changed, publish.Removed} {
				files, bytes := u.Count(kind)
				one.Changes[kind] = change{files, bytes}
			}
		}
		rows = append(rows, one)
	}
	return struct {
		Releases []row   `json:"releases"`
		Objects  int     `json:"objects"`
		Seconds  float64 `json:"seconds"`
		DryRun   bool    `json:"dryRun,omitempty"`

		Places []placeRow `json:"places,omitempty"`
	}{rows, p.Objects, p.Took.Seconds(), p.dryRun, placeRows(p.shop.others)}
}

// tell prints a change that ended with err. Programs are told of it also if a place was not brought up to date.
func (p published) tell(f console.JSONFlags, out io.Writer, err error) error {
	if err != nil && !(f.JSON && p.shop != nil && len(p.shop.others.Places) > 0) {
		return err
	}
	return errors.Join(err, f.Print(out, p.forPrograms(), p.print))
}
