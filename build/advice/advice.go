// Package advice provides the error type of Collet's commands. Its text is one line: the failure and its place, the cause, and advice.
//
// It is a package of its own because build/publish and build/pack/sign return it, and neither imports the other.
package advice

import "fmt"

// Error is a failure with advice. It wraps errors of disk and network where that helps.
type Error struct {
	What string // the failure and its place
	Next string // advice; may be empty
	Err  error  // the cause; may be nil
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Wrong returns an Error without a cause. what and args are formatted like fmt.Sprintf.
func Wrong(next, what string, args ...any) error {
	return &Error{What: fmt.Sprintf(what, args...), Next: next}
}

// Because returns an Error with a cause.
func Because(err error, next, what string, args ...any) error {
	return &Error{What: fmt.Sprintf(what, args...), Next: next, Err: err}
}
