package compat

import "time"

// Build is how one end of a connection was made. Everything may be unknown.
type Build struct {
	Logic         int32  // NoLogic is unknown
	Components    uint64 // set hash; 0 is not told
	Time          int64  // seconds since 1970 of the commit, not of the clock that built it; 0 is unknown
	Seq           uint64 // number of commits on Branch; 0 is unknown
	ID            string // at most 64 bytes
	Branch        string // at most 32 bytes
	Compatibility string
}

// Age says how old a client's build is beside the server's. The numbers stand on the wire and never change.
type Age uint8

const (
	AgeUnknown  Age = 0
	ClientOlder Age = 1
	ClientNewer Age = 2
	AgeSame     Age = 3
)

// String is the word of logs and tools.
func (a Age) String() string {
	switch a {
	case ClientOlder:
		return "client_older"
	case ClientNewer:
		return "client_newer"
	case AgeSame:
		return "same"
	default:
		return "unknown"
	}
}

// sameTime is how far two commit times may be apart and still say nothing.
const sameTime = 60 * time.Second

// AgeOf compares a client's build with a server's: by their numbers on one branch where both are known, otherwise by their
// times where they differ by more than a minute.
func AgeOf(client, server Build) Age {
	if client.Branch == server.Branch && client.Seq != 0 && server.Seq != 0 {
		return ageBy(client.Seq < server.Seq, client.Seq > server.Seq, AgeSame)
	}
	if client.Time == 0 || server.Time == 0 {
		return AgeUnknown
	}
	apart := uint64(max(client.Time, server.Time)) - uint64(min(client.Time, server.Time)) // of any two times: one of them is a peer's
	if apart <= uint64(sameTime/time.Second) {
		return AgeUnknown
	}
	return ageBy(client.Time < server.Time, client.Time > server.Time, AgeUnknown)
}

func ageBy(older, newer bool, otherwise Age) Age {
	switch {
	case older:
		return ClientOlder
	case newer:
		return ClientNewer
	default:
		return otherwise
	}
}
