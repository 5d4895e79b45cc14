package device

import "time"

const (
	// holdHashes is the pause after the last hash request before hash answers are sent to a desk of protocol 0: it drops
	// answers that arrive while it still sends requests (docs/PROTOCOL.md, "What a device of ours does").
	holdHashes = 100 * time.Millisecond
	// aliveAfter is the time without a message from the desk after which a keep-alive is sent, as with released programs.
	aliveAfter = 10 * time.Second
	// greetingTime is how long a desk may take to accept this device. The desk may ask its user, who gets two minutes.
	greetingTime = 3 * time.Minute
	// firstPause and longestPause bound the pause between two connection attempts: it starts at the first and doubles with each failure.
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	// stopGrace is how long an application may take to close before it is killed.
	stopGrace = 5 * time.Second
	// maxQueued is how many bytes of requests may wait for the disk. A released desk has two blocks in flight, 2 MB;
	// ours has 32 MiB. While the queue is full, nothing more is received.
	maxQueued = 64 << 20
	// maxControls is how many requests about the application and about properties may wait.
	maxControls = 256
	// maxHeld is how many bytes of hash answers are held back: 64 MiB are the hashes of 1 TB in blocks of released desks.
	maxHeld = 64 << 20
	// maxWrites is how many files a desk of protocol 0 may write at once: each needs an open file, of which a process
	// has at least a thousand.
	maxWrites = 512
	// maxSpans is how many separate written ranges a file may have: the blocks of 1 TB.
	maxSpans = 1 << 20
	// maxKeptParts is how many interrupted files are kept for the next push.
	maxKeptParts = 16
	// leastKeptPart is the size in bytes from which an interrupted file is worth keeping.
	leastKeptPart = 1 << 20
	// creditBlocks and creditBytes are after how much BlocksWritten is sent, whichever is reached first.
	creditBlocks = 8
	creditBytes  = 1 << 20
	// maxLogLine is the size in bytes of the longest line that is sent; longer ones are split. That is three datagrams
	// of 1357 bytes, the largest that arrives unfragmented everywhere; longer lines are unreadable anyway.
	maxLogLine = 4000
	// maxLogWaiting is how many lines wait for a disconnected or slow desk. The oldest are dropped.
	maxLogWaiting = 2000
	// maxLogShown is how many lines a Status has.
	maxLogShown = 200
	// logRate and logBurst are how many lines are sent a second, and at once. A game that logs in each frame, sixty
	// times a second, stays below. A released desk prints every line into its window.
	logRate  = 1000
	logBurst = 2000
	// maxLogBatch is how many lines one message carries in our own mode.
	maxLogBatch = 256
	// quietBeforeSave is how long nothing must have been written before the cache is saved.
	quietBeforeSave = time.Second
)

// announceAfter lists the delays after a change at which the run state is sent again: updates and linkUp are not
// acknowledged (docs/PROTOCOL.md, "Two dialects").
func announceAfter() []time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
}
