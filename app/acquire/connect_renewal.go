package acquire

import (
	"context"
	"fmt"

	"collet/netproto/compat"
)

// This file handles a release that needs a newer version of this program, in an install that updates the program from releases. Then
// only the program's files that belong to the install are offered, and the new version fetches the rest of the release.

// Renewing reports whether the last Connect offers only the program.
func (s *Source) Renewing() bool { return s.connected.renewing }

// checkHost rejects a release that needs a newer host, unless the release may update the host.
func (c *connecting) checkHost() error {
	if c.head.HostABI <= c.o.HostABI && c.head.HostBuild <= c.o.HostBuild {
		return nil
	}
	if c.o.Renew != nil && c.o.Renew() {
		c.renewing = true
		return nil
	}
	return c.hostTooOld()
}

func (c *connecting) hostTooOld() error {
	return fmt.Errorf("%w: host ABI %d and build %d, this has %d and %d", errHostTooOld, c.head.HostABI, c.head.HostBuild, c.o.HostABI, c.o.HostBuild)
}

// renewed checks that the release has a newer host to fetch, if one is needed.
func (c *connecting) renewed(ctx context.Context) error {
	if !c.renewing {
		return nil
	}
	lacks, err := lacksFile(ctx, c.o.Disk, c.hosts(c.o.Disk))
	if err == nil && !lacks {
		c.renewing, err = false, c.hostTooOld() // the release has the installed program
	}
	if err == nil {
		c.o.Log.Info().Uint64("release", c.head.Number).Msg("the release needs a newer version of this program, which comes first")
	}
	return err
}

// offerHost replaces a server's verdict UpdaterMismatch by an offer of a newer program, if the mirrors have one.
func (c *connecting) offerHost(ctx context.Context, d serverAnswer, err error) (compat.Judgement, bool) {
	if d.err != nil || err != nil || d.judgement.Verdict != compat.UpdaterMismatch || c.listing == nil || c.o.Renew == nil || !c.o.Renew() {
		return compat.Judgement{}, false
	}
	if lacks, err := lacksFile(ctx, c.o.Disk, c.hosts(c.o.Disk)); err != nil || !lacks {
		return compat.Judgement{}, false
	}
	c.renewing = true
	c.o.Log.Info().Uint64("release", c.head.Number).Msg("the server wants a newer version of this program, which comes first")
	return compat.Judgement{Verdict: compat.UpdateResources, Compatibility: c.head.Compatibility}, true
}
