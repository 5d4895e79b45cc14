package server

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/netproto/compat"
)

// homePage is the overview with a form for each part of the settings.
type homePage struct {
	frame
	Now      State
	Draft    compat.Settings // what the forms show
	Open     string          // the form that is being filled in
	Mistakes []compat.Mistake
	Saved    uint64 // the revision that was made a moment ago; 0 for none
	Ruler    ruler
	Flow     []flowLane
	Grid     grid
	Hour     []outcomeBar
	HourAll  int
	Recent   []auditRow
	Popups   []popupText
	Links    []storeLink
}

// Wrong is why a field can't be as it is; empty if it can. Hints of valid settings count where nothing else is known.
func (p homePage) Wrong(prefix string) []compat.Mistake {
	return starting(p.Mistakes, prefix)
}

// Warned are the warnings of the start.
func (p homePage) Warned() (all []BootState) {
	for _, b := range p.Now.Boot {
		if b.Actor == "" {
			all = append(all, b)
		}
	}
	return all
}

// Hint is what to know of a field.
func (p homePage) Hint(prefix string) []compat.Mistake { return starting(p.Now.Hints, prefix) }

// starting are the mistakes of a field and what is in it.
func starting(all []compat.Mistake, prefix string) (some []compat.Mistake) {
	for _, m := range all {
		if strings.HasPrefix(m.Field, prefix) {
			some = append(some, m)
		}
	}
	return some
}

// popupText is a message that an operator may put in the place of ours.
type popupText struct{ Key, When, Text string }

// storeLink is where the players of a target get another version.
type storeLink struct{ Target, Link string }

// ruler is the number line of logic versions.
type ruler struct {
	Cells           []cell
	CutLow, CutHigh bool // there are more supported versions than are shown
	Most            int  // clients on the fullest one
	Other, None     int  // how many are connected of unknown versions, and of none
}

// cell is one logic version on the number line.
type cell struct {
	Logic             int32
	Supported, Active bool
	First, Last       bool // an end of the active range
	Own, Baseline     bool // the server's own version; its components are known
	Count             int
	Height            int // percent of the fullest
}

// maxCells is how many versions the number line shows: as many as can be told apart on a screen.
const maxCells = 32

// rulerOf is the number line of a state.
func rulerOf(s State) (r ruler) {
	active := s.Settings.Active()
	counts := map[string]int{}
	for _, g := range s.Connected {
		counts[g.Logic] += g.Count
	}
	r.None, r.Other = counts[noLogic], counts[otherGroup]
	if !s.Versioned {
		return r
	}
	for _, n := range counts {
		r.Most = max(r.Most, n)
	}
	least, most := int64(s.Supported.Min), int64(s.Supported.Max)
	lo, hi := least, most
	if hi-lo >= maxCells {
		hi = min(most, max(int64(active.Max), least)+maxCells/4)
		lo = max(least, hi-maxCells+1)
		r.CutLow, r.CutHigh = lo > least, hi < most
	}
	known := map[int32]bool{}
	for _, b := range s.Baselines {
		known[b.Logic] = b.Components != ""
	}
	for v := lo; v <= hi; v++ {
		logic := int32(v)
		n := counts[strconv.FormatInt(v, 10)]
		r.Cells = append(r.Cells, cell{
			Logic: logic, Supported: true, Active: active.Has(logic), First: logic == active.Min, Last: logic == active.Max,
			Own: logic == s.Build.Logic, Baseline: known[logic], Count: n, Height: percent(n, r.Most),
		})
	}
	return r
}

// flowLane is a column of the flow card: what becomes of clients that are older than the active range, in it, or newer.
type flowLane struct {
	Kind, Title, Range string
	Count              int
	Steps              []flowStep
}

// flowStep is what some of them get.
type flowStep struct {
	Kind, Title, Detail string
	Targets             []string
}

