package server

import (
	"context"

	"collet/netproto/server/catalogue"
	"collet/netproto/server/config"
)

// WarnOf warns about descriptors as Serve does.
func (s *Server) WarnOf(descriptors uint64) { s.warnOfDescriptors(descriptors) }

// Descriptors is how many files the system lets this process open; 0 is unknown.
func Descriptors() uint64 { return descriptors() }

// HalfReload does what Reload has done just before it publishes the new catalogue: the operator already has it. The caller closes
// the returned catalogue.
func (s *Server) HalfReload(ctx context.Context, set config.Settings) (*catalogue.Catalogue, error) {
	c, err := catalogue.Reopen(ctx, set, s.Catalogue(), s.log)
	if err != nil {
		return nil, err
	}
	return c, s.operator.Load().Adopt(c.Declared())
}
