// Package embedded is the client that is linked into the host: the sample game that is also built as a module, with the same three
// methods as a loaded module. It runs if no module can be loaded.
//
// The client uses the package of the program (package runtime/area): a program has one set of areas.
//
// A program that is built without cgo has no built-in client: Available is false and Open returns ErrAbsent.
//
// Its symbols are hidden, so that a loaded module of the same game does not bind to them.
package embedded

import "errors"

// ErrAbsent says that this program was built without a built-in client.
var ErrAbsent = errors.New("this program was built without a built-in client")
