package diskfault_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"collet/app/diskfault"
	"collet/app/update"
	"collet/platform"
	"collet/platform/faultfs"
)

func TestErrorTexts(t *testing.T) {
	cause := errors.New("cause")
	holders := []platform.Holder{{PID: 7, Name: "scand"}, {PID: 12, Name: "Lathe"}}
	for want, err := range map[string]error{
		`need 30 bytes on "V", 10 are free: free 20`: &diskfault.SpaceError{Volume: "V", Need: 30, Free: 10, Err: cause},
		`need 30 bytes on "V": cause`:                &diskfault.SpaceError{Volume: "V", Need: 30, Free: -1, Err: cause},
		`no room on "V", 10 bytes are free: cause`:   &diskfault.SpaceError{Volume: "V", Need: -1, Free: 10, Err: cause},
		`no room on "V": cause`:                      &diskfault.SpaceError{Volume: "V", Need: -1, Free: -1, Err: cause},
		`no room for another file on "V", although 20000000 bytes are free: no inodes are left, or a quota is used up: cause`: &diskfault.SpaceError{
			Volume: "V", Need: -1, Free: 20_000_000, Err: cause},
		`cause`: &diskfault.InUseError{Path: "x", Err: cause},
		`cause; it is used by scand (process 7), Lathe (process 12)`:              &diskfault.InUseError{Path: "x", Holders: holders, Err: cause},
		`file "x" vanished after it was written, perhaps a virus scanner took it`: &diskfault.VanishedError{Path: "x", Err: cause},
	} {
		if err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestOf gives each error its cause, the file and a type that explains it.
func TestOf(t *testing.T) {
	fsys := faultfs.New(faultfs.Config{}).Open(faultfs.Options{})
	if err := errors.Join(fsys.MkdirAll("dir", 0o755), platform.WriteFile(fsys, "dir/file", nil), platform.WriteFile(fsys, "file", nil)); err != nil {
		t.Fatal(err)
	}
	var space *diskfault.SpaceError
	var inUse *diskfault.InUseError
	var vanished *diskfault.VanishedError
	var way *platform.ObstacleError
	var path *fs.PathError
	elsewhere := filepath.Join(fsys.Path(".")+"-elsewhere", "file")
	for _, test := range []struct {
		err     error
		cause   update.Cause
		subject string
		as      any
	}{
		{&fs.PathError{Op: "write", Path: "dir/file", Err: faultfs.ENOSPC}, update.DiskFull, fsys.Path("."), &space},
		{&fs.PathError{Op: "open", Path: fsys.Path("dir/file"), Err: faultfs.EBUSY}, update.LockedFile, fsys.Path("dir/file"), &inUse},
		{&os.LinkError{Op: "rename", Old: "a", New: "file", Err: faultfs.EBUSY}, update.LockedFile, fsys.Path("file"), &inUse},
		{&fs.PathError{Op: "open", Path: "file", Err: faultfs.EACCES}, update.NoPermission, fsys.Path("file"), &path},
		{&fs.PathError{Op: "open", Path: elsewhere, Err: faultfs.EROFS}, update.NoPermission, elsewhere, &path},
		{&fs.PathError{Op: "mkdir", Path: "file/below", Err: fs.ErrNotExist}, update.DiskFault, fsys.Path("file"), &way},
		{&fs.PathError{Op: "open", Path: "none", Err: fs.ErrNotExist}, update.DiskFault, fsys.Path("none"), &vanished},
		{&fs.PathError{Op: "read", Path: "file", Err: faultfs.EIO}, update.DiskFault, fsys.Path("file"), &path},
		{faultfs.EIO, update.DiskFault, fsys.Path("."), nil},
	} {
		name, _ := diskfault.NameOf(fsys, test.err)
		var fault *update.Fault
		err := diskfault.Of(fsys, name, 1, fmt.Errorf("job: %w", test.err))
		if !errors.As(err, &fault) || fault.Cause != test.cause || fault.Subject != test.subject || !errors.Is(err, test.err) ||
			fault.Transient != (test.cause == update.LockedFile) || test.as != nil && !errors.As(err, test.as) {
			t.Errorf("%v: %+v", test.err, fault)
		}
		if again := diskfault.Of(fsys, "other", 1, err); again != err {
			t.Errorf("a fault became %v", again)
		}
	}
	for _, err := range []error{nil, context.Canceled} {
		if got := diskfault.Of(fsys, "file", 1, err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
