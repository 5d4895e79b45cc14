// Package collet embeds FyneApp.toml, the only place where the version number and the
// application's identity are written, and hands both to the programs of this module.
//
// It holds no other code, so that every package may import it.
package collet

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed FyneApp.toml
var fyneApp string

// Details is what FyneApp.toml says about the application. Values are copied from the file as they stand.
type Details struct {
	Name    string // human name of the product
	ID      string // reverse-domain application id, used by Fyne and by installers
	Version string // semantic version, three numbers
	Build   int    // rises with every shipped build
}

// App returns what FyneApp.toml says. The file is embedded and a test covers it, so a missing value is a broken build
// and panics.
func App() Details {
	build, err := strconv.Atoi(detail("Build"))
	if err != nil {
		panic(fmt.Sprintf("collet: internal error: FyneApp.toml: Build: %v", err))
	}
	return Details{Name: detail("Name"), ID: detail("ID"), Version: detail("Version"), Build: build}
}

// Version is the version number of all programs of this module, for example "0.1.0".
func Version() string { return App().Version }

// AppID is the application id that Fyne and the installers use.
func AppID() string { return App().ID }

// detail finds one `Key = value` line. This package may import nothing but the standard library (arch_test.go),
// and the file is our own, so the few lines that are needed of TOML are read by hand.
func detail(key string) string {
	for line := range strings.Lines(fyneApp) {
		name, value, found := strings.Cut(line, "=")
		if found && strings.TrimSpace(name) == key {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	panic("collet: internal error: FyneApp.toml has no " + key)
}
