// Package lasting keeps the window alive after the machine was suspended. Import it for this effect only.
//
// The toolkit (2.8.1) drops its cached widget data after a minute without use, measured by the time of day. After a suspend
// or a change of the clock all visible data counts as expired, and the window never draws again. The toolkit reads the
// expiry time from the environment during its initialization, before any other code can set it, so the variable must be set
// earlier. Go initializes packages in the order of their import paths as far as their imports allow. This package imports
// almost nothing, so it comes first.
package lasting

import "os"

const (
	variable = "FYNE_CACHE"
	longer   = "87600h" // ten years, longer than any window is open
)

func init() {
	if _, asked := os.LookupEnv(variable); !asked {
		_ = os.Setenv(variable, longer) // fails only for invalid names
	}
}

// Read removes the variable from the environment, so that no game inherits it. The package that imports the toolkit calls
// it; the toolkit has read the variable by then.
func Read() {
	if os.Getenv(variable) == longer {
		_ = os.Unsetenv(variable)
	}
}
