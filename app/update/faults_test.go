package update_test

import (
	"context"
	"errors"
	"testing"

	"collet/app/update"
	"collet/netproto/release"
)

func TestPortsThatFailForGood(t *testing.T) {
	final := []struct {
		method string
		fault  *update.Fault
	}{
		{"Connect", &update.Fault{Cause: update.Untrusted, Transient: true}},
		{"List", &update.Fault{Cause: update.ServerFault}},
		{"Plan", &update.Fault{Cause: update.DiskFull}},
		{"Plan", &update.Fault{Cause: update.Untrusted, Transient: true}},
		{"Fetch", &update.Fault{Cause: update.ServerFault}},
		{"Write", &update.Fault{Cause: update.DiskFull}},
		{"Finish", &update.Fault{Cause: update.NoPermission}},
		{"Commit", &update.Fault{Cause: update.LockedFile}},
	}
	for _, test := range final {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25))
			w.hold = func(_ context.Context, method string) error {
				if method == test.method {
					return test.fault
				}
				return nil
			}
			status := w.run(t.Context())
			if status.Outcome != update.Failed || status.Fault.Cause != test.fault.Cause || len(w.connects) != 1 {
				t.Errorf("%s: %s, %v, %d attempts", test.method, status.Outcome, status.Fault, len(w.connects))
			}
		})
	}
}

// TestPlainErrorsGetACause covers errors that are no *Fault, and a *Fault with an unknown cause.
func TestPlainErrorsGetACause(t *testing.T) {
	plain := errors.New("odd")
	tests := []struct {
		method string
		err    error
		cause  update.Cause
		tries  int
	}{
		{"Connect", plain, update.Unreachable, update.FirstContactAttempts},
		{"List", plain, update.Interrupted, update.TransferAttempts},
		{"Fetch", plain, update.Interrupted, update.TransferAttempts},
		{"Plan", plain, update.DiskFault, 1},
		{"Write", plain, update.DiskFault, 1},
		{"Finish", plain, update.DiskFault, 1},
		{"Commit", plain, update.DiskFault, 1},
		{"Connect", &update.Fault{Err: plain}, update.Unreachable, 1},
		{"List", &update.Fault{Cause: 99, Transient: true, Err: plain}, update.Interrupted, update.TransferAttempts},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25))
			w.hold = func(_ context.Context, method string) error {
				if method == test.method {
					return test.err
				}
				return nil
			}
			status := w.run(t.Context())
			if status.Outcome != update.Failed || status.Fault.Cause != test.cause || !errors.Is(status.Fault, plain) || len(w.connects) != test.tries {
				t.Errorf("%s: %v after %d attempts", test.method, status.Fault, len(w.connects))
			}
		})
	}
}

// TestLockedFileAtCommitIsTriedAgain checks that fetched files are not fetched again.
func TestLockedFileAtCommitIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, pack("A.zip", 25))
		locked := 2
		w.hold = func(_ context.Context, method string) error {
			if method != "Commit" || locked == 0 {
				return nil
			}
			locked--
			return &update.Fault{Cause: update.LockedFile, Transient: true, Subject: "A.zip", Err: errors.New("in use")}
		}
		status := w.run(t.Context())
		w.installed(w.live, release.Resource)
		if status.Outcome != update.ResourcesReady || w.sent != 25 || len(w.connects) != 3 {
			t.Errorf("%s, %d bytes on the wire, %d attempts", status.Outcome, w.sent, len(w.connects))
		}
	})
}

// TestSourceThatBreaksItsPromises checks that unrequested bytes are not written and incomplete files are not committed.
func TestSourceThatBreaksItsPromises(t *testing.T) {
	tests := map[string]struct {
		fetch    func(deliver func(int, []byte) error) error
		attempts int
	}{
		"more than the file": {func(deliver func(int, []byte) error) error { return deliver(0, make([]byte, 26)) }, 1},
		"one file within another": {func(deliver func(int, []byte) error) error {
			_ = deliver(0, nil)
			return deliver(1, make([]byte, 5))
		}, 1},
		"file that is not wanted": {func(deliver func(int, []byte) error) error { return deliver(2, nil) }, 1},
		"negative index":          {func(deliver func(int, []byte) error) error { return deliver(-1, nil) }, 1},
		"error swallowed":         {func(deliver func(int, []byte) error) error { _ = deliver(0, make([]byte, 26)); return nil }, 1},
		"going on after an error": {func(deliver func(int, []byte) error) error {
			_ = deliver(2, nil)
			return deliver(0, make([]byte, 1))
		}, 1},
		"ready without a byte": {func(func(int, []byte) error) error { return nil }, update.TransferAttempts},
		"ready after nothing":  {func(deliver func(int, []byte) error) error { return deliver(0, nil) }, update.TransferAttempts},
	}
	for what, test := range tests {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, pack("A.zip", 25), pack("B.zip", 5))
			w.fetch = test.fetch
			status := w.run(t.Context())
			if status.Outcome != update.Failed || status.Fault.Cause != update.ServerFault || len(w.connects) != test.attempts {
				t.Errorf("%s: %s, %v, %d attempts", what, status.Outcome, status.Fault, len(w.connects))
			}
			if w.commits != 0 || len(w.parts["A.zip"])+len(w.parts["B.zip"]) != 0 {
				t.Errorf("%s: something was written or committed", what)
			}
		})
	}
}
