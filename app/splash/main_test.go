package splash

import (
	"os"
	"testing"
)

// TestMain lets the test binary act as a program with a real window: see real_test.go.
func TestMain(m *testing.M) {
	if scene := os.Getenv(childScene); scene != "" {
		os.Exit(child(scene))
	}
	os.Setenv("LANG", "C") // Fyne's own texts depend on it
	os.Exit(m.Run())
}
