package demo

import (
	"context"
	"time"

	"collet/build/qa/process"
)

// politeEnd is how long a program may take to end when it is asked to.
const politeEnd = 5 * time.Second

// StartServer starts the update server of a layout on a port of the loopback interface, 0 for a free one, and returns
// when it listens, with its address. The caller stops it.
func StartServer(ctx context.Context, l *Layout, port int) (*process.Process, string, error) {
	return process.StartServer(ctx, l.ServerProgram, l.ServerSettings(), port)
}
