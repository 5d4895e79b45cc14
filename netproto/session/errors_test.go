package session_test

import (
	"errors"
	"testing"

	"collet/netproto"
	"collet/netproto/session"
)

// TestErrorTexts keeps the words short, complete and one per fact.
func TestErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	for want, err := range map[string]error{
		"reach example.org:4000: cause":                                  &session.UnreachableError{Addr: "example.org:4000", Err: cause},
		"connection ended before the server's answer: cause":             &session.ClosedError{Err: cause},
		"connection ended after the server's answer: cause":              &session.ClosedError{Answered: true, Err: cause},
		`the server refused: file changed on the server: "Core.zip"`:     &session.RefusedError{Reason: netproto.RefuseChanged, Text: "Core.zip"},
		`the server refused: reason 200: ""`:                             &session.RefusedError{Reason: 200},
		`the server refused: server is going down: "back in ten\nwords"`: &session.RefusedError{Reason: netproto.RefuseGoingDown, Text: "back in ten\nwords"},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		var refused *session.RefusedError
		if !errors.As(err, &refused) && !errors.Is(err, cause) {
			t.Errorf("%q hides its cause", err)
		}
	}
}
