// Package update is the Updater: one state machine that brings an install up to what a server offers.
//
//	Idle → Connecting → Judging ─┬→ Listing → Comparing ─┬→ Fetching ⇄ Verifying → Committing → Done
//	                             └→ Done (refused)       └→ Committing (nothing missing)
//	any → Waiting → Connecting (transient fault, attempts left)
//	any → Done(Failed | Cancelled)                                                  Done is final
//
// Step(state, event) → (state, effects) is total and pure. The network is a Source, the disk a Stage, the clock and
// the jitter are fields of Config; nothing here knows Fyne, sockets or files. One Updater serves both kinds of work:
// the verdict of the server chooses Resources or Binaries mode.
//
// In every phase but Idle and Done exactly one effect is under way, and every event that ends it either begins the
// next one or ends the update. A request to cancel waits for the effect under way, so nothing is torn off: whatever is
// on disk afterwards is what a Stage promises to go on from.
//
// A transient fault leads back to Connecting after a growing, jittered pause (RetryRules). The new attempt lists and
// compares again, and so asks only for what is still missing. Attempts are counted from the last one that brought a
// byte to stay: a bad line that moves on slowly is not given up, one that moves nothing is.
//
// Run's loop goroutine is the only writer of State; one worker goroutine performs the effects. Watchers learn that
// something changed and read a Status, which is a value: progress is a level, not a queue, so a slow screen loses
// frames and never stalls a download.
//
// A verdict may hold a surprise (compat reference, sections 3.5 and 3.8): a redirect ends in Redirected, once, and the host goes
// there; what the account's last version calls for ends in PlayerPinned where somebody is to be asked; during a maintenance
// files may be fetched ahead into their parts, which ends in Maintenance all the same; and a module that is asked for again
// although it was installed ends in UpdateLoop.
//
// How an update ended is an Outcome, with a Cause where it failed. Ends is the one table from there to the exit code,
// the text and the next steps, for the window, the headless mode and QA alike (design 2, section 3.3).
package update
