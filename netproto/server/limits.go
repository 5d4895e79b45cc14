package server

import "time"

const (
	// lingerTimeout is how long the server waits, after its last message, for the client to close.
	lingerTimeout = 5 * time.Second
	// maxLinger is how many bytes of a client are discarded during that time.
	maxLinger = 1 << 20
	// acceptPause is the first pause after a failed accept (out of file descriptors); it doubles up to maxAcceptPause.
	acceptPause    = 5 * time.Millisecond
	maxAcceptPause = time.Second
)
