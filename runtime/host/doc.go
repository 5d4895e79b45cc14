// Package host loads a native runtime module into this process, checks it, and runs it. It needs no cgo.
//
// Load has these stages, and its error names the failed one:
//
//	open        the system's loader opens the file and runs its constructors
//	symbol      FO_QueryClientRuntimeExports is looked up
//	query       it is called with the newest ABI version, and if it refuses that, with the oldest
//	ABI         the filled table is checked: sizes, version, main function
//	metadata    the strings are copied
//	components  the table of components, if the module exports one, is copied and checked
//
// A process can't replace a module. Closing it does not guarantee that its code is unloaded: a module may refuse that, and then the same
// path yields the old code again, whatever is on disk. So a path or file that this process has loaded once is rejected from then on
// (ErrResident); a new module needs a new process.
//
// All calls are made on one thread: the caller locks the main goroutine to the main thread and calls from it. Only the callbacks may be
// called from a module's threads. A crash, a hang or a call of exit in the module's code affects this process and can't be caught, so
// this process should do nothing else.
//
// Three things are kept for the rest of the process: the list of loaded files, as in the system's loader; one set of callbacks, because
// purego never frees one; and the structs that were passed to modules.
package host
