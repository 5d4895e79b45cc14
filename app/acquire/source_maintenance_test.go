package acquire_test

import (
	"context"
	"testing"

	"collet/app/download"
	"collet/app/update"
	"collet/netproto/compat"
	"collet/platform/testlevel"
)

// judging is a server with a fixed verdict, which takes precedence over the mirrors.
type judging struct {
	judgement compat.Judgement
	mirror    download.Mirror
}

func (j judging) Connect(context.Context, func()) (compat.Judgement, download.Mirror, error) {
	return j.judgement, j.mirror, nil
}
func (judging) Close() error { return nil }

// TestMaintenanceOfSignedReleases: during a maintenance what comes after it is fetched and not put in place, from mirrors or from
// the server's own folder, and afterwards nothing is left to fetch.
func TestMaintenanceOfSignedReleases(t *testing.T) {
	testlevel.Slow(t)
	p := newGame(t)
	down := compat.Judgement{
		Verdict: compat.Maintenance, Rule: compat.RuleMaintenance, Reasons: compat.ReasonOf(compat.RuleMaintenance) | compat.ReasonOf(compat.RuleTooOld),
	}
	for name, server := range map[string]func(download.Mirror) (judging, []download.Mirror){
		"mirrors": func(w download.Mirror) (judging, []download.Mirror) {
			return judging{judgement: down}, []download.Mirror{w}
		},
		"the server's own folder": func(w download.Mirror) (judging, []download.Mirror) { return judging{down, w}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, p, p.when(6)).at(2)
			open, mirrors := server(p.when(6))
			c.server, c.mirrors, c.ahead = open, mirrors, true
			if r := c.run(); r.status.Outcome != update.Maintenance || r.report.Fetched == 0 {
				t.Fatalf("%v", r)
			}
			for live, content := range map[string]string{"Lathe.so": game(2)["Lathe.so"], "Resources/Core.zip": game(2)["Core.zip"]} {
				if c.disk.Files()[live] != content {
					t.Errorf("%s was replaced during the maintenance", live)
				}
			}
			open.judgement = compat.Judgement{Verdict: compat.Accept, Rule: compat.RuleAccept}
			c.server = open
			r := c.run()
			if r.status.Outcome != update.BinariesStaged || r.report.Fetched > 20_000 {
				t.Errorf("after the maintenance: %v", r)
			}
			c.holds(6)
		})
	}
}

// TestMaintenanceThatHasNothing: if no mirror delivers during a maintenance, the outcome is the maintenance, not a fault.
func TestMaintenanceThatHasNothing(t *testing.T) {
	p := newGame(t)
	c := newClient(t, p, p.when(2)).at(2)
	c.server, c.mirrors, c.ahead = judging{judgement: compat.Judgement{Verdict: compat.Maintenance}}, nil, true
	if r := c.run(); r.status.Outcome != update.Maintenance || r.status.Fault != nil || r.report.Fetched != 0 {
		t.Errorf("%v", r)
	}
	c.holds(2)
}

// TestReasonsOfAServerTravel: beside mirrors a server's grounds for another module, and its warnings, reach the client.
func TestReasonsOfAServerTravel(t *testing.T) {
	p := newGame(t)
	c := newClient(t, p, p.when(6)).at(2)
	c.server = judging{judgement: compat.Judgement{
		Verdict: compat.UpdateBinaries, Rule: compat.RuleTooOld, Reasons: compat.ReasonOf(compat.RuleTooOld), Revision: 12, Warnings: compat.WarnComponents,
	}}
	r := c.run()
	if j := r.status.Judgement; r.status.Outcome != update.BinariesStaged || j.Rule != compat.RuleTooOld || j.Revision != 12 || j.Warnings != compat.WarnComponents {
		t.Errorf("%v, %+v", r, j)
	}
	if o := r.status.Offer; o.Rule != uint8(compat.RuleTooOld) || o.Revision != 12 || o.Hash == "" {
		t.Errorf("offer %+v", o)
	}
}
