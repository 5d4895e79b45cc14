package device

import "time"

const (
	// holdHashes is how long no further hash request must have come before hash answers are sent to a desk of protocol 0:
	// it drops those that arrive while it still asks (Remote launcher protocol, section 4.2 no. 4).
	holdHashes = 100 * time.Millisecond
	// aliveAfter is the time without a message of the desk after which a keep-alive is sent (section 3.8).
	aliveAfter = 10 * time.Second
	// greetingTime is how long a desk may take to accept us. A person may have to say yes there, which gets two minutes.
	greetingTime = 3 * time.Minute
	// firstPause and longestPause are how long we wait between two attempts to reach the desk: the first, and after each
	// failure twice as long, up to the longest.
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	// stopGrace is how long an application that was asked to close by hand gets before it is killed.
	stopGrace = 5 * time.Second
	// maxQueued is how many bytes of requests may wait for the disk. A released desk has two blocks under way, 2 MB; ours
	// 32 MiB. When it is full nothing more is received.
	maxQueued = 64 << 20
	// maxControls is how many requests about the application and about properties may wait.
	maxControls = 256
	// maxHeld is how many bytes of hash answers are held back: 64 MiB stand for 1 TB in the blocks of released desks.
	maxHeld = 64 << 20
	// maxWrites is how many files a desk of protocol 0 may write at once: each takes an open file, of which a process has
	// at least a thousand.
	maxWrites = 512
	// maxSpans is how many ranges of a file may have been written apart from each other: the blocks of 1 TB.
	maxSpans = 1 << 20
	// maxKeptParts is how many interrupted files are kept for the next push.
	maxKeptParts = 16
	// leastKeptPart is the size in bytes from which an interrupted file is worth keeping.
	leastKeptPart = 1 << 20
	// creditBlocks and creditBytes are after how much, whichever is first, BlocksWritten is sent.
	creditBlocks = 8
	creditBytes  = 1 << 20
	// maxLogLine is the longest line in bytes that is sent; longer ones are cut into several. A datagram of 1357 bytes is
	// the most that arrives in one piece everywhere; lines of three of them are read by nobody.
	maxLogLine = 4000
	// maxLogWaiting is how many lines wait for a desk that is away or slow. The oldest are dropped.
	maxLogWaiting = 2000
	// maxLogShown is how many lines a DeviceStatus has.
	maxLogShown = 200
	// logRate and logBurst are how many lines a second, and at once, are sent. What a game says each frame sixty times a
	// second stays below; a released desk prints every line into its window.
	logRate  = 1000
	logBurst = 2000
	// maxLogBatch is how many lines are sent together in our own mode.
	maxLogBatch = 256
	// quietBeforeSave is how long nothing must have been written before the cache is saved.
	quietBeforeSave = time.Second
)

// announceAfter are the moments after a change at which the run state is sent (again): updates and linkUp are not
// acknowledged (Remote launcher protocol, sections 2.7 and 4.2 no. 6).
func announceAfter() []time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
}
