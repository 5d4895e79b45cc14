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

// reviewPage shows a change before it is applied.
type reviewPage struct {
	frame
	Section   string // of the form; empty for a rollback
	Document  string
	Rollback  uint64 // the revision to restore; 0 for none
	Changes   []changedKey
	Forecast  *operator.Forecast // nil: the settings are not valid
	Bars      []outcomeBar
	Mistakes  []compat.Mistake
	Fault     string
	Asked     uint64     // the revision of the form, if it is no longer the current one
	Meanwhile []auditRow // changes since then
	Comment   string
	Kick      string
	Again     bool // it was kept during a login
	Shuts     bool // the upper end is lowered, which locks out accounts with a higher floor
}

// Lowers reports whether an end of the active range comes down.
func (p reviewPage) Lowers() bool { return p.Forecast != nil && p.Forecast.Lowers }

// WantsComment reports whether the change needs a comment: one that lowers an end of the active range, raises its lower end, or goes back.
func (p reviewPage) WantsComment() bool {
	return p.Rollback > 0 || p.Forecast != nil && (p.Forecast.Lowers || p.Forecast.Raises)
}

// changedKey is a key with its values before and after.
type changedKey struct{ Key, Before, After string }

// outcomeBar is how many clients get a verdict, under the current and the proposed settings. Widths are percent of all.
type outcomeBar struct {
	Name                string
	Now, Then           int
	NowWidth, ThenWidth int
	Kind                string // how it looks: "good", "wait", "bad"
}

// reviewChange shows the changes of a form.
func reviewChange(d *request, w http.ResponseWriter, r *http.Request) {
	asked, err := strconv.ParseUint(r.PostForm.Get("revision"), 10, 64)
	if err != nil {
		d.renderError(w, &operator.InputError{Field: "revision", Why: "the form has none"})
		return
	}
	p, err := readProposal(r.PostForm, settingsAt(d.op, asked))
	if err == nil && len(p.mistakes) == 0 {
		p.settings, err = d.op.Propose(json.RawMessage(p.document))
	}
	if err != nil {
		d.renderError(w, err)
		return
	}
	page := newReview(d, d.words.sectionTitle(p.section), p.settings, asked)
	page.Section, page.Document = p.section, p.document
	page.Mistakes = append(p.mistakes, page.Mistakes...)
	if len(p.mistakes) > 0 {
		page.Forecast = nil
	}
	switch {
	case r.Header.Get(fragmentHeader) != "":
		d.renderPage(w, http.StatusOK, "forecast", page)
	case len(page.Mistakes) > 0:
		renderHomeMistakes(d, w, http.StatusUnprocessableEntity, p.section, p.settings, page.Mistakes)
	default:
		renderReview(d, w, http.StatusOK, page)
	}
}

// settingsAt are the settings of a form's revision, to find the form's changes. They are the settings in force if the revision is
// unknown.
func settingsAt(op *operator.Operator, revision uint64) compat.Settings {
	now := op.Settings()
	if revision == now.Revision {
		return now
	}
	then, err := op.Revision(revision)
	if err != nil {
		return now
	}
	return then
}

// renderReview shows a review. If the settings have changed meanwhile the status is 409.
func renderReview(d *request, w http.ResponseWriter, status int, p reviewPage) {
	if p.Asked != 0 {
		status = http.StatusConflict
	}
	p.Again = d.resumed
	d.renderPage(w, status, "review.html", p)
}

// sectionTitle is the name of a form.
func (w *words) sectionTitle(section string) string {
	if _, known := sections()[section]; !known {
		return w.text("settings")
	}
	return w.text("form." + section)
}

// sectionReview is the review of a part of the settings that was proposed as a document.
func sectionReview(d *request, section, document string, c operator.Change) reviewPage {
	page := newReview(d, d.words.sectionTitle(section), c.Settings, c.Revision)
	page.Section, page.Document = section, document
	return page
}

