package delta

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"collet/platform/testlevel"
)

// TestMain checks properties on fewer cases, unless enumerations are whole or a flag says how many, and that no goroutine is left.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); !testlevel.Full() && f.Value.String() == f.DefValue {
		if err := f.Value.Set(map[bool]string{false: "40", true: "10"}[testing.Short()]); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// sized is a size for a test: the full one where enumerations are whole.
func sized(full, sampled int) int {
	if testlevel.Full() {
		return full
	}
	return sampled
}
