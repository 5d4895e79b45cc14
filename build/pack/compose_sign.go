package pack

import (
	"context"

	"collet/netproto"
)

// signers are those who sign, by system.
type signers struct{}

func (p *Project) signers() (signers, error) { return signers{}, nil }

// wants reports whether a file beside a host is to be signed.
func (signers) wants(netproto.Target, string) bool { return false }

// program signs a program or library in place, where somebody signs for its system.
func (signers) program(context.Context, netproto.Target, string) error { return nil }

// artefact signs a finished package: in place on Windows, with a file beside it on Linux.
func (signers) artefact(context.Context, netproto.Target, string) error { return nil }
