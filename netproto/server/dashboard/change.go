package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/netproto/compat"
	"collet/netproto/server/admin"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// fragmentHeader is set by the script, which wants a part of a page.
const fragmentHeader = "Collet-Fragment"

// reviewPage shows a change before it is made.
type reviewPage struct {
	frame
	Section   string // whose form it is; empty for going back
	Document  string
	Rollback  uint64 // the revision to go back to; 0 for none
	Changes   []changedKey
	Forecast  *operator.Forecast // nil: the settings are not valid
	Bars      []outcomeBar
	Mistakes  []compat.Mistake
	Fault     string
	Asked     uint64     // the revision that the form was made for, where it is not the current one any more
	Meanwhile []auditRow // what has happened since
	Comment   string
	Kick      string
	Again     bool // it was kept over a login
	Shuts     bool // the upper end is lowered, which locks out accounts with a higher floor
}

// Lowers reports whether an end of the active range comes down.
func (p reviewPage) Lowers() bool { return p.Forecast != nil && p.Forecast.Lowers }

// changedKey is one key with what it says before and after.
type changedKey struct{ Key, Before, After string }

// outcomeBar is how many clients get a verdict, under the current and the proposed settings. Widths are percent of all.
type outcomeBar struct {
	Name                string
	Now, Then           int
	NowWidth, ThenWidth int
	Kind                string // how it looks: "good", "wait", "bad"
}

// review shows what a form would change.
func (d *request) review(w http.ResponseWriter, r *http.Request) {
	asked, err := strconv.ParseUint(r.PostForm.Get("revision"), 10, 64)
	if err != nil {
		d.showError(w, &operator.InputError{Field: "revision", Why: "the form has none"})
		return
	}
	p, err := readProposal(r.PostForm, d.settingsAt(asked))
	if err == nil && len(p.mistakes) == 0 {
		p.settings, err = d.op.Propose(json.RawMessage(p.document))
	}
	if err != nil {
		d.showError(w, err)
		return
	}
	page := d.reviewOf(d.titleOf(p.section), p.settings, asked)
	page.Section, page.Document = p.section, p.document
	page.Mistakes = append(p.mistakes, page.Mistakes...)
	if len(p.mistakes) > 0 {
		page.Forecast = nil
	}
	switch {
	case r.Header.Get(fragmentHeader) != "":
		d.page(w, http.StatusOK, "forecast", page)
	case len(page.Mistakes) > 0:
		d.homeWith(w, http.StatusUnprocessableEntity, p.section, p.settings, page.Mistakes)
	default:
		d.showReview(w, http.StatusOK, page)
	}
}

// settingsAt are the settings for which a form was made, so that its changes can be told from what was there; the settings in force
// where that revision is not known any more.
func (d *request) settingsAt(revision uint64) compat.Settings {
	now := d.op.Settings()
	if revision == now.Revision {
		return now
	}
	then, err := d.op.Revision(revision)
	if err != nil {
		return now
	}
	return then
}

// showReview shows a review; that of settings which have changed meanwhile is a conflict.
func (d *request) showReview(w http.ResponseWriter, status int, p reviewPage) {
	if p.Asked != 0 {
		status = http.StatusConflict
	}
	p.Again = d.resumed
	d.page(w, status, "review.html", p)
}

// titleOf is the name of a form.
func (d *request) titleOf(section string) string {
	if _, known := sections()[section]; !known {
		return d.words.text("settings")
	}
	return d.words.text("form." + section)
}

// sectionPage is the review of a part of the settings that was proposed as a document.
func (d *request) sectionPage(section, document string, c operator.Change) reviewPage {
	page := d.reviewOf(d.titleOf(section), c.Settings, c.Revision)
	page.Section, page.Document = section, document
	return page
}

// reviewOf compares settings with those in force.
func (d *request) reviewOf(title string, then compat.Settings, asked uint64) reviewPage {
	p := reviewPage{frame: d.frame(title, "")}
	now := d.op.Settings()
	p.Revision = now.Revision
	if asked != now.Revision {
		p.Asked, p.Meanwhile = asked, d.changesSince(asked)
	}
	f, err := d.op.DryRun(then)
	var wrong *compat.SettingsError
	switch {
	case errors.As(err, &wrong):
		p.Mistakes = wrong.Mistakes
		return p
	case err != nil:
		p.Fault = err.Error()
		return p
	}
	p.Forecast, p.Bars, p.Shuts = &f, outcomeBars(f), then.ActiveMax < now.ActiveMax
	p.Changes = changes(f.Changed, now.Encode(), then.Encode())
	return p
}

