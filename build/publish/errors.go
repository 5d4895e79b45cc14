package publish

import "fmt"

// Error is a fault that a person can do something about. Errors of disk and network come wrapped in it where that helps.
type Error struct {
	What string // what went wrong, and where
	Next string // what to do about it; may be empty
	Err  error  // why; may be nil
}

func (e *Error) Error() string {
	text := e.What
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Next != "" {
		text += "; " + e.Next
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// wrong is an Error without a cause.
func wrong(next, what string, args ...any) error {
	return &Error{What: fmt.Sprintf(what, args...), Next: next}
}

// because is an Error with a cause.
func because(err error, next, what string, args ...any) error {
	return &Error{What: fmt.Sprintf(what, args...), Next: next, Err: err}
}
