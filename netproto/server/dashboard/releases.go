package dashboard

import (
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"collet/netproto/release"
	"collet/netproto/server/operator"
	"collet/netproto/server/releases"
	"collet/platform/text"
)

// releasesPage shows the signed list, and the proposals that wait.
type releasesPage struct {
	frame
	List       releases.List
	Rows       []releaseRow
	Waiting    []releases.Waiting
	Notes      []releaseNote // of the newest release of each channel
	Choices    []string      // releases that a change can be proposed for: product/channel/number
	Chosen     string
	CanPropose bool
	Channels   []string         // into which a release can be promoted; empty unless there are two
	Made       string           // folder of the proposal that was made a moment ago, as commands are given it
	Folder     string           // the release folder, the same way
	Fetches    []releases.Fetch // of a promotion: what players will fetch
	Fault      string
	proposals  string
}

// PathOf is the folder of a waiting proposal, as commands are given it.
func (p releasesPage) PathOf(w releases.Waiting) string {
	return fullPath(filepath.Join(p.proposals, w.Name))
}

// fullPath is a path that commands of an operator find from any folder, quoted for a shell where it has to be.
func fullPath(name string) string {
	if full, err := filepath.Abs(name); err == nil {
		name = full
	}
	return text.ShellWord(name)
}

// releaseRow is a release with what came of the clients that had it.
type releaseRow struct {
	releases.Release
	Checks  uint64
	Results []outcomeBar
}

// releaseNote are the notes of a release.
type releaseNote struct{ Release, Text string }

func showReleases(d *request, w http.ResponseWriter, _ *http.Request) {
	renderReleases(d, w, http.StatusOK, releasesPage{})
}

func renderReleases(d *request, w http.ResponseWriter, status int, p releasesPage) {
	p.frame = d.newFrame(d.words.text("nav.releases"), "releases")
	board := d.about.Releases
	if board == nil {
		d.renderNotice(w, http.StatusNotFound, "sorry.unknown", d.words.text("releases.none"))
		return
	}
	var err error
	if p.List, err = board.List(); err == nil {
		p.Waiting, err = board.Waiting()
	}
	if err != nil {
		d.renderError(w, err)
		return
	}
	p.CanPropose, p.Folder, p.proposals = board.Proposals != "", fullPath(board.Folder), board.Proposals
	seen := map[string]bool{}
	for _, r := range p.List.Releases {
		p.Rows = append(p.Rows, d.rowOf(r))
		if name := choiceOf(r.Entry); !r.Killed && !slices.Contains(p.Choices, name) {
			p.Choices = append(p.Choices, name)
		}
		if !slices.Contains(p.Channels, r.Channel) {
			p.Channels = append(p.Channels, r.Channel)
		}
		if channel := r.Product + "/" + r.Channel; !seen[channel] {
			seen[channel] = true
			if note := d.noteOf(board, r); note != "" {
				p.Notes = append(p.Notes, releaseNote{choiceOf(r.Entry), note})
			}
		}
	}
	if len(p.Channels) < 2 {
		p.Channels = nil
	}
	d.renderPage(w, status, "releases.html", p)
}

// rowOf counts the clients of a release.
func (d *request) rowOf(r releases.Release) releaseRow {
	if d.about.ClientsOf == nil {
		return releaseRow{Release: r}
	}
	clients, counts := d.about.ClientsOf(r.Entry), map[string]int{}
	for verdict, n := range clients.Verdicts {
		counts[verdict] = int(n)
	}
	return releaseRow{r, clients.Checks, outcomeBars(operator.Forecast{Then: counts})}
}

// noteOf are the notes of a release in the page's language, or else in English; empty if there are none.
func (d *request) noteOf(board *releases.Board, r releases.Release) string {
	for _, language := range []string{d.words.tag.String(), "en"} {
		if note, err := board.Note(r, language); err == nil {
			return text.Lines(note)
		}
	}
	return ""
}