// changesSince are the records of changes of settings after a revision, the newest first.
func (d *request) changesSince(revision uint64) []auditRow {
	records, err := d.op.Audit.Records(0, operator.MaxRecords)
	if err != nil {
		return nil
	}
	rows := auditRows(records, d.op.Settings().Revision)
	return slices.DeleteFunc(rows, func(r auditRow) bool { return r.Revision <= revision })
}

// changes are keys with their values before and after.
func changes(keys []string, before, after []byte) []changedKey {
	all := make([]changedKey, 0, len(keys))
	for _, key := range keys {
		all = append(all, changedKey{Key: key, Before: valueOf(before, key), After: valueOf(after, key)})
	}
	return all
}

// valueOf is what a document says for a key of compat.Diff, as people read it; "—" for nothing.
func valueOf(document []byte, key string) string {
	const nothing = "—"
	members := decodeMembers(document)
	value, direct := members[key]
	if outer, inner, nested := strings.Cut(key, "."); !direct && nested {
		value = decodeMembers(members[outer])[inner]
	}
	var text string
	switch {
	case len(value) == 0 || bytes.Equal(value, []byte("null")):
		return nothing
	case json.Unmarshal(value, &text) == nil:
		return cmp.Or(text, nothing)
	}
	var rules []compat.PatchRule
	if key == "patch_rules" && json.Unmarshal(value, &rules) == nil {
		parts := make([]string, len(rules))
		for i, r := range rules {
			parts[i] = fmt.Sprintf("%d on %s ≥ %d", r.Logic, cmp.Or(r.Target, "*"), r.MinPatch)
		}
		return cmp.Or(strings.Join(parts, ", "), nothing)
	}
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return cmp.Or(strings.Join(list, ", "), nothing)
	}
	return string(value)
}

// outcomeBars are the verdicts of a forecast, those that let people play first.
func outcomeBars(f operator.Forecast) []outcomeBar {
	names, total := map[string]int{}, 0
	maps.Copy(names, f.Now)
	for name, n := range f.Then {
		names[name] += 0
		total += n
	}
	bars := make([]outcomeBar, 0, len(names))
	for name := range names {
		bars = append(bars, outcomeBar{
			Name: name, Now: f.Now[name], Then: f.Then[name], Kind: verdictKind(name),
			NowWidth: percent(f.Now[name], total), ThenWidth: percent(f.Then[name], total),
		})
	}
	order := map[string]int{kindGood: 1, kindWait: 2, kindBad: 3}
	slices.SortFunc(bars, func(a, b outcomeBar) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), cmp.Compare(a.Name, b.Name))
	})
	return bars
}

// percent is a part of a whole in percent; at least 1 unless part is 0.
func percent(part, whole int) int {
	if part == 0 || whole == 0 {
		return 0
	}
	return max(1, part*100/whole)
}

// How a verdict looks.
const (
	kindGood = "good" // plays
	kindWait = "wait" // can play after something
	kindBad  = "bad"  // can't
)

func verdictKind(name string) string {
	switch name {
	case compat.Accept.String(), compat.UpdateResources.String():
		return kindGood
	case compat.UpdateBinaries.String(), compat.UpdateViaStore.String(), compat.Redirect.String(), compat.Maintenance.String():
		return kindWait
	default:
		return kindBad
	}
}

// readChange reads the fields of a review's form except the settings.
func readChange(r *http.Request) (operator.Change, error) {
	c := operator.Change{Comment: strings.TrimSpace(r.PostForm.Get("comment")), Confirm: r.PostForm.Has("confirm")}
	var err error
	if c.Revision, err = strconv.ParseUint(r.PostForm.Get("revision"), 10, 64); err != nil {
		return c, &operator.InputError{Field: "revision", Why: "the form has none"}
	}
	if kick := r.PostForm.Get("kick"); kick != "" {
		seconds, err := strconv.Atoi(kick)
		if err != nil {
			return c, &operator.InputError{Field: "kick", Why: fmt.Sprintf("%s is no number of seconds", text.Quote(kick))}
		}
		c.Kick = admin.Countdown(&seconds)
	}
	return c, nil
}

