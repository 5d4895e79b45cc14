package faultfs

import (
	"fmt"
	"io/fs"
	"os"
)

// Verb is what a call does.
type Verb string

// The first group changes something, or makes a change durable. Mkdir and the locks do so only if they create a file or folder.
const (
	Create     Verb = "create"      // OpenFile that makes a file
	Write      Verb = "write"       // File.Write
	Truncate   Verb = "truncate"    // File.Truncate, and OpenFile that empties a file
	Sync       Verb = "sync"        // File.Sync
	Rename     Verb = "rename"      // FS.Rename
	Link       Verb = "link"        // FS.Link
	Exchange   Verb = "exchange"    // FS.Exchange
	Remove     Verb = "remove"      // FS.Remove
	Mkdir      Verb = "mkdir"       // FS.MkdirAll
	Chmod      Verb = "chmod"       // FS.Chmod
	SyncFolder Verb = "sync folder" // FS.SyncDir
	Lock       Verb = "lock"        // FS.Lock
	LockShared Verb = "lock shared" // FS.LockShared

	Open   Verb = "open"   // OpenFile that only opens
	Read   Verb = "read"   // File.Read and File.ReadAt
	Close  Verb = "close"  // File.Close. It closes the file even if a rule fails it
	List   Verb = "list"   // FS.ReadDir
	Stat   Verb = "stat"   // FS.Stat, FS.Lstat and File.Stat
	Free   Verb = "free"   // FS.Free
	Unlock Verb = "unlock" // Close of what FS.Lock or FS.LockShared returned
)

// Op is one call that reached the disk.
type Op struct {
	Number int    // from 1, in the order in which the calls began; 0 for a call that is not counted
	Verb   Verb   //
	Name   string // as the caller gave it; for an open file the name it was opened by
	To     string // the second name of a rename, a link or an exchange
	Offset int64  // of a read or a write
	Size   int64  // bytes that a read or a write asked for; the length a truncation asked for
	Made   bool   // it finds its name missing, and makes it
	Err    error  // what the call returned; set when it is over
}

// Label is the operation in words, without its number.
func (o Op) Label() string {
	text := string(o.Verb) + " " + o.Name
	switch o.Verb {
	case Rename, Link:
		text += " → " + o.To
	case Exchange:
		text += " ⇄ " + o.To
	case Read, Write:
		text += fmt.Sprintf(", %d bytes at %d", o.Size, o.Offset)
	case Truncate:
		text += fmt.Sprintf(" to %d bytes", o.Size)
	}
	return text
}

// String is number and label.
func (o Op) String() string { return fmt.Sprint(o.Number, " ", o.Label()) }

// Changes reports whether the operation changes something, or makes a change durable.
func (o Op) Changes() bool {
	switch o.Verb {
	case Create, Write, Truncate, Sync, Rename, Link, Exchange, Remove, Chmod, SyncFolder:
		return true
	case Mkdir, Lock, LockShared:
		return o.Made
	default:
		return false
	}
}

// wrap says where an error happened, as os does.
func (o Op) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case o.To != "":
		return &os.LinkError{Op: string(o.Verb), Old: o.Name, New: o.To, Err: err}
	default:
		return &fs.PathError{Op: string(o.Verb), Path: o.Name, Err: err}
	}
}
