//go:build race

package chunk

import (
	"flag"
	"os"
	"testing"
)

// raceEnabled says that the race detector multiplies memory and time.
const raceEnabled = true

// TestMain has properties checked on fewer cases than without the race detector, which looks for something else.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "6"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
