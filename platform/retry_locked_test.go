package platform_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"collet/platform"
	"collet/platform/faultfs"
)

// attempts fails the first few calls.
type attempts struct {
	fails int // negative: all
	err   error
	times []time.Time
}

func (a *attempts) try() error {
	a.times = append(a.times, time.Now())
	if a.fails < 0 || len(a.times) <= a.fails {
		return &fs.PathError{Op: "rename", Path: "Lathe.so", Err: a.err}
	}
	return nil
}

func TestRetryWhileLockedTriesAgain(t *testing.T) {
	for name, err := range map[string]error{
		"busy": faultfs.EBUSY, "running": faultfs.ETXTBSY, "shared": faultfs.ErrorSharingViolation,
		"region": faultfs.ErrorLockViolation, "mapped": faultfs.ErrorUserMappedFile, "denied": faultfs.ErrorAccessDenied,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &attempts{fails: 4, err: err}
				if err := platform.RetryWhileLocked(t.Context(), a.try); err != nil || len(a.times) != 5 {
					t.Errorf("%v after %d calls", err, len(a.times))
				}
				for i := 1; i < len(a.times); i++ {
					pause, usual := a.times[i].Sub(a.times[i-1]), 10*time.Millisecond<<(i-1)
					if pause < usual/2 || pause > usual*3/2 {
						t.Errorf("pause %d was %v, usual are %v", i, pause, usual)
					}
				}
			})
		})
	}
}

// TestRetryWhileLockedEndsInTime lets a file be held for good.
func TestRetryWhileLockedEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, start := &attempts{fails: -1, err: faultfs.EBUSY}, time.Now()
		err := platform.RetryWhileLocked(t.Context(), a.try)
		if !errors.Is(err, faultfs.EBUSY) || !platform.IsLocked(err) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
		for i := 1; i < len(a.times); i++ {
			if pause := a.times[i].Sub(a.times[i-1]); pause > 375*time.Millisecond { // the longest, and half of it
				t.Errorf("pause %d was %v", i, pause)
			}
		}
	})
}

// TestRetryWhileLockedGivesUpWhatTimeDoesNotCure makes one call for other errors, and for none.
func TestRetryWhileLockedGivesUpWhatTimeDoesNotCure(t *testing.T) {
	for _, err := range []error{nil, faultfs.EIO, faultfs.ENOSPC, faultfs.EACCES, faultfs.EXDEV, faultfs.EROFS, fs.ErrNotExist, platform.ErrLocked} {
		if samePlatform(err) {
			continue
		}
		calls := 0
		got := platform.RetryWhileLocked(t.Context(), func() error { calls++; return err })
		if got != err || calls != 1 {
			t.Errorf("%v: got %v after %d calls", err, got, calls)
		}
	}
}

// TestRetryWhileLockedStopsWithItsContext is told to stop before and while it waits.
func TestRetryWhileLockedStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := fmt.Errorf("the window was closed")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { stop(cause) })
		start := time.Now()
		a := &attempts{fails: -1, err: faultfs.EBUSY}
		err := platform.RetryWhileLocked(ctx, a.try)
		if !errors.Is(err, cause) || !errors.Is(err, faultfs.EBUSY) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != 300*time.Millisecond {
			t.Errorf("took %v", took)
		}
		once := &attempts{fails: 1, err: faultfs.EBUSY}
		if err := platform.RetryWhileLocked(ctx, once.try); !errors.Is(err, cause) || len(once.times) != 1 {
			t.Errorf("ended already: %v after %d calls", err, len(once.times))
		}
		if err := platform.RetryWhileLocked(ctx, (&attempts{}).try); err != nil {
			t.Errorf("what succeeds at once needs no time: %v", err)
		}
	})
}

// TestErrorsAreSorted asks every question about every fault.
func TestErrorsAreSorted(t *testing.T) {
	questions := []struct {
		name string
		ask  func(error) bool
		yes  []error
	}{
		{"disk full", platform.IsDiskFull, []error{faultfs.ENOSPC, faultfs.EDQUOT, faultfs.ErrorDiskFull}},
		{"locked", platform.IsLocked, []error{faultfs.EBUSY, faultfs.ETXTBSY, faultfs.ErrorSharingViolation, faultfs.ErrorLockViolation,
			faultfs.ErrorUserMappedFile}},
		{"may be locked", platform.MayBeLocked, []error{faultfs.EBUSY, faultfs.ETXTBSY, faultfs.ErrorSharingViolation,
			faultfs.ErrorLockViolation, faultfs.ErrorUserMappedFile, faultfs.ErrorAccessDenied}},
		{"read-only", platform.IsReadOnly, []error{faultfs.EROFS, faultfs.ErrorWriteProtect}},
		{"cross device", platform.IsCrossDevice, []error{faultfs.EXDEV}},
		{"unreadable", platform.IsUnreadable, []error{faultfs.EIO}},
		{"permission", func(err error) bool { return errors.Is(err, fs.ErrPermission) }, []error{faultfs.EACCES, faultfs.ErrorAccessDenied}},
	}
	all := []error{faultfs.ENOSPC, faultfs.EDQUOT, faultfs.EIO, faultfs.EACCES, faultfs.EBUSY, faultfs.ETXTBSY, faultfs.EXDEV, faultfs.EROFS,
		faultfs.ErrorAccessDenied, faultfs.ErrorWriteProtect, faultfs.ErrorSharingViolation, faultfs.ErrorLockViolation,
		faultfs.ErrorDiskFull, faultfs.ErrorUserMappedFile, platform.ErrLocked, fs.ErrNotExist}
	for _, q := range questions {
		for _, err := range all {
			want := false
			for _, yes := range q.yes {
				want = want || yes == err
			}
			if got := q.ask(&fs.PathError{Op: "x", Path: "y", Err: err}); got != want && !(samePlatform(err) && q.name != "permission") {
				t.Errorf("is %v a case of %s? got %v", err, q.name, got)
			}
		}
		if q.ask(nil) {
			t.Errorf("nothing is %s", q.name)
		}
	}
}

// samePlatform tells the one fault that Windows gives two meanings: there EACCES is 5 as well.
func samePlatform(err error) bool {
	return errors.Is(err, faultfs.EACCES) && platform.MayBeLocked(errors.Unwrap(faultfs.EACCES))
}
