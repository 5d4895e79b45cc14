// Package splash is the client's window: one borderless splash screen. It shows the progress of an update, asks the player
// what to do after a failure, and displays the log and the report.
//
//	Compose(status, now, texts)    → Scene     texts and bars during an update               pure
//	ComposeEnd(end, info, texts)   → Dialog    texts and buttons after an end                pure
//	Run(options, work)                         the window itself; work drives it through a View
//
// The two pure functions contain all wording and rounding, so that the window, the headless mode and the tests show the
// same texts. The window only paints.
//
// # One loop
//
// Fyne's event loop can run only once in a process and belongs to the main goroutine. Run owns it: it shows the window,
// starts work in a goroutine of its own at the same time, and returns when work has returned and the window is closed.
// There is only this one window. Dialogs and the log replace its content; a second window could open behind it.
//
//	question ⇄ progress ⇄ dialog ⇄ reading (log or report)      Escape: resume · ask · last button · back
//
// # Threads
//
// Widgets belong to the main goroutine. View's methods may be called from any goroutine and pass whole frames to the loop.
// A new frame replaces an unpainted one. Progress is a level, not a queue: a slow screen skips frames and never blocks an
// update. At most 30 frames a second are made.
//
// # The first frame
//
// The first frame must appear fast. Until then only the picture, one language and two fonts are loaded, the picture in
// parallel with opening the window. Dialogs, log view and icon are made on demand. Texts name their font, because Fyne
// otherwise searches all fonts of the system before it draws the first letter.
//
// # Untrusted text
//
// File names, host names and all other texts from a server are cleaned before they are shown: no control characters, no
// characters that change the writing direction, and a limited length. The addresses of buttons that open a page come from
// the caller, which must not take them from a server.
package splash
