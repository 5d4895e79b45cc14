//go:build cgo

package splash

import (
	"fmt"
	"os"
	"runtime"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"

	"collet"
)

// newApp makes the Fyne application. It is the only place that requires the toolkit's windows, and so cgo. The version and
// the identity come from the root package; Fyne would otherwise look for a FyneApp.toml beside the program.
func newApp() (fyne.App, error) {
	if !hasDisplay(runtime.GOOS, os.Getenv) {
		return nil, fmt.Errorf("%w: neither DISPLAY nor WAYLAND_DISPLAY is set", ErrNoDisplay)
	}
	if err := checkSeat(runtime.GOOS, os.Getenv); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoWindow, err)
	}
	d := collet.App()
	app.SetMetadata(fyne.AppMetadata{
		ID: d.ID, Name: d.Name, Version: d.Version, Build: d.Build, Release: true,
		Migrations: map[string]bool{"fyneDo": true}, // widgets are only used on the loop
	})
	return app.NewWithID(d.ID), nil
}