// flowOf is the flow card.
func flowOf(s State) []flowLane {
	active := s.Settings.Active()
	older := flowLane{Kind: "older", Title: "Older", Range: "below " + strconv.Itoa(int(active.Min)), Steps: olderSteps(s)}
	within := flowLane{Kind: "active", Title: "Active", Range: strings.ReplaceAll(active.String(), "-", "–"), Steps: activeSteps(s)}
	newer := flowLane{Kind: "newer", Title: "Newer", Range: "above " + strconv.Itoa(int(active.Max))}
	if r := s.Settings.Redirect; r.Enabled {
		newer.Steps = []flowStep{{Kind: kindWait, Title: "Sent elsewhere", Detail: "to " + r.Host + ":" + strconv.Itoa(int(r.Port)) + ", once"}}
	} else {
		newer.Steps = []flowStep{{Kind: kindBad, Title: "Asked to wait", Detail: "This server is older than they are. Nothing to download can help."}}
	}
	for _, g := range s.Connected {
		logic, err := strconv.ParseInt(g.Logic, 10, 32)
		switch {
		case g.Logic == noLogic || err == nil && int32(logic) < active.Min:
			older.Count += g.Count
		case err != nil || int32(logic) > active.Max:
			newer.Count += g.Count
		default:
			within.Count += g.Count
		}
	}
	return []flowLane{older, within, newer}
}

