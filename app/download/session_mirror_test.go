package download

import (
	"collet/netproto/session"
	"errors"
	"os"
	"testing"
)

// TestSessionMirrorFaults: an error of a session becomes one of the three types of a Mirror.
func TestSessionMirrorFaults(t *testing.T) {
	w := NewSessionMirror(nil, "here:1")
	var missing *MissingError
	var wrong *WrongError
	var broken *NetError
	if err := w.classify(t.Context(), "a", &session.MissingObjectError{Name: "a"}); !errors.As(err, &missing) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := w.classify(t.Context(), "a", &session.ObjectEndError{Name: "a", At: 1, Want: 2}); !errors.As(err, &wrong) || wrong.Kind != WrongShort {
		t.Errorf("short: %v", err)
	}
	if err := w.classify(t.Context(), "a", errors.New("reset")); !errors.As(err, &broken) || broken.Kind != NetReset {
		t.Errorf("broken: %v", err)
	}
	if err := w.classify(t.Context(), "a", nil); err != nil {
		t.Errorf("the end: %v", err)
	}
	if _, err := w.Get(t.Context(), "a", 0, 100, 50); !errors.As(err, &wrong) || wrong.Kind != WrongLong {
		t.Errorf("beyond the limit: %v", err)
	}
}
