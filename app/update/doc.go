// Package update is the Updater: one state machine that brings an install up to the release that a server offers.
//
//	Idle → Connecting → Judging ─┬→ Listing → Comparing ─┬→ Fetching ⇄ Verifying → Committing → Done
//	                             └→ Done (refused)       └→ Committing (nothing missing)
//	any → Waiting → Connecting (transient fault, attempts left)
//	any → Done(Failed | Cancelled)                                                  Done is final
//
// Step(state, event) → (state, effects) is total and pure. The network is a Source and the disk is a Destination. The clock and
// the jitter are fields of Config. The package does not depend on Fyne, sockets or files. One Updater serves both modes:
// the server's verdict selects Resources or Binaries.
//
// In every phase but Idle and Done exactly one effect is in progress. Every event that ends it starts the next effect or
// ends the update. A cancel request waits for the effect in progress, so effects are never interrupted halfway. A later
// update can always continue from what the Destination leaves on disk.
//
// A transient fault leads back to Connecting after a growing, jittered pause (RetryRules). The new attempt lists and
// compares again, so it requests only what is still missing. Attempts are counted from the last one that added bytes to a
// part that stays on disk. A slow connection that makes progress is therefore retried without limit; one without progress
// is not.
//
// Run's loop goroutine is the only writer of State. One worker goroutine performs the effects. Watchers receive a
// notification of a change and then read a Status, which is a value. Progress is a level, not a queue: a slow reader skips
// intermediate values and never blocks a download.
//
// Some verdicts have their own outcome. A redirect ends in Redirected, at most once, and the host connects to the other
// server. An update required by the account's floor ends in PlayerPinned if Config.AskPinned is set or the host can't
// replace its module. During a maintenance, files may be prefetched into their parts; the outcome is Maintenance all the
// same. A request for a module that is already installed ends in UpdateLoop.
//
// The result of an update is an Outcome; Failed also has a Cause. Ends is the one table from there to the exit code, the
// text and the next steps. The window, the headless mode and QA all use it.
package update
