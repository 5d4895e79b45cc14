// Package lasting keeps the window alive across a sleep of the machine. Import it for that alone.
//
// The toolkit (2.8.1) forgets what it made for widgets after a minute without use, and takes the time of day for the measure. After
// a laptop has slept, or the clock was set, everything on the screen counts as old, and is forgotten while it is shown:
// the window never draws again. The toolkit reads how long it remembers from the environment, before anybody can say it
// in another way. So it has to stand there when its packages begin. This one begins earlier, because packages begin in the order of their
// import paths as far as what they import allows, and this one imports next to nothing.
package lasting

import "os"

const (
	variable = "FYNE_CACHE"
	longer   = "87600h" // than any window is open: ten years
)

func init() {
	if _, asked := os.LookupEnv(variable); !asked {
		_ = os.Setenv(variable, longer) // fails for names that this is not
	}
}

// Read takes the variable out of the environment again, so that no game inherits it. It is for the package that imports the
// toolkit, which has read it by then.
func Read() {
	if os.Getenv(variable) == longer {
		_ = os.Unsetenv(variable)
	}
}
