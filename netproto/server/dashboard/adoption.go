package dashboard

import (
	"fmt"
	"net/http"
	"strings"

	"collet/netproto/adoption"
	"collet/netproto/beacon"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// adoptionPage shows what beacons tell of releases.
type adoptionPage struct {
	frame
	Report  adoption.Report
	Windows []adoption.Window
	Rows    []adoptionRow
	Ends    []adoptionEnd
	Monthly bool // there are numbers of installs
}

// adoptionRow is a release.
type adoptionRow struct {
	adoption.Release
	Percent, FailedPercent string
	First                  uint64
	Received, Saved        string
	Bars                   []spreadBar
	Series                 string // the bars as text
}

// spreadBar is one column of a chart, in units of its picture.
type spreadBar struct{ X, Y, Height int }

// adoptionEnd is how often something ended in a way.
type adoptionEnd struct {
	adoption.Outcome
	Kind string // how it looks: "good", "bad", or nothing
}

// chartHeight is the height of a chart in units.
const chartHeight = 24

func showAdoption(d *request, w http.ResponseWriter, r *http.Request) {
	if d.op.Figures == nil {
		d.renderNotice(w, http.StatusNotFound, "sorry.unknown", d.words.text("adoption.none"))
		return
	}
	window, err := adoption.ParseWindow(r.URL.Query().Get("window"))
	if err != nil {
		d.renderError(w, &operator.InputError{Field: "window", Why: err.Error()})
		return
	}
	p := adoptionPage{frame: d.newFrame(d.words.text("nav.adoption"), "adoption"), Windows: []adoption.Window{adoption.Hour, adoption.Day, adoption.Month}}
	if p.Report, err = d.op.Figures.Adoption(window); err != nil {
		d.renderError(w, err)
		return
	}
	p.Monthly = window == adoption.Month
	for _, one := range p.Report.Releases {
		p.Rows = append(p.Rows, adoptionRowOf(one))
	}
	for _, o := range p.Report.Outcomes {
		end := adoptionEnd{Outcome: o, Kind: "good"}
		if o.Outcome != beacon.Confirmed && o.Outcome != beacon.Ready {
			end.Kind = "bad"
		}
		p.Ends = append(p.Ends, end)
	}
	d.renderPage(w, http.StatusOK, "adoption.html", p)
}

// adoptionRowOf prepares a release for its row.
func adoptionRowOf(one adoption.Release) adoptionRow {
	row := adoptionRow{
		Release: one, First: one.Confirmed + one.Failed, Percent: fmt.Sprintf("%.1f", 100*one.Share), Received: text.Bytes(int64(one.Bytes)), Saved: "–",
		Series: strings.Trim(fmt.Sprint(one.Spread), "[]"),
	}
	if one.Failed > 0 {
		row.FailedPercent = fmt.Sprintf("%.1f", 100*float64(one.Failed)/float64(row.First))
	}
	if one.Saved != nil {
		row.Saved = text.Bytes(int64(*one.Saved))
	}
	most := uint64(1)
	for _, n := range one.Spread {
		most = max(most, n)
	}
	for i, n := range one.Spread {
		height := int((n*chartHeight + most - 1) / most) // a single start is seen
		row.Bars = append(row.Bars, spreadBar{X: 4 * i, Y: chartHeight - height, Height: height})
	}
	return row
}
