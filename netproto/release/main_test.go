package release_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"collet/platform/testlevel"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); !testlevel.Full() && f.Value.String() == f.DefValue { // the whole is rapid's own hundred
		if err := f.Value.Set(map[bool]string{false: "40", true: "10"}[testing.Short()]); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
