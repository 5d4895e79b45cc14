package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"collet/netproto"
)

var (
	errUnlisted  = errors.New("this session was opened without a list")
	errNoObjects = errors.New("this server hands out no release folder")
)

// Objects reports whether the server serves a release folder, so that Object may be called. It is false unless the options enable it.
func (c *Client) Objects() bool {
	return !c.Generation().Engine() && c.Transfers() &&
		c.answer.Capabilities&c.opt.capabilities()&netproto.CapObjects != 0
}

// Object fetches length bytes from offset of a file of the server's release folder, and delivers them in order; a length
// below 0 means the rest of the file. deliver runs on the caller's goroutine and must not keep data. The data is not
// verified. name must pass netproto.IsObjectName.
//
// The timestamp, and the absence of a next root, are known from the server's answer and need no request.
//
// Several calls may run concurrently, also with List and Fetch; they share the window of the connection. A call
// that ends early, by ctx or an error of deliver, does not end the session: its outstanding responses are dropped. A missing
// file is a *MissingObjectError, and one that ends early an *ObjectEndError; an error of the session ends all calls.
func (c *Client) Object(ctx context.Context, name string, offset, length int64, deliver func(data []byte) error) error {
	switch {
	case !c.Objects():
		return errNoObjects
	case !netproto.IsObjectName(name):
		return fmt.Errorf("%q is no name of a file in a release folder", name)
	case offset < 0 || length > math.MaxInt64-offset:
		return fmt.Errorf("%q: %d bytes from %d are no range", name, length, offset)
	}
	if known, err := c.serveFromAnswer(name, offset, length, deliver); known {
		return err
	}
	want := int64(math.MaxInt64)
	if length >= 0 {
		want = offset + length
	}
	at := offset
	err := c.link.requests.run(ctx, &call{spans: []span{{name: name, next: offset, end: want, open: length < 0}}}, func(_ int, data []byte) error {
		if len(data) == 0 {
			return nil
		}
		at += int64(len(data))
		return deliver(data)
	})
	switch {
	case errors.Is(err, errAbsent):
		return &MissingObjectError{Name: name}
	case err == nil && at < want && length >= 0:
		return &ObjectEndError{Name: name, At: at, Want: want}
	default:
		return err
	}
}

const (
	timestampName = "metadata/timestamp.json"
	rootSuffix    = ".root.json"
	// maxTimestamp is the size of the largest accepted timestamp in an answer, in bytes; a release folder's has less than 4 KiB.
	maxTimestamp = 16 << 10
)

// serveFromAnswer serves a request from the server's answer: the timestamp, and the absence of a root. Both belong to the catalogue
// at the time of the handshake, and stay the same for the session.
func (c *Client) serveFromAnswer(name string, offset, length int64, deliver func(data []byte) error) (known bool, err error) {
	if number, isRoot := strings.CutSuffix(strings.TrimPrefix(name, "metadata/"), rootSuffix); isRoot {
		newest, known := c.answer.Tags.Get(netproto.TagRoot)
		version, err := strconv.ParseUint(number, 10, 64)
		if known && len(newest) == 8 && err == nil && version > binary.LittleEndian.Uint64(newest) {
			return true, &MissingObjectError{Name: name}
		}
		return false, nil
	}
	data, known := c.answer.Tags.Get(netproto.TagTimestamp)
	if name != timestampName || !known || len(data) > maxTimestamp {
		return false, nil
	}
	size := int64(len(data))
	from, to := min(offset, size), size
	if length >= 0 {
		to = min(offset+length, size)
	}
	if from < to {
		if err := deliver(bytes.Clone(data[from:to])); err != nil {
			return true, err
		}
	}
	if length > 0 && offset+length > size {
		return true, &ObjectEndError{Name: name, At: max(offset, size), Want: offset + length}
	}
	return true, nil
}
