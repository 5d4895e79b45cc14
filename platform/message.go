package platform

import (
	"context"
	"errors"
	"os"
)

// ErrNoMessage says that nothing here can show a message: no display, or none of the programs that show one.
var ErrNoMessage = errors.New("nothing here can show a message")

// ShowMessage shows a person that something went wrong, by means of the system and without a window library of ours, and returns when
// it was closed or ctx ends. The texts are shown as they are: the caller makes foreign ones harmless. The error is ErrNoMessage where
// there is no way to show it.
func ShowMessage(ctx context.Context, title, text string) error { return showMessage(ctx, title, text) }

// IsTerminal reports whether a person reads along what is written to f. A character device that is not the null device is a terminal.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