// choiceOf names a release for all of its targets.
func choiceOf(e release.Entry) string {
	return e.Product + "/" + e.Channel + "/" + strconv.FormatUint(e.Number, 10)
}

// proposeRelease proposes a change.
func proposeRelease(d *request, w http.ResponseWriter, r *http.Request) {
	p := releasesPage{Chosen: r.PostForm.Get("release")}
	comment := strings.TrimSpace(r.PostForm.Get("comment"))
	c, err := readReleaseChange(r)
	if err == nil && comment == "" {
		err = &operator.ConfirmError{NeedsComment: true}
	}
	if err == nil {
		err = d.by.CheckRights(operator.RoleRelease, comment)
	}
	if err == nil && d.about.Releases == nil {
		err = releases.ErrNoFolder
	}
	if err == nil {
		var made releases.Proposed
		if made, err = d.about.Releases.Propose(c); err == nil {
			p.Made, p.Fetches = fullPath(filepath.Join(d.about.Releases.Proposals, made.Name)), made.Fetches
			what := map[string]any{"proposal": made.Name, "action": c.Action, "percent": c.Percent}
			if c.Into != "" {
				what["into"] = c.Into
			}
			err = d.op.Audit.Note(d.by, operator.RoleRelease, comment, releaseKey+p.Chosen, what)
		}
	}
	var forbidden *operator.ForbiddenError
	var input *operator.InputError
	var confirm *operator.ConfirmError
	switch known := releaseFault(err); {
	case err == nil:
		renderReleases(d, w, http.StatusCreated, p)
	case known != "":
		p.Made, p.Fetches, p.Fault = "", nil, d.words.text(known)
		renderReleases(d, w, http.StatusUnprocessableEntity, p)
	case errors.As(err, &confirm), errors.As(err, &input) && !errors.As(err, &forbidden):
		p.Made, p.Fetches, p.Fault = "", nil, d.words.translateError(err)
		renderReleases(d, w, http.StatusUnprocessableEntity, p)
	default:
		d.renderError(w, err)
	}
}

// releaseFault is the key of the text about an error of Propose that is the operator's.
func releaseFault(err error) string {
	for key, fault := range map[string]error{
		"releases.nofolder": releases.ErrNoFolder, "releases.unknown": releases.ErrUnknown, "releases.nothing": releases.ErrNothing,
		"releases.toomany": releases.ErrTooMany, "releases.change": releases.ErrChange, "releases.exists": releases.ErrExists, "releases.write": releases.ErrWrite,
		"releases.into.unknown": releases.ErrInto, "releases.newer": releases.ErrNumber, "releases.killed": releases.ErrKilled,
	} {
		if errors.Is(err, fault) {
			return key
		}
	}
	return ""
}

// readReleaseChange reads the form.
func readReleaseChange(r *http.Request) (c releases.Change, err error) {
	parts := strings.Split(r.PostForm.Get("release"), "/")
	if len(parts) != 3 {
		return c, releases.ErrUnknown
	}
	c = releases.Change{Product: parts[0], Channel: parts[1], Action: releases.Action(r.PostForm.Get("action"))}
	if c.Number, err = strconv.ParseUint(parts[2], 10, 64); err != nil {
		return c, releases.ErrUnknown
	}
	if c.Action == releases.Promote {
		c.Into = r.PostForm.Get("into")
	}
	if c.Action == releases.Rollout || c.Action == releases.Promote {
		if c.Percent, err = strconv.Atoi(r.PostForm.Get("percent")); err != nil {
			return c, releases.ErrChange
		}
	}
	return c, nil
}

// offer says who is offered a release.
func (w *words) offer(e release.Entry) string {
	switch {
	case e.Killed:
		return w.text("offer.killed")
	case e.Hold:
		return w.text("offer.held")
	case e.Percent < 100:
		return w.text("offer.percent", "n", strconv.Itoa(int(e.Percent)))
	default:
		return w.text("offer.everybody")
	}
}
