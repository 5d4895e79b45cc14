package dashboard

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
)

// homePage is the overview with a form for each part of the settings.
type homePage struct {
	frame
	Now      operator.State
	Draft    compat.Settings // what the forms show
	Open     string          // the form that is being filled in
	Mistakes []compat.Mistake
	Saved    uint64 // the revision that was made a moment ago; 0 for none
	Ruler    ruler
	Flow     []flowColumn
	Grid     grid
	HourGrid grid // of handshakes
	Hour     []outcomeBar
	HourAll  int
	Recent   []auditRow
	Popups   []popupText
	Links    []storeLink
}

// Wrong are the mistakes of a field.
func (p homePage) Wrong(prefix string) []compat.Mistake {
	return mistakesOf(p.Mistakes, prefix)
}

// Warned are the warnings of the start.
func (p homePage) Warned() (all []operator.BootState) {
	for _, b := range p.Now.Boot {
		if b.Actor == "" {
			all = append(all, b)
		}
	}
	return all
}

// Shut reports whether only developers may play.
func (p homePage) Shut() bool {
	return p.Now.Settings.Maintenance.Enabled && len(p.Now.Settings.Maintenance.Targets) == 0
}

// Known are the components of versions, as far as they are of interest.
func (p homePage) Known() []operator.Baseline {
	if !p.Now.Versioned {
		return nil
	}
	return p.Now.Baselines[max(0, len(p.Now.Baselines)-maxCells):]
}

// Hint is what to know of a field.
func (p homePage) Hint(prefix string) []compat.Mistake { return mistakesOf(p.Now.Hints, prefix) }

// mistakesOf are the mistakes of a field and what is in it.
func mistakesOf(all []compat.Mistake, prefix string) (some []compat.Mistake) {
	for _, m := range all {
		if strings.HasPrefix(m.Field, prefix) {
			some = append(some, m)
		}
	}
	return some
}

// popupText is an operator's replacement of a standard message.
type popupText struct{ Key, Text string }

// storeLink is the store page for a target.
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
func rulerOf(s operator.State) (r ruler) {
	active := s.Settings.Active()
	counts := map[string]int{}
	for _, g := range s.Connected {
		counts[g.Logic] += g.Count
	}
	r.None, r.Other = counts[operator.NoLogicGroup], counts[operator.OtherGroup]
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

// grid counts clients by target and logic version.
type grid struct {
	Versions []string
	Rows     []gridRow
	Totals   []int // by version
	Total    int
}

type gridRow struct {
	Target string
	Counts []gridCell
	Total  int
}

type gridCell struct{ Count, Shade int } // Shade is 0 to 4

func gridOf(groups []operator.Group) (g grid) {
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
	for _, v := range g.Versions {
		g.Totals = append(g.Totals, columns[v])
	}
	for _, target := range slices.Sorted(maps.Keys(rows)) {
		row := gridRow{Target: target, Total: rows[target]}
		for _, v := range g.Versions {
			n := counts[[2]string{target, v}]
			row.Counts = append(row.Counts, gridCell{Count: n, Shade: (percent(n, most) + 24) / 25})
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// versionOrder sorts NoLogicGroup first, then the numbers, then all other labels.
func versionOrder(label string) int64 {
	n, err := strconv.ParseInt(label, 10, 32)
	switch {
	case label == operator.NoLogicGroup:
		return -1
	case err != nil:
		return 1 << 40
	default:
		return n
	}
}

// hourOf are the verdicts of the last hour.
func hourOf(groups []operator.Group) (bars []outcomeBar, all int) {
	counts := map[string]int{}
	for _, g := range groups {
		counts[g.Verdict] += g.Count
		all += g.Count
	}
	return outcomeBars(operator.Forecast{Then: counts}), all
}

// showHome shows the overview.
func showHome(d *request, w http.ResponseWriter, r *http.Request) {
	p := newHomePage(d)
	if saved := r.URL.Query().Get("saved"); saved == strconv.FormatUint(p.Revision, 10) {
		p.Saved = p.Revision
	}
	d.renderPage(w, http.StatusOK, "home.html", p)
}

// showLive shows the part of it that updates automatically.
func showLive(d *request, w http.ResponseWriter, _ *http.Request) {
	d.renderPage(w, http.StatusOK, "live", newHomePage(d))
}

// renderHomeMistakes shows the overview with an invalid form and its mistakes.
func renderHomeMistakes(d *request, w http.ResponseWriter, status int, open string, draft compat.Settings, mistakes []compat.Mistake) {
	p := newHomePage(d)
	p.Open, p.Draft, p.Mistakes = open, draft, mistakes
	p.fillForms()
	d.renderPage(w, status, "home.html", p)
}

// newHomePage is the overview of the current state.
func newHomePage(d *request) homePage {
	const recent = 5 // records
	p := homePage{frame: d.newFrame(d.words.text("nav.home"), "home"), Now: d.op.Show()}
	p.Draft, p.Revision = p.Now.Settings, p.Now.Settings.Revision
	p.Ruler = rulerOf(p.Now)
	if p.Now.Versioned {
		p.Flow = flowOf(p.Now)
	}
	p.Grid, p.HourGrid = gridOf(p.Now.Connected), gridOf(p.Now.LastHour)
	p.Hour, p.HourAll = hourOf(p.Now.LastHour)
	if records, err := d.op.Audit.Records(0, recent); err == nil {
		p.Recent = d.words.auditRows(records, p.Revision)
	}
	p.fillForms()
	return p
}

// fillForms derives the lists of the forms from the draft.
func (p *homePage) fillForms() {
	p.Popups, p.Links = nil, nil
	for _, key := range compat.Popups() {
		p.Popups = append(p.Popups, popupText{Key: key, Text: p.Draft.Messages[key]})
	}
	for _, target := range slices.Sorted(maps.Keys(p.Draft.StoreURLs)) {
		p.Links = append(p.Links, storeLink{target, p.Draft.StoreURLs[target]})
	}
}

// inputTime formats a time for a form; empty for none.
func inputTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(formTime)
}
