//go:build !cgo

package splash

import (
	"fmt"

	"fyne.io/fyne/v2"
)

// newApp returns ErrNoWindow: a program built without cgo has no windows.
func newApp() (fyne.App, error) {
	return nil, fmt.Errorf("%w: this program was built without cgo", ErrNoWindow)
}
