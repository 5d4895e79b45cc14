package acquire

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"collet/app/diskfault"
	"collet/app/download"
	"collet/app/update"
	"collet/netproto/chunk"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// faultOf maps an error to a fault with a cause for users. Faults and context errors are returned unchanged.
func (s *Source) faultOf(err error) error {
	var known *update.Fault
	var rejected *trust.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.As(err, &rejected) {
		return &update.Fault{Cause: update.Untrusted, Subject: rejected.Document, Err: err}
	}
	cause, transient := causeOf(err)
	if name, local := diskfault.NameOf(s.o.FS, err); local && cause == update.DiskFault {
		return diskfault.Of(s.o.FS, name, -1, err)
	}
	if cause == update.Interrupted && !s.progress.hasMet() {
		cause = update.Unreachable
	}
	refused := transient && (cause == update.Unreachable || cause == update.Interrupted) && platform.IsRefused(err)
	return &update.Fault{Cause: cause, Transient: transient, Refused: refused, Subject: s.mirrors.names(), Err: err}
}

// causeOf maps the error types of this package and of the formats to a cause.
func causeOf(err error) (cause update.Cause, transient bool) {
	var net *download.NetError
	var wrong *download.WrongError
	var missing *download.MissingError
	var object *release.ObjectError
	var path *release.PathError
	var format *release.FormatError
	var damage *chunk.DamageError
	var patch *delta.PatchError
	var local *fs.PathError
	var pair *os.LinkError
	switch {
	case errors.Is(err, download.ErrSignIn): // whatever the other mirrors said: this one is there, and a person can do something about it
		return update.SignIn, false
	case errors.As(err, &net) && net.Kind == download.NetTLS && !errors.As(err, &wrong) && !errors.As(err, &missing):
		return update.Untrusted, false
	case errors.As(err, &net):
		return update.Interrupted, true
	case errors.As(err, &wrong) && wrong.Kind == download.WrongStale, errors.As(err, &object):
		return update.DamagedDownload, true
	case errors.As(err, &wrong), errors.As(err, &missing):
		return update.ServerFault, true
	case errors.As(err, &path):
		return update.Untrusted, false
	case errors.As(err, &format), errors.As(err, &damage), errors.As(err, &patch), errors.Is(err, errContent), errors.Is(err, errNotInPatch),
		errors.Is(err, errNoSource), errors.Is(err, errNoSources):
		return update.ServerFault, false
	case errors.As(err, &local), errors.As(err, &pair):
		return update.DiskFault, false
	default:
		return update.Interrupted, true
	}
}