// newReview compares settings with those in force.
func newReview(d *request, title string, then compat.Settings, asked uint64) reviewPage {
	p := reviewPage{frame: d.newFrame(title, "")}
	now := d.op.Settings()
	p.Revision = now.Revision
	if asked != now.Revision {
		p.Asked, p.Meanwhile = asked, changesSince(d, asked)
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
	p.Changes = changedKeys(f.Changed, now.Encode(), then.Encode())
	return p
}

// changesSince are the records of changes of settings after a revision, the newest first.
func changesSince(d *request, revision uint64) []auditRow {
	records, err := d.op.Audit.Records(0, operator.MaxRecords)
	if err != nil {
		return nil
	}
	rows := d.words.auditRows(records, d.op.Settings().Revision)
	return slices.DeleteFunc(rows, func(r auditRow) bool { return r.Revision <= revision })
}

// changedKeys are keys with their values before and after.
func changedKeys(keys []string, before, after []byte) []changedKey {
	all := make([]changedKey, 0, len(keys))
	for _, key := range keys {
		if c := (changedKey{Key: key, Before: valueOf(before, key), After: valueOf(after, key)}); c.Before != c.After {
			all = append(all, c)
		}
	}
	return all
}

// valueOf is the value of a key of compat.Diff in a document, for display; "—" for none.
func valueOf(document []byte, key string) string {
	const nothing = "—"
	members := decodeMembers(document)
	value, direct := members[key]
	if outer, inner, nested := strings.Cut(key, "."); !direct && nested {
		value = decodeMembers(members[outer])[inner]
	}
	var text string
	switch {
	case len(value) == 0 || bytes.Equal(value, []byte("null")), strings.HasPrefix(key, "active_") && string(value) == strconv.Itoa(int(compat.NoLogic)):
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

// outcomeBars are the verdicts of a forecast. Those that allow playing come first.
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

// readReviewed reads the form of a review: the change, and the review that shows it again.
func readReviewed(d *request, r *http.Request) (c operator.Change, again func() reviewPage, err error) {
	if c, err = readChange(r); err != nil {
		return c, nil, err
	}
	document := r.PostForm.Get("document")
	c.Settings, err = d.op.Propose(json.RawMessage(document))
	return c, func() reviewPage { return sectionReview(d, r.PostForm.Get("section"), document, c) }, err
}

// applyChange makes a change that was reviewed.
func applyChange(d *request, w http.ResponseWriter, r *http.Request) {
	c, again, err := readReviewed(d, r)
	if err != nil {
		d.renderError(w, err)
		return
	}
	_, err = d.op.Change(r.Context(), d.by, c)
	finishChange(d, w, r, err, again)
}

// reviewAgain shows a change that was reviewed before a login, with what was typed.
func reviewAgain(d *request, w http.ResponseWriter, r *http.Request) {
	_, again, err := readReviewed(d, r)
	renderTyped(d, w, r, again, err)
}

// finishChange redirects to the overview, or shows the review again with the missing fields.
func finishChange(d *request, w http.ResponseWriter, r *http.Request, err error, again func() reviewPage) {
	var stale *operator.StaleError
	var confirm *operator.ConfirmError
	var wrong *compat.SettingsError
	var input *operator.InputError
	if err == nil {
		http.Redirect(w, r, root+"?saved="+strconv.FormatUint(d.op.Settings().Revision, 10), http.StatusSeeOther)
		return
	}
	if !errors.As(err, &stale) && !errors.As(err, &confirm) && !errors.As(err, &wrong) && !errors.As(err, &input) {
		d.renderError(w, err)
		return
	}
	p := again()
	p.Comment, p.Kick = r.PostForm.Get("comment"), r.PostForm.Get("kick")
	if stale == nil {
		p.Fault = d.words.translateError(err)
	}
	renderReview(d, w, http.StatusUnprocessableEntity, p)
}

// readRevision reads a revision's number and its settings.
func readRevision(op *operator.Operator, digits string) (revision uint64, s compat.Settings, err error) {
	if revision, err = strconv.ParseUint(digits, 10, 64); err != nil {
		return 0, s, &operator.InputError{Field: "to", Why: fmt.Sprintf("%s is no revision", text.Quote(digits))}
	}
	s, err = op.Revision(revision)
	return revision, s, err
}

func reviewRollback(d *request, w http.ResponseWriter, r *http.Request) {
	to, s, err := readRevision(d.op, r.URL.Query().Get("to"))
	if err != nil {
		d.renderError(w, err)
		return
	}
	renderReview(d, w, http.StatusOK, rollbackReview(d, to, s, d.op.Settings().Revision))
}

func rollbackReview(d *request, to uint64, s compat.Settings, asked uint64) reviewPage {
	p := newReview(d, d.words.text("rollback.title", "revision", to), s, asked)
	p.Rollback = to
	return p
}

// readRollback reads the form of a reviewed rollback: the revision to restore, the change, and the review that shows it again.
func readRollback(d *request, r *http.Request) (to uint64, c operator.Change, again func() reviewPage, err error) {
	to, s, err := readRevision(d.op, r.PostForm.Get("to"))
	if err == nil {
		c, err = readChange(r)
	}
	return to, c, func() reviewPage { return rollbackReview(d, to, s, c.Revision) }, err
}

// applyRollback makes a rollback that was reviewed.
func applyRollback(d *request, w http.ResponseWriter, r *http.Request) {
	to, c, again, err := readRollback(d, r)
	if err != nil {
		d.renderError(w, err)
		return
	}
	_, err = d.op.Rollback(r.Context(), d.by, to, c)
	finishChange(d, w, r, err, again)
}

// reviewRollbackAgain shows a rollback that was reviewed before a login, with what was typed.
func reviewRollbackAgain(d *request, w http.ResponseWriter, r *http.Request) {
	_, _, again, err := readRollback(d, r)
	renderTyped(d, w, r, again, err)
}

// renderTyped shows a review with the typed values, or the error in place of the review.
func renderTyped(d *request, w http.ResponseWriter, r *http.Request, review func() reviewPage, err error) {
	if err != nil {
		d.renderError(w, err)
		return
	}
	p := review()
	p.Comment, p.Kick = r.PostForm.Get("comment"), r.PostForm.Get("kick")
	renderReview(d, w, http.StatusOK, p)
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
