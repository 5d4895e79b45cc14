package places

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// TestAdviceAfterWrites: what helps before the command is repeated.
func TestAdviceAfterWrites(t *testing.T) {
	for want, err := range map[string]error{
		"make room there: ":           &fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC},
		"let this user write there: ": &fs.PathError{Op: "mkdir", Path: "a", Err: fs.ErrPermission},
		"":                            errors.New("the network is away"),
	} {
		if got := afterWrite(err); got != want+again {
			t.Errorf("%v: %q", err, got)
		}
	}
}
