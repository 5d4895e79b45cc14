package server

import "time"

const (
	// lingerTimeout is how long a connection that has been told its end waits for the client to close.
	lingerTimeout = 5 * time.Second
	// maxLinger is how many bytes of a client are thrown away while waiting for it to close.
	maxLinger = 1 << 20
	// acceptPause is the first pause after a failed accept (out of file descriptors); it doubles up to maxAcceptPause.
	acceptPause    = 5 * time.Millisecond
	maxAcceptPause = time.Second
)
