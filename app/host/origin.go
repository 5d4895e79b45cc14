package host

import (
	"cmp"
	"os"

	"collet/app/download"
)

// origin is where updates come from: the server as it was asked for or as a redirect named it, and the mirrors of signed releases.
type origin struct {
	*setup
	server string            // as it was asked for
	route  route             // how to get there
	signed signed            // where signed releases come from, and who vouches for them
	before *detour           // where a redirect led away from; nil without one
	valve  valve             // pauses and slows what is fetched
	warm   *download.HTTPWay // is being connected to for the first update; nil for none
}

// find completes an origin of which the setup is known, and begins the log with both.
func (o *origin) find() (err error) {
	o.server = cmp.Or(o.opt.Server, o.settings.Server())
	o.startLog(o.server)
	o.route = newRoute(o.server, o.opt, o.settings, o.folder, os.Getenv, o.log)
	if o.signed, err = newSigned(o.opt, o.settings, o.folder, os.Getenv); err != nil {
		return err
	}
	o.valve.SetCap(o.signed.bandwidth)
	return nil
}
