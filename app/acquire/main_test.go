package acquire_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when any test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
