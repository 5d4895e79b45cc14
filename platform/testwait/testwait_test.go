package testwait_test

import (
	"fmt"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"collet/platform/testwait"
)

// failed records a failure in place of a test.
type failed struct{ text string }

func (f *failed) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, f := time.Now(), &failed{}
		testwait.Until(f, func() bool { return time.Since(began) >= time.Second }, "a second passes")
		if took := time.Since(began); f.text != "" || took < time.Second || took > 2*time.Second {
			t.Errorf("%q after %v", f.text, took)
		}
	})
}

func TestUntilFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, f := time.Now(), &failed{}
		testwait.Until(f, func() bool { return false }, "the sun goes up")
		if took := time.Since(began); took != testwait.Limit || f.text != "waited for 2m0s without success: the sun goes up" {
			t.Errorf("%q after %v", f.text, took)
		}
	})
}

// TestFreeAddress gets addresses that are all different, and outside the range from which Linux takes ports by itself.
func TestFreeAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		address := testwait.FreeAddress(t)
		_, port, err := net.SplitHostPort(address)
		if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 10_000 || n >= 32_768 || seen[address] {
			t.Fatalf("%s, %v, %v", address, err, bad)
		}
		seen[address] = true
	}
}
