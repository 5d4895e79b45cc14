package server

import (
	"context"
	"time"

	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// maxRetry is the longest time between two attempts to load an incomplete release folder.
const maxRetry = 10 * time.Minute

// Watch reloads after each publication, until ctx ends. It takes the catalogue's stamp every period. A stamp that has changed and
// then stayed the same for a whole period means that publishing is finished. A failed load is repeated only after the next
// change, except for a release folder: its missing files may arrive without a change of its timestamp, so it is tried again after
// growing pauses. Offered is the stamp of the current catalogue, taken before it was opened; settings gives the current settings.
func Watch(ctx context.Context, period time.Duration, offered uint64, settings func() (config.Settings, error), reload func(context.Context) error) {
	folder := false
	stamp := func(last uint64) uint64 {
		set, err := settings()
		if err != nil {
			return last // the settings file may be half-written; SIGHUP reports a wrong one
		}
		folder = set.Release.Folder != ""
		return catalogue.Stamp(set)
	}
	var again time.Time
	wait := period
	seen := offered
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := stamp(seen)
		switch {
		case now != seen:
		case now != offered:
			again, wait = time.Time{}, period
			fallthrough
		case !again.IsZero() && !time.Now().Before(again):
			offered, again = now, time.Time{}
			if reload(ctx) != nil && folder { // reload logs its failure
				wait = min(2*wait, maxRetry)
				again = time.Now().Add(wait)
			}
		}
		seen = now
	}
}
