package platform

import (
	"context"
	"errors"
	"os"
)

// ErrNoMessage says that no message can be shown: no display, or none of the programs that show messages.
var ErrNoMessage = errors.New("nothing here can show a message")

// ShowMessage shows an error message by means of the system, without our window library, and returns when it was closed or ctx ends. The
// texts are shown unchanged: the caller sanitizes foreign ones. The error is ErrNoMessage if no message can be shown.
func ShowMessage(ctx context.Context, title, text string) error { return showMessage(ctx, title, text) }

// IsTerminal reports whether f is a terminal: a character device other than the null device.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
