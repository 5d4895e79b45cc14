package server

import "time"

const (
	// maxConnections is how many clients are served at once. A connection from disk costs at most a portion and a few
	// buffers, so 1024 of them stay within 2 GB at the default portion; more clients are turned away, not queued, so that
	// they may try another server.
	maxConnections = 1024
	// helloTimeout is how long a connection may stay without a complete handshake. The client speaks first and needs one
	// packet; 10 s is patient with a lost one and short for port scanners.
	helloTimeout = 10 * time.Second
	// pingPeriod is the source's ServerNetwork.ClientPingTime: a question at once after the handshake, then each period;
	// the previous one unanswered when the next is due ends the connection.
	pingPeriod = 10 * time.Second
	// activityTimeout is how long a greeted client may ask for nothing. Pings don't count: an updater that compares is
	// silent while it hashes, and hashing 100 GB from a slow disk takes half an hour.
	activityTimeout = 30 * time.Minute
	// writeTimeout is how long the peer may take to accept writeStep bytes.
	writeTimeout = 30 * time.Second
	// writeStep is how many bytes are handed to the network under one write timeout: with writeTimeout it makes 2 KB/s
	// the slowest client that is served.
	writeStep = 64 << 10
	// maxInbound is the largest frame accepted from a client, in bytes: the newer source's limit for the same direction.
	// The largest real one is a handshake of a few hundred bytes.
	maxInbound = 1 << 20
	// maxInFlight is how many range requests a C1 client may have unanswered. At 100 ms round-trip and the default
	// portion, 16 keep 1 Gbit/s busy.
	maxInFlight = 16
	// lingerTimeout is how long a connection that has been told its end waits for the client to close.
	lingerTimeout = 5 * time.Second
	// maxLinger is how many bytes of a client are thrown away while waiting for it to close.
	maxLinger = 1 << 20
	// DrainTimeout is how long Serve lets answers that were under way finish once its context has ended.
	DrainTimeout = 10 * time.Second
	// hashBuffer is how many bytes of a file are hashed at a time, in each worker.
	hashBuffer = 256 << 10
	// maxHashers is how many files are hashed at once at most; a disk gains nothing from more.
	maxHashers = 4
	// maxTargets is how many target folders are accepted. The source knows eighteen names; the cap stops a wrong path.
	maxTargets = 256
	// acceptPause is the first pause after a failed accept (out of file descriptors); it doubles up to maxAcceptPause.
	acceptPause    = 5 * time.Millisecond
	maxAcceptPause = time.Second
)
