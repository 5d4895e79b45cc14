package server

import (
	"collet/netproto/server/catalogue"
	"collet/netproto/server/limits"
)

// HoldCatalogue returns the current catalogue, held for the caller, who releases it.
func (s *Server) HoldCatalogue() *catalogue.Catalogue {
	for {
		if c := s.Catalogue(); c.Hold() {
			return c
		}
	}
}

// spareDescriptors are for listeners, the log, a monitor and the system's libraries.
const spareDescriptors = 64

// warnOfDescriptors warns when the system allows fewer descriptors than the limits need; 0 is unknown.
func (s *Server) warnOfDescriptors(descriptors uint64) {
	files := 2 * s.Catalogue().Handles()
	if s.set.Release.Folder != "" {
		files += s.set.Limits.HTTPConnections // each may have a file of the folder open
	}
	if need := uint64(s.set.Limits.Connections + limits.MaxRefusals + files + spareDescriptors); descriptors != 0 && descriptors < need {
		s.log.Warn().Uint64("allowed", descriptors).Uint64("needed", need).
			Msg("The system allows fewer open files than Limits.Connections may need: raise it (LimitNOFILE, ulimit -n), or lower the setting")
	}
}
