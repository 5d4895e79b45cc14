//go:build !linux

package server

import (
	"errors"
	"os"

	"collet/netproto/server/limits"
)

// fileSender is never created on this system: portions are copied through memory.
type fileSender struct{ to *limits.Conn }

func newFileSender(*limits.Conn) *fileSender { return nil }

func (*fileSender) send([]byte, *os.File, int64, int) error { return errors.ErrUnsupported }
