// Package qa tries real clients: it runs a client's program on copies of an install, disturbs it, and judges the install.
//
// A Lab copies the install, adds files of a player, and plays one undisturbed update, which defines the new set. Real kills the client at
// random moments and at every operation. Net breaks its connections as scenario files say. Disk runs it on small, read-only, failing and
// power-cut file systems (Linux, root).
//
// Each case has the same judgement. The next start finds exactly the old or the new set, the player's files are unchanged, and as many
// undisturbed runs as an update takes lead to the new set. A case that could not be tried to its end is a violation, unless the machine
// lacks rights or programs for it; then it is skipped with a reason.
//
// The client's own install and its server stay untouched. All copies, processes and mounts have ended when Close, Real, Net.Play and Disk
// return. Proxies, processes, reports and comparisons have packages of their own below this one, and so have the tests without a real
// client: crash and scenario.
package qa
