package acquire

import (
	"context"
	"fmt"

	"collet/netproto/compat"
	"collet/netproto/release"
)

// This file handles a release that needs a newer version of this program, in an install that updates the program from releases. Then
// only the program's files that belong to the install are offered, and the new version fetches the rest of the release.

// Renewing reports whether the last Connect offers only the program.
func (s *Source) Renewing() bool { return s.renewing }

// checkHost rejects a release that needs a newer host, unless the release may update the host.
func (s *Source) checkHost() error {
	if s.head.HostABI <= s.o.HostABI && s.head.HostBuild <= s.o.HostBuild {
		return nil
	}
	if s.o.Renew != nil && s.o.Renew() {
		s.renewing = true
		return nil
	}
	return s.hostTooOld()
}

func (s *Source) hostTooOld() error {
	return fmt.Errorf("%w: host ABI %d and build %d, this has %d and %d", errHostTooOld, s.head.HostABI, s.head.HostBuild, s.o.HostABI, s.o.HostBuild)
}

// renewed checks that the release has a newer host to fetch, if one is needed.
func (s *Source) renewed(ctx context.Context) error {
	if !s.renewing {
		return nil
	}
	lacks, err := s.lacksHost(ctx)
	if err == nil && !lacks {
		s.renewing, err = false, s.hostTooOld() // the release has the installed program
	}
	if err == nil {
		s.o.Log.Info().Uint64("release", s.head.Number).Msg("the release needs a newer version of this program, which comes first")
	}
	return err
}

// lacksHost reports whether the listing has a host for this install that is not on the disk.
func (s *Source) lacksHost(ctx context.Context) (bool, error) {
	for _, f := range s.hosts() {
		if there, err := s.hasFile(ctx, f); err != nil || !there {
			return err == nil, err
		}
	}
	return false, nil
}

// hosts are the host's files of the listing that belong to this install.
func (s *Source) hosts() (files []release.File) {
	for i, f := range s.listing.Files() {
		if s.listing[i].Use == release.UseHost && s.o.Disk.Concerns(f) {
			files = append(files, f)
		}
	}
	return files
}

// refusedAsOld replaces a server's verdict UpdaterMismatch by an offer of a newer program, if the mirrors have one.
func (s *Source) refusedAsOld(ctx context.Context, d serverAnswer, err error) (compat.Judgement, bool) {
	if d.err != nil || err != nil || d.judgement.Verdict != compat.UpdaterMismatch || s.listing == nil || s.o.Renew == nil || !s.o.Renew() {
		return compat.Judgement{}, false
	}
	if lacks, err := s.lacksHost(ctx); err != nil || !lacks {
		return compat.Judgement{}, false
	}
	s.renewing = true
	s.o.Log.Info().Uint64("release", s.head.Number).Msg("the server wants a newer version of this program, which comes first")
	return compat.Judgement{Verdict: compat.UpdateResources, Compatibility: s.head.Compatibility}, true
}
