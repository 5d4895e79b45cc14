// Package host loads a native runtime module into this process, checks it, and runs it.
//
// Load goes through stages and names the one that failed: the file is opened (open), its entry point is looked up
// (symbol), asked with the newest ABI version and then with the oldest (query), its table is checked (ABI), and its
// strings are copied (metadata).
//
// A process can't replace a module. Closing one does not promise that its code is gone: a module may refuse to be
// unloaded, and then the same path gives the old code again, whatever is on disk. So a path, and a file, that this
// process has loaded once is refused ever after (ErrResident); a new module gets a new process.
//
// Everything here is for one thread: the caller locks the main goroutine to the main thread and makes every call from
// it. Only the callbacks that a module is given may be called from its own threads.
package host
