package device

import (
	"context"
	"time"

	"collet/netproto/launcher/wire"
)

// Launcher runs applications for a Device. Its methods may be called from several goroutines; Start is called only while
// no earlier application runs.
type Launcher interface {
	// Profiles returns the names of the profiles that a desk may request, and the one that an empty name stands for.
	Profiles() (names []string, standard string)
	// Start starts an application. It returns when the application runs or could not be started: the error text goes to the desk
	// and should end in something to do. ctx cancels the attempt, not the application. out takes each line that the application
	// prints, and each notice about it. It may be called from any goroutine until Done is closed, and does not block.
	Start(ctx context.Context, r StartRequest, out func(Line)) (Application, error)
}

// Application is an application that was started; it may have ended.
type Application interface {
	// Done is closed when the application has ended and its last line was passed to out.
	Done() <-chan struct{}
	// End is how it ended, valid after Done was closed.
	End() wire.RunEnd
	// Ask asks it to close, Kill ends it at once. Both return before it has ended, and may be called repeatedly.
	Ask() error
	Kill() error
}

// StartRequest is a desk's request to start an application.
type StartRequest struct {
	GameConfig string // text of a .degame file
	Profile    string // empty: the default
	Arguments  string // appended to those of the profile; empty: none
}

// Line is one line of a log.
type Line struct {
	Time   time.Time // zero: now
	Level  wire.LogLevel
	Source string // the author of the line: SourceGame, SourceDevice, or any other text
	Text   string // without a newline at its end; others make several lines of it
}

// The sources of lines. Released desks display them before the line; released devices send SourceGame.
const (
	SourceGame   = "Game"
	SourceDevice = "Collet"
)
