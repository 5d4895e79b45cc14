// Package session is the client's session with an update server: dial, hello, verdict, list, files.
//
// A Client is one session on one connection. Dial makes it, in a given generation or by detection (Options.Auto), and
// returns when the server has given its verdict. After that, List names the offered files, Fetch fetches ranges of them,
// and Object fetches files of the server's release folder by their names. Package netproto has the messages.
//
// # Structure
//
//	Client                handshake, verdict, exchange of components, list
//	 ├─ requests          C1: what Fetch and Object have requested; window: how much, and in which pieces
//	 └─ link              the connection with its two goroutines
//	     ├─ outbox        what the writer sends
//	     └─ ledger        what the server owes; a reply that was not requested ends the session
//
// In C1 all calls share one window of outstanding requests, on one connection. The server's congestion control is
// responsible for links that lose packets. In an engine generation one portion is requested at a time.
//
// # Promises
//
// Nothing is authenticated: names are untrusted until release.CheckPath passed them, contents until their digest was
// verified. Received and undelivered data is bounded by Options.Buffer, and unsolicited data by a rate. A silent server
// ends the session after Options.IdleTimeout, one that answers only pings after Options.AnswerTimeout.
//
// Errors of a session are *UnreachableError, *ClosedError, *RefusedError and *netproto.FormatError. They end it. An error
// of a caller's mistake, a *MissingObjectError and an *ObjectEndError do not.
package session
