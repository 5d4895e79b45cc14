package device

import (
	"context"
	"time"

	"collet/netproto/launcher/wire"
)

// Launcher runs applications for a Device. Its methods may be called from several goroutines, but Start only while no
// application of an earlier one runs.
type Launcher interface {
	// Profiles are the names of the profiles a desk may ask for, and the one that an empty name means.
	Profiles() (names []string, standard string)
	// Start starts an application and returns when it runs, or why it does not: the text goes to the desk and should end
	// in something to do. ctx ends the attempt, not the application. out takes every line that the application prints and
	// that there is to say about it, from any goroutine, until Done is closed; it does not block.
	Start(ctx context.Context, r StartRequest, out func(Line)) (Application, error)
}

// Application is one that runs, or has ended.
type Application interface {
	// Done is closed when it has ended and its last line was handed over.
	Done() <-chan struct{}
	// End is how it ended, after Done was closed.
	End() wire.RunEnd
	// Ask asks it to close, Kill ends it at once. Both return before it has ended, and may be called again and later.
	Ask() error
	Kill() error
}

// StartRequest is what a desk wants to be started.
type StartRequest struct {
	GameConfig string // text of a .degame file
	Profile    string // empty: the default
	Arguments  string // appended to those of the profile; empty: none
}

// Line is one line of a log.
type Line struct {
	Time   time.Time // zero: now
	Level  wire.LogLevel
	Source string // who says it: SourceGame, SourceDevice, or any other text
	Text   string // without a newline at its end; others make several lines of it
}

// The sources of lines. Released desks show them before the line; SourceGame is what released devices say (Remote launcher
// protocol, section 3.7).
const (
	SourceGame   = "Game"
	SourceDevice = "Collet"
)
