//go:build !linux

package server

import (
	"errors"
	"os"

	"collet/netproto/server/limits"
)

// straight is never created on this system: portions are copied through memory.
type straight struct{ to *limits.Conn }

func newStraight(*limits.Conn) *straight { return nil }

func (*straight) send([]byte, *os.File, int64, int) error { return errors.ErrUnsupported }
