// Package embedded is the client that is linked into the host: the same sample game that also comes as a module,
// compiled in, behind the same three methods as a loaded module. It runs where no module can be loaded.
//
// What packaging put into the program (package runtime/area) is the client's, too: a program has one set of areas.
//
// Where the program is built without cgo there is none: Available is false and Open returns ErrAbsent.
//
// Its symbols are hidden, so that a module of the same game, loaded beside it, keeps to its own.
package embedded

import "errors"

// ErrAbsent says that this program was built without a built-in client.
var ErrAbsent = errors.New("this program was built without a built-in client")