// apply makes a change that was reviewed.
func (d *request) apply(w http.ResponseWriter, r *http.Request) {
	c, err := readChange(r)
	document := r.PostForm.Get("document")
	if err == nil {
		c.Settings, err = d.op.Propose(json.RawMessage(document))
	}
	if err != nil {
		d.showError(w, err)
		return
	}
	_, err = d.op.Change(r.Context(), d.by, c)
	d.finishChange(w, r, err, func() reviewPage { return d.sectionPage(r.PostForm.Get("section"), document, c) })
}

// finishChange sends a browser back to the overview, or shows the review again with what the change lacks.
func (d *request) finishChange(w http.ResponseWriter, r *http.Request, err error, again func() reviewPage) {
	var stale *operator.StaleError
	var confirm *operator.ConfirmError
	var wrong *compat.SettingsError
	var input *operator.InputError
	if err == nil {
		http.Redirect(w, r, root+"?saved="+strconv.FormatUint(d.op.Settings().Revision, 10), http.StatusSeeOther)
		return
	}
	if !errors.As(err, &stale) && !errors.As(err, &confirm) && !errors.As(err, &wrong) && !errors.As(err, &input) {
		d.showError(w, err)
		return
	}
	p := again()
	p.Comment, p.Kick = r.PostForm.Get("comment"), r.PostForm.Get("kick")
	if stale == nil {
		p.Fault = d.words.translateError(err)
	}
	d.showReview(w, http.StatusUnprocessableEntity, p)
}

// showError says what went wrong, with the status that the admin API has for it.
func (d *request) showError(w http.ResponseWriter, err error) {
	var forbidden *operator.ForbiddenError
	var input *operator.InputError
	switch {
	case errors.As(err, &forbidden):
		d.showSorry(w, http.StatusForbidden, "sorry.view", d.words.text("sorry.view.about"))
	case errors.As(err, &input):
		d.showSorry(w, http.StatusBadRequest, "sorry.input", d.words.translateError(err))
	case errors.Is(err, operator.ErrUnknown):
		d.showSorry(w, http.StatusNotFound, "sorry.unknown", err.Error())
	default:
		d.log.Error().Err(err).Msg("The dashboard can't do what was asked")
		d.showSorry(w, http.StatusInternalServerError, "sorry.failed", err.Error())
	}
}

// readRevision are the settings of a revision.
func (d *request) readRevision(digits string) (revision uint64, s compat.Settings, err error) {
	if revision, err = strconv.ParseUint(digits, 10, 64); err != nil {
		return 0, s, &operator.InputError{Field: "to", Why: fmt.Sprintf("%s is no revision", text.Quote(digits))}
	}
	s, err = d.op.Revision(revision)
	return revision, s, err
}

func (d *request) reviewRollback(w http.ResponseWriter, r *http.Request) {
	to, s, err := d.readRevision(r.URL.Query().Get("to"))
	if err != nil {
		d.showError(w, err)
		return
	}
	d.showReview(w, http.StatusOK, d.rollbackPage(to, s, d.op.Settings().Revision))
}

func (d *request) rollbackPage(to uint64, s compat.Settings, asked uint64) reviewPage {
	p := d.reviewOf(d.words.text("rollback.title", "revision", to), s, asked)
	p.Rollback = to
	return p
}

func (d *request) rollback(w http.ResponseWriter, r *http.Request) {
	to, s, err := d.readRevision(r.PostForm.Get("to"))
	var c operator.Change
	if err == nil {
		c, err = readChange(r)
	}
	if err != nil {
		d.showError(w, err)
		return
	}
	_, err = d.op.Rollback(r.Context(), d.by, to, c)
	d.finishChange(w, r, err, func() reviewPage { return d.rollbackPage(to, s, c.Revision) })
}

// kickChoice is a countdown that a form offers.
type kickChoice struct {
	Seconds string // as the form sends it; empty is none
	Minutes int    // of the countdown
	Text    string // the key of its text, where there are no minutes to count
}

// kickChoices are the countdowns that a form offers.
func kickChoices() []kickChoice {
	all := []kickChoice{{Text: "kick.none"}, {Seconds: "0", Text: "kick.now"}}
	for _, after := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, operator.MaxKick} {
		all = append(all, kickChoice{Seconds: strconv.Itoa(int(after / time.Second)), Minutes: int(after / time.Minute)})
	}
	return all
}
