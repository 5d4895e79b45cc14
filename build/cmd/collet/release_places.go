package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"collet/build/cmd/collet/console"
	"collet/build/publish"
	"collet/build/publish/places"
	"collet/platform/text"
)

// outputFlags say where else a change goes. Embed it.
type outputFlags struct {
	To     []string `sep:"none" group:"folder" placeholder:"OUTPUT" help:"Also update this place: a folder, s3://bucket/prefix?endpoint=host:port, github://OWNER/REPO or oci://HOST/REPOSITORY. May be repeated (default: those in the settings)."`
	Quorum int      `group:"folder" placeholder:"N" help:"How many of these places have to be brought up to date. The command warns about the others (default: the number in the settings, which is more than half at first)."`
}

// otherPlaces are the places that a command brings up to date.
type otherPlaces struct {
	opened  []places.Place
	names   []string // as flags or settings name them
	flagged bool     // flags name them
	quorum  int
	closers []io.Closer
}

// close lets go of all places.
func (o otherPlaces) close() (err error) {
	for _, c := range o.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// placeNames are the places of the flags, or else of the settings.
func (w *workshop) placeNames(f outputFlags) []string {
	if len(f.To) > 0 {
		return f.To
	}
	return w.Settings().Places()
}

// openPlaces opens the places of flags and settings. Commands that always write to them open them before they change something: if more places
// can't be opened than the quorum allows, nothing changes. Otherwise these count as places that fail, see places.Closed.
func (w *workshop) openPlaces(f outputFlags) (o otherPlaces, err error) {
	o = otherPlaces{names: w.placeNames(f), flagged: len(f.To) > 0, quorum: f.Quorum}
	if o.quorum == 0 && !o.flagged {
		o.quorum = w.Settings().Quorum
	}
	if o.quorum < 0 || o.quorum > len(o.names) {
		return o, console.Usage(fmt.Errorf("a quorum of %d does not fit %s to bring up to date; change --quorum, or Quorum in %s",
			o.quorum, text.Count(len(o.names), "place"), publish.SettingsFile))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.close())
		}
	}()
	var lost error
	left := len(o.names)
	for _, name := range o.names {
		place, closer, err := w.openPlace(name)
		if err != nil {
			lost, left = errors.Join(lost, err), left-1
			place, closer = places.Closed(name, err), io.NopCloser(nil)
		}
		o.closers = append(o.closers, closer)
		for _, other := range o.opened {
			if other.String() == place.String() {
				return o, console.Usage(fmt.Errorf("%v is named twice; name each place once", place))
			}
		}
		o.opened = append(o.opened, place)
	}
	if lost != nil && left < places.NeedOf(o.quorum, len(o.names)) {
		return o, lost
	}
	return o, nil
}

// openPlace opens one place.
func (w *workshop) openPlace(name string) (places.Place, io.Closer, error) {
	return publish.OpenPlace(name, os.Getenv, func(notice string) {
		w.shows.ClearLine()
		fmt.Fprintln(w.console.Err, notice)
	})
}

// errUpdateInterrupted is what updatePlaces says after Ctrl-C. The list is signed by then, so publish would find that nothing has changed.
var errUpdateInterrupted = errors.New("interrupted: the list is signed, and nothing half done is visible; collet release sync goes on, with the same --to")

// updatePlaces brings the places up to date, and tells about each of them.
func (w *workshop) updatePlaces(ctx context.Context, o otherPlaces, remove bool) error {
	if len(o.opened) == 0 {
		return nil
	}
	report, err := w.UpdatePlaces(ctx, o.opened, places.Options{Quorum: o.quorum, Remove: remove})
	w.others = report
	w.shows.ClearLine()
	for i, p := range report.Places {
		switch {
		case p.Err == nil && p.Shown:
			fmt.Fprintf(w.console.Err, "%s is up to date: %d files written (%s), %d removed\n", p.Name, p.Files, text.Bytes(p.Bytes), p.Removed)
		case ctx.Err() == nil && len(o.opened) > 1:
			fmt.Fprintln(w.console.Err, leftBehind(report, p))
			fmt.Fprintf(w.console.Err, "  bring it up to date with: %s\n", w.syncLine(o, i))
		}
	}
	if err != nil && ctx.Err() != nil {
		return errUpdateInterrupted
	}
	return err
}

