package server

import (
	"context"
	"time"

	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// maxRetry is the longest time between two attempts to load a release folder that was not complete.
const maxRetry = 10 * time.Minute

// Watch reloads whenever something was published, until ctx ends: every period it takes the stamp, and when that has
// changed and then stayed the same for a whole period, publishing is taken to be finished. What failed to load is not
// tried again before it changes; only a release folder is, after longer and longer times, because what it lacks may be
// copied without a change of its timestamp. Offered is the stamp of what is offered, taken before it was opened; settings gives the
// settings as they are now.
func Watch(ctx context.Context, period time.Duration, offered uint64, settings func() (config.Settings, error), reload func(context.Context) error) {
	folder := false
	stamp := func(last uint64) uint64 {
		set, err := settings()
		if err != nil {
			return last // a settings file that is being written; SIGHUP tells of one that is wrong
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
			if reload(ctx) != nil && folder { // which tells of its failure
				wait = min(2*wait, maxRetry)
				again = time.Now().Add(wait)
			}
		}
		seen = now
	}
}
