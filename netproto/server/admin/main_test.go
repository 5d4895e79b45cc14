package admin_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that nothing ended. net/http's wait of half a second for a client whose body it did not read ends by
// itself, and later than goleak is ready to wait.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