// placeRow is a place for programs.
type placeRow struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`        // up to date
	Sees    *int64 `json:"sees,omitempty"` // version of the list that its players see, 0 for none; left out if it is not known
	Files   int    `json:"files"`          // written
	Bytes   int64  `json:"bytes"`          // written
	Removed int    `json:"removed"`
	Failed  string `json:"failed,omitempty"` // the step that failed; left out if the place waits for the others
	Error   string `json:"error,omitempty"`
}

func placeRows(r places.Report) (rows []placeRow) {
	for _, p := range r.Places {
		row := placeRow{Name: p.Name, Current: p.Err == nil && p.Shown, Files: p.Files, Bytes: p.Bytes, Removed: p.Removed, Failed: string(p.Failed)}
		switch {
		case p.Shown:
			row.Sees = &r.Version
		case p.Known && p.Failed != places.StepTimestamp:
			row.Sees = &p.Before
		}
		if p.Err != nil {
			row.Error = p.Err.Error()
		}
		rows = append(rows, row)
	}
	return rows
}

// leftBehind tells what became of a place that is not up to date.
func leftBehind(r places.Report, p places.Result) string {
	why := "it waits for the others"
	if p.Err != nil {
		why = fmt.Sprintf("%s failed: %v", p.Failed, p.Err)
	}
	return fmt.Sprintf("warning: %s is not up to date: %s; %d files were written (%s); %s", p.Name, why, p.Files, text.Bytes(p.Bytes), seenAt(r, p))
}

// seenAt says what players see at a place that is not up to date.
func seenAt(r places.Report, p places.Result) string {
	switch {
	case p.Shown:
		return fmt.Sprintf("its players see version %d of the list, the new one", r.Version)
	case !p.Known:
		return "what its players see is not known"
	case p.Failed == places.StepTimestamp:
		return fmt.Sprintf("its players see version %d of the list or still %s; both are complete", r.Version, listBefore(p))
	case p.Before == r.Version:
		return fmt.Sprintf("its players see version %d of the list, as in the folder", r.Version)
	default:
		return fmt.Sprintf("its players still see %s, and the folder has %d", listBefore(p), r.Version)
	}
}

// listBefore names the list that a place had.
func listBefore(p places.Result) string {
	if p.Before == 0 {
		return "no list"
	}
	return fmt.Sprintf("version %d of the list", p.Before)
}

// syncLine is the command that brings a place up to date.
func (w *workshop) syncLine(o otherPlaces, i int) string {
	line := "collet release sync --dir " + text.ShellWord(w.flags.Dir)
	if o.flagged {
		line += " --to " + text.ShellWord(o.names[i])
	}
	return line
}

// foresee tells what the publication of a dry run would write to each place. A place that can't be asked is no failure: a dry run needs no
// credentials.
func (w *workshop) foresee(ctx context.Context, f outputFlags, made publish.Summary) error {
	for _, name := range w.placeNames(f) {
		line, err := w.foreseeOne(ctx, name, made)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			line = fmt.Sprintf("%s can't be asked: %v", name, err)
		}
		w.shows.ClearLine()
		fmt.Fprintln(w.console.Err, line)
	}
	return nil
}

func (w *workshop) foreseeOne(ctx context.Context, name string, made publish.Summary) (line string, err error) {
	if !strings.Contains(name, "://") {
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) { // a dry run makes no folder
			return fmt.Sprintf("%s does not exist yet: it would get all files", name), nil
		}
	}
	place, closer, err := w.openPlace(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	d, err := w.Compare(ctx, place, made.Releases)
	if err != nil {
		return "", err
	}
	has := "has no list yet"
	if d.Before > 0 {
		has = fmt.Sprintf("has version %d of the list, and the folder has %d", d.Before, d.Version)
	}
	return fmt.Sprintf("%v %s; it would get %d files (%s) and the new lists", place, has, d.Files, text.Bytes(d.Bytes)), nil
}

// releaseSyncCommand is `collet release sync`.
type releaseSyncCommand struct {
	folderFlags
	readFlags
	outputFlags
}

// Help is what --help adds to the flags.
func (releaseSyncCommand) Help() string {
	return `Brings the places that --to or the settings name to the state of the release folder. It signs nothing and needs no keys. Run it
when a place failed during another command, after a place was repaired, or to fill a new one.

All places get all objects first, then the lists, timestamp.json last. A place that fails keeps what it had: its players
see the release before. If more than half of the places, or --quorum, are up to date, the command succeeds and warns.

  collet release sync
  collet release sync --to www --to 's3://games/lathe?endpoint=s3.example.org'`
}

// Run brings places up to date.
func (r releaseSyncCommand) Run(ctx context.Context, c console.Console) (err error) {
	w, err := r.openFolder(c, publish.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	others, err := w.openPlaces(r.outputFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.close()) }()
	if len(others.opened) == 0 {
		return console.Usage(fmt.Errorf("there is no place to bring up to date: name it with --to, or set Output or Outputs in %s", publish.SettingsFile))
	}
	return interrupted(ctx, w.updatePlaces(ctx, others, false))
}
