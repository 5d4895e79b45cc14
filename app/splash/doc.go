// Package splash is the window of the client: one borderless splash that shows how an update goes, asks the player what
// to do when it did not go well, and lets them read and copy what happened.
//
//	Compose(status, now, texts)    → Scene     what the window says while an update runs     pure
//	ComposeEnd(end, info, texts)   → Dialog    what it asks when something ended             pure
//	Run(options, work)                         the window itself; work drives it through a View
//
// All wording and rounding happens in the two pure functions, so that the window, the headless mode and the tests agree
// on every word. The window only paints.
//
// # One loop
//
// Fyne's event loop can run once in the life of a process and belongs to the main goroutine (platform reference,
// section 0). Run owns it: it shows the window, starts work in a goroutine of its own at the same time, and returns when
// work has returned and the window is gone. Everything that the player sees happens in this one window; a dialog and the
// log are other contents of it, never a second window that could open behind it.
//
//	question ⇄ progress ⇄ dialog ⇄ reading (log or report)      Escape: go on · ask · last button · back
//
// # Threads
//
// Widgets live on the main goroutine. View's methods may be called from any goroutine and hand whole frames over. A
// frame that has not been painted when the next one is ready is replaced by it: progress is a level, not a queue, so a
// slow screen loses frames and never stalls an update. At most 30 frames a second are made.
//
// # The first frame
//
// What a player waits for first is a window. Before it is on the screen only the picture, one language and two fonts
// are touched, the picture in parallel with opening the window; dialogs, log view and icon are made when they are
// needed. Texts name their font, because Fyne otherwise looks through all fonts of the system before it draws the first
// letter.
//
// # What peers can do to the screen
//
// File names, host names and everything else that a server said is cleaned before it is shown: no control characters,
// no characters that turn the direction of writing, and a cap on the length. The addresses behind the buttons that open
// a page come from the caller, who must not take them from a server.
package splash
