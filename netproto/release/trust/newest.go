package trust

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// A timestamp states the version of the newest root in the field x-root. So a client that has this root need not ask whether there is a
// newer one, which most starts of a game would do in vain. The statement is signed with an online key, and a new root is the remedy
// for the theft of that key. So a client believes it only if all of this is true, and otherwise asks for the next root as TUF says:
//
//   - The keys of the trusted root signed the timestamp, and it has not expired.
//   - It states exactly the version of the trusted root.
//   - Nothing that the timestamp leads to is rejected.
//   - The client asked within RootInterval, and was told that there is no newer root.
//
// An overdue question without an answer (no connection, or an error of a server) does not matter either if the rest is true: who could
// withhold the answer could also say that there is none.
const (
	newestRootField = "x-root"
	// AskedFile is the name in the Store of the time of the last answer, in RFC 3339. It is not signed.
	AskedFile = "root.asked"
	// MaxAsked is the size of the largest AskedFile in bytes.
	MaxAsked = 64
	// RootInterval is the longest time between two questions for the next root: for so long a stolen timestamp key can hide a new root
	// from a client beyond the time in which the thief controls what that client gets as timestamp.json.
	RootInterval = 24 * time.Hour
)

// RootOverdue reports whether a client with this AskedFile, nil for none, asks for the next root together with the timestamp.
func RootOverdue(asked []byte, now time.Time) bool { return rootOverdue(parseAsked(asked), now) }

// rootOverdue is true for the zero time, and for a time in the future, because then a clock was wrong.
func rootOverdue(asked, now time.Time) bool {
	return now.Sub(asked) >= RootInterval || now.Before(asked)
}

// parseAsked returns the zero time for anything but a time.
func parseAsked(data []byte) time.Time {
	asked, err := time.Parse(time.RFC3339, string(data))
	if err != nil {
		return time.Time{}
	}
	return asked
}

// statesNewest reports whether a timestamp is one that the trusted root's keys signed, that has not expired, and that states that this root
// is the newest.
func (c *Client) statesNewest(u Unverified) bool {
	k := c.current()
	meta, err := verified(k.root, RoleTimestamp, timestampFile, u.data, checkTimestamp)
	if err != nil {
		return false
	}
	why, _ := staleness(c.now(), meta.Signed.Expires)
	newest, is := meta.Signed.UnrecognizedFields[newestRootField].(float64)
	return is && why == NotStale && newest == float64(k.root.Signed.Version)
}

// unanswered reports whether the question for a root failed without an answer to it.
func unanswered(ctx context.Context, err error) bool {
	var rejected *Error
	return err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &rejected)
}

// saveAsked stores the time at which there was no newer root. Without a statement in the timestamp every start asks, and nothing is stored.
func (c *Client) saveAsked(timestamp Unverified) error {
	k := c.current()
	if !rootOverdue(k.asked, c.now()) || !c.statesNewest(timestamp) {
		return nil
	}
	k.asked = c.now().UTC().Truncate(time.Second)
	return c.saveState(k, AskedFile, []byte(k.asked.Format(time.RFC3339)))
}
