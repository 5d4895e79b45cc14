// Package advice is the error of the commands of collet that make things: what went wrong and where, why, and what a person can do
// about it, in this order and in one line.
package advice

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

// Wrong is an Error without a cause. What is formatted as fmt.Sprintf does.
func Wrong(next, what string, args ...any) error {
	return &Error{What: fmt.Sprintf(what, args...), Next: next}
}

// Because is an Error with a cause.
func Because(err error, next, what string, args ...any) error {
	return &Error{What: fmt.Sprintf(what, args...), Next: next, Err: err}
}