// olderSteps sort targets by what their players can do.
func olderSteps(s State) (steps []flowStep) {
	update := flowStep{Kind: kindGood, Title: "Update in place", Detail: "They get the newest module that is active."}
	store := flowStep{Kind: kindWait, Title: "Sent to the store", Detail: "Only a store can replace the game there."}
	stuck := flowStep{Kind: kindBad, Title: "Can’t be helped", Detail: "There is no active module for them here."}
	for _, t := range s.Targets {
		to := &update
		switch {
		case t.Store:
			to = &store
		case t.NoBinary:
			to = &stuck
		}
		to.Targets = append(to.Targets, t.Name)
	}
	for _, step := range []flowStep{update, store, stuck} {
		if len(step.Targets) > 0 {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		steps = append(steps, flowStep{Kind: kindBad, Title: "Turned away", Detail: "This server offers no modules."})
	}
	return steps
}

// activeSteps are what clients of an active version have to pass.
func activeSteps(s State) (steps []flowStep) {
	set := s.Settings
	if set.Maintenance.Enabled {
		detail := "Nobody plays, and nothing may be fetched."
		if set.Maintenance.AllowDownload {
			detail = "Nobody plays. Files may be fetched meanwhile."
		}
		steps = append(steps, flowStep{Kind: kindWait, Title: "Wait: maintenance", Detail: detail, Targets: set.Maintenance.Targets})
	} else {
		steps = append(steps, flowStep{Kind: kindGood, Title: "Play"})
	}
	if n := len(set.PatchRules); n > 0 {
		steps = append(steps, flowStep{Kind: kindWait, Title: "If their patch is high enough", Detail: plural(n, "rule", "rules") + " to pass"})
	}
	switch set.Components {
	case compat.PolicyEnforce:
		steps = append(steps, flowStep{Kind: kindWait, Title: "If their components are equal", Detail: "to those of their own version"})
	case compat.PolicyWarn:
		steps = append(steps, flowStep{Kind: kindGood, Title: "Other components are told", Detail: "and play all the same"})
	}
	return steps
}

// grid is who is connected, by target and logic version.
type grid struct {
	Versions []string
	Rows     []gridRow
	Total    int
}

type gridRow struct {
	Target string
	Counts []gridCell
	Total  int
}

type gridCell struct{ Count, Width, Shade int } // Shade is 0 to 4

func gridOf(groups []Group) (g grid) {
	counts, rows, columns := map[[2]string]int{}, map[string]int{}, map[string]int{}
	most := 0
	for _, c := range groups {
		at := [2]string{c.Target, c.Logic}
		counts[at] += c.Count
		rows[c.Target] += c.Count
		columns[c.Logic] += c.Count
		most = max(most, counts[at])
		g.Total += c.Count
	}
	g.Versions = slices.SortedFunc(maps.Keys(columns), func(a, b string) int {
		return cmp.Or(cmp.Compare(versionOrder(a), versionOrder(b)), cmp.Compare(a, b))
	})
	for _, target := range slices.Sorted(maps.Keys(rows)) {
		row := gridRow{Target: target, Total: rows[target]}
		for _, v := range g.Versions {
			n := counts[[2]string{target, v}]
			row.Counts = append(row.Counts, gridCell{Count: n, Width: percent(n, most), Shade: (percent(n, most) + 24) / 25})
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// versionOrder sorts numbers between those who have none and all others.
func versionOrder(label string) int64 {
	n, err := strconv.ParseInt(label, 10, 32)
	switch {
	case label == noLogic:
		return -1
	case err != nil:
		return 1 << 40
	default:
		return n
	}
}

// hourOf are the verdicts of the last hour.
func hourOf(groups []Group) (bars []outcomeBar, all int) {
	counts := map[string]int{}
	for _, g := range groups {
		counts[g.Verdict] += g.Count
		all += g.Count
	}
	return outcomeBars(Forecast{Then: counts}), all
}

// home shows the overview.
func (d *desk) home(w http.ResponseWriter, r *http.Request) {
	p := d.overview()
	if saved := r.URL.Query().Get("saved"); saved == strconv.FormatUint(p.Revision, 10) {
		p.Saved = p.Revision
	}
	d.page(w, http.StatusOK, "home.html", p)
}

// live shows the part of it that changes by itself.
func (d *desk) live(w http.ResponseWriter, _ *http.Request) {
	d.page(w, http.StatusOK, "live", d.overview())
}

// homeWith shows the overview with a form that was filled in wrongly.
func (d *desk) homeWith(w http.ResponseWriter, status int, open string, draft compat.Settings, mistakes []compat.Mistake) {
	p := d.overview()
	p.Open, p.Draft, p.Mistakes = open, draft, mistakes
	p.fill()
	d.page(w, status, "home.html", p)
}

// overview is the state of this moment.
func (d *desk) overview() homePage {
	const recent = 5 // records
	p := homePage{frame: d.frame("Overview", "home"), Now: d.op.Show()}
	p.Draft, p.Revision = p.Now.Settings, p.Now.Settings.Revision
	p.Ruler = rulerOf(p.Now)
	if p.Now.Versioned {
		p.Flow = flowOf(p.Now)
	}
	p.Grid = gridOf(p.Now.Connected)
	p.Hour, p.HourAll = hourOf(p.Now.LastHour)
	if records, err := d.op.Audit(0, recent); err == nil {
		p.Recent = auditRows(records, p.Revision)
	}
	p.fill()
	return p
}

// fill makes the lists of the forms from the draft.
func (p *homePage) fill() {
	p.Popups, p.Links = nil, nil
	for _, key := range compat.Popups() {
		p.Popups = append(p.Popups, popupText{Key: key, When: popupWhen(key), Text: p.Draft.Messages[key]})
	}
	for _, target := range slices.Sorted(maps.Keys(p.Draft.StoreURLs)) {
		p.Links = append(p.Links, storeLink{target, p.Draft.StoreURLs[target]})
	}
}

// popupWhen says when a client shows a popup.
func popupWhen(key string) string {
	return map[string]string{
		compat.PopupStore: "A store has to update it", compat.PopupNoBinary: "There is no module for it", compat.PopupNewer: "It is newer than the server",
		compat.PopupUpdater: "Its updater is too old", compat.PopupPinned: "The account played a newer version", compat.PopupMaintenance: "Maintenance",
		compat.PopupLoop: "An update did not help", compat.PopupDeveloper: "A developer’s components differ",
	}[key]
}

// boardFuncs are what pages call.
func boardFuncs() template.FuncMap {
	return template.FuncMap{
		"plural": plural, "kicks": kickChoices,
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"when":  func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") },
		"input": inputTime,
		"join":  strings.Join,
		"rest":  func(height int) int { return 100 - height },
		"short": func(s string) string { return s[:min(len(s), 8)] },
	}
}

// inputTime is a time as a form shows it; empty for none.
func inputTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(formTime)
}

// plural is a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
