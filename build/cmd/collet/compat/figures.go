package compat

import (
	"context"
	"net/http"

	"collet/netproto/adoption"
	"collet/netproto/server/admin"
)

// FiguresFlags name the server that has the figures of beacons. Embed it.
type FiguresFlags struct {
	apiFlags
}

// Report asks for the figures of a month.
func (f FiguresFlags) Report(ctx context.Context) (report adoption.Report, err error) {
	return f.ask(ctx, adoption.Month)
}

// ask asks for the figures of a window.
func (f FiguresFlags) ask(ctx context.Context, w adoption.Window) (report adoption.Report, err error) {
	a, err := f.openAPI(ctx)
	if err != nil {
		return report, err
	}
	defer a.close(&err)
	return report, a.request(ctx, http.MethodGet, admin.APIAdoption+"?window="+string(w), nil, 0, &report)
}

// Record puts a decision about a release into the server's history.
func (f FiguresFlags) Record(ctx context.Context, d admin.ReleaseDecision) (err error) {
	a, err := f.openAPI(ctx)
	if err != nil {
		return err
	}
	defer a.close(&err)
	return a.request(ctx, http.MethodPost, admin.APIDecisions, d, 0, nil)
}

// Reload asks a server on this machine that was named by its control socket to offer the release folder as it is now. Others look by
// themselves, as Operations.WatchTime says.
func (f FiguresFlags) Reload(ctx context.Context) error {
	if f.Control == "" {
		return nil
	}
	return admin.Ask(ctx, f.Control, admin.Reload)
}
