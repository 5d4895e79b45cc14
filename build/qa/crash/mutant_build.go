package crash

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"collet/app/install"
	"collet/platform"
)

// journalLate delays each journal record until the next rename, the next record or the end of the process.
func journalLate(b *brokenFS) {
	var held func() error
	flush := func() error {
		write := held
		if held = nil; write == nil {
			return nil
		}
		return write()
	}
	b.open = func(name string, flag int, open func() (platform.File, error)) (platform.File, error) {
		if !isJournal(name) || flag&os.O_WRONLY == 0 {
			return open()
		}
		if err := flush(); err != nil {
			return nil, err
		}
		late := &lateFile{}
		held = func() error { return late.replay(open) }
		return late, nil
	}
	b.rename = func(from, to string) error { return errors.Join(b.FS.Rename(from, to), flush()) }
	b.exchange = func(one, other string) error {
		if err := b.FS.Exchange(one, other); err != nil {
			return err
		}
		return flush()
	}
	b.unlock = flush
}

// lateFile records its calls.
type lateFile struct {
	platform.File
	calls []func(platform.File) error
}

func (f *lateFile) later(call func(platform.File) error) { f.calls = append(f.calls, call) }

func (f *lateFile) Truncate(size int64) error {
	f.later(func(to platform.File) error { return to.Truncate(size) })
	return nil
}

func (f *lateFile) Seek(offset int64, whence int) (int64, error) {
	f.later(func(to platform.File) error { _, err := to.Seek(offset, whence); return err })
	return offset, nil
}

func (f *lateFile) Write(data []byte) (int, error) {
	text := string(data)
	f.later(func(to platform.File) error { _, err := io.WriteString(to, text); return err })
	return len(data), nil
}

func (f *lateFile) Sync() error {
	f.later(platform.File.Sync)
	return nil
}

func (f *lateFile) Close() error { return nil }

func (f *lateFile) replay(open func() (platform.File, error)) error {
	to, err := open()
	if err != nil {
		return err
	}
	for _, call := range f.calls {
		err = errors.Join(err, call(to))
	}
	return errors.Join(err, to.Close())
}

// preparedEarly syncs parts after the next journal record.
func preparedEarly(b *brokenFS) {
	var waiting []string
	b.sync = func(name string, sync func() error) error {
		if isPart(name) {
			waiting = append(waiting, name)
			return nil
		}
		if err := sync(); err != nil || !isJournal(name) {
			return err
		}
		parts := waiting
		waiting = nil
		return syncAll(b.FS, parts)
	}
}

func syncAll(fsys platform.FS, names []string) error {
	for _, name := range names {
		f, err := fsys.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// backupEarly removes each backup immediately.
func backupEarly(b *brokenFS) {
	b.rename = func(from, to string) error {
		err := b.FS.Rename(from, to)
		if err == nil && isBackup(to) {
			err = b.FS.Remove(to)
		}
		return err
	}
}

// exchangeNaive exchanges two names by removing one and renaming the other.
func exchangeNaive(b *brokenFS) {
	b.exchange = func(from, live string) error {
		if _, err := b.FS.Lstat(from); err != nil {
			return err
		}
		if err := b.FS.Remove(live); err != nil {
			return err
		}
		return b.FS.Rename(from, live)
	}
	b.rename = func(from, to string) error { // the backup's source was removed by the exchange
		err := b.FS.Rename(from, to)
		if isBackup(to) && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
}

// placeByCopy replaces a rename by a copy with all necessary syncs.
func placeByCopy(b *brokenFS) {
	b.rename = func(from, to string) error {
		data, err := platform.ReadFile(b.FS, from, 1<<30)
		if err != nil || strings.HasPrefix(from, install.StateDir+"/") {
			return b.FS.Rename(from, to)
		}
		f, err := b.FS.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		return b.FS.Remove(from)
	}
}
