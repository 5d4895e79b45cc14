// Package host loads a native runtime module into this process, checks it, and runs it. It needs no cgo.
//
// Load goes through stages and names the one that failed:
//
//	open      the file is opened by the system's loader, which runs its constructors
//	symbol    FO_QueryClientRuntimeExports is looked up
//	query     it is asked with the newest ABI version, and if it refuses that, with the oldest
//	ABI       the table that it filled is checked: sizes, version, main function
//	metadata  the strings are copied
//
// A process can't replace a module. Closing one does not promise that its code is gone: a module may refuse to be
// unloaded, and then the same path gives the old code again, whatever is on disk. So a path, and a file, that this
// process has loaded once is refused ever after (ErrResident); a new module gets a new process.
//
// Everything here is for one thread: the caller locks the main goroutine to the main thread and makes every call from
// it. Only the callbacks that a module is given may be called from its own threads. What a module does wrong while its
// code runs (a crash, a hang, a call of exit) happens to this process, and nothing here can catch it; that is why this
// process should hold nothing else.
//
// Three things are kept for the whole process, because they belong to it: what was loaded, as the system's loader keeps
// it, too; one pair of callbacks, because purego never frees one; and what modules were given to look at.
package host
