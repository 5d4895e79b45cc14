package scenario

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/app/install"
	"collet/platform"
	"collet/platform/faultfs"
)

// fault is one fault of a scenario. Exactly one of its actions is set.
type fault struct {
	line      int
	direction string // empty: both
	when      string // the moment of a fault that changes files
	text      string // the words in the scenario
	updaters  bool   // it changes a file of the updater

	change  func(v *volume) error         // changes files
	inject  func(f *faultfs.FS)           // prepares a failing call of the process
	crash   *crash                        // ends the process
	clock   func(now time.Time) time.Time // sets the clock
	fails   int                           // failed starts of the new set
	offline bool                          // the server can't be reached
	free    int64                         // free bytes of the volume; negative: enough
}

// The moments at which files are changed.
const (
	whenBefore   = "before"   // the old set is live, the update has not begun
	whenPrepared = "prepared" // the new set is complete and not live; its client is gone
	whenPending  = "pending"  // the new set is live and has not proven itself; its client is gone
	whenCrashed  = "crashed"  // after the crash
)

// crash stops the process at an operation. kept says how much unsynced data survives.
type crash struct {
	op      int // 0: every operation, one after the other
	moments []string
	kept    []int // percent; -1: the process was killed, all its writes survive
}

// diskErrors are the errors that a scenario can inject.
var diskErrors = map[string]error{
	"ENOSPC": faultfs.ENOSPC, "EDQUOT": faultfs.EDQUOT, "EIO": faultfs.EIO, "EACCES": faultfs.EACCES, "EBUSY": faultfs.EBUSY,
	"ETXTBSY": faultfs.ETXTBSY, "EROFS": faultfs.EROFS, "EXDEV": faultfs.EXDEV,
	"5": faultfs.ErrorAccessDenied, "19": faultfs.ErrorWriteProtect, "32": faultfs.ErrorSharingViolation,
	"33": faultfs.ErrorLockViolation, "112": faultfs.ErrorDiskFull, "1224": faultfs.ErrorUserMappedFile,
}

// faultKinds parse the words of a fault, by its kind.
var faultKinds = map[string]func(f *fault, words []string) error{
	"crash":    (*fault).readCrash,
	"corrupt":  (*fault).readCorrupt,
	"truncate": (*fault).readTruncate,
	"delete":   (*fault).readDelete,
	"put":      (*fault).readPut,
	"link":     (*fault).readLink,
	"mode":     (*fault).readMode,
	"offline": func(f *fault, words []string) error {
		f.offline = true
		return wantWords(words, 0, 0, "nothing behind offline")
	},
	"full":  (*fault).readFull,
	"fails": (*fault).readFails,
	"clock": (*fault).readClock,
	"fail":  (*fault).readFail,
}

func wantWords(words []string, least, most int, usage string) error {
	if len(words) < least || len(words) > most {
		return errors.New("want " + usage)
	}
	return nil
}

func (p *parser) faultDirective(direction string, words []string) error {
	f := fault{line: p.line, direction: direction, when: whenBefore, text: strings.Join(words, " "), free: -1}
	if n := len(words); n > 2 && words[n-2] == "when" {
		if err := p.choose(&f.when, words[n-1:], whenBefore, whenPrepared, whenPending, whenCrashed); err != nil {
			return err
		}
		words = words[:n-2]
	}
	read, known := faultKinds[words[0]]
	if !known {
		return p.fail("fault: there is no %s; there are %s", words[0], strings.Join(slices.Sorted(maps.Keys(faultKinds)), ", "))
	}
	if err := read(&f, words[1:]); err != nil {
		return p.fail("fault %s: %v", words[0], err)
	}
	if f.change == nil && strings.Contains(f.text, " when ") {
		return p.fail("fault %s: when is for faults that change files", words[0])
	}
	f.updaters = f.change != nil && strings.HasPrefix(words[1], install.StateDir+"/")
	p.faults = append(p.faults, f)
	return nil
}

func (f *fault) readCrash(words []string) (err error) {
	const usage = "crash at N|* [before|inside|after] [kept PERCENT|all …]"
	if len(words) < 2 || words[0] != "at" {
		return errors.New("want " + usage)
	}
	f.crash = &crash{moments: []string{"before", "inside", "after"}, kept: []int{-1}}
	if words[1] != "*" {
		if f.crash.op, err = strconv.Atoi(words[1]); err != nil || f.crash.op < 1 {
			return fmt.Errorf("operation %q: want a number from 1, or *", words[1])
		}
	}
	rest := words[2:]
	if len(rest) > 0 && slices.Contains(f.crash.moments, rest[0]) {
		f.crash.moments, rest = rest[:1], rest[1:]
	}
	if len(rest) == 0 {
		return nil
	}
	if rest[0] != "kept" || len(rest) == 1 {
		return errors.New("want " + usage)
	}
	f.crash.kept = nil
	for _, word := range rest[1:] {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > 100 {
			return fmt.Errorf("kept %s: want 0 to 100", word)
		}
		f.crash.kept = append(f.crash.kept, n)
	}
	return nil
}

func (f *fault) readCorrupt(words []string) error {
	quiet := len(words) > 0 && words[len(words)-1] == "quiet"
	if quiet {
		words = words[:len(words)-1]
	}
	if err := wantWords(words, 2, 3, "corrupt NAME OFFSET [COUNT] [quiet]"); err != nil {
		return err
	}
	offset, err := parseSize(words[1])
	count := int64(1)
	if err == nil && len(words) == 3 {
		count, err = parseSize(words[2])
	}
	f.change = func(v *volume) error { return v.corrupt(words[0], offset, count, quiet) }
	return err
}

func (f *fault) readTruncate(words []string) error {
	if err := wantWords(words, 2, 2, "truncate NAME SIZE"); err != nil {
		return err
	}
	size, err := parseSize(words[1])
	f.change = func(v *volume) error {
		data, err := v.readFile(words[0])
		if err != nil {
			return err
		}
		if int64(len(data)) < size {
			return fmt.Errorf("%s has %d bytes only", words[0], len(data))
		}
		return v.writeFile(words[0], file{data: data[:size]})
	}
	return err
}

func (f *fault) readDelete(words []string) error {
	f.change = func(v *volume) error { return v.fsys.Remove(words[0]) }
	return wantWords(words, 1, 1, "delete NAME")
}

func (f *fault) readPut(words []string) error {
	f.change = func(v *volume) error { return v.writeFile(words[0], file{data: []byte(words[1])}) }
	return wantWords(words, 2, 2, `put NAME TEXT`)
}

func (f *fault) readLink(words []string) error {
	f.change = func(v *volume) error {
		if err := platform.RemoveIfThere(v.fsys, words[0]); err != nil {
			return err
		}
		return v.writeFile(words[0], file{link: words[1]})
	}
	return wantWords(words, 2, 2, "link NAME TARGET")
}

func (f *fault) readMode(words []string) error {
	if err := wantWords(words, 2, 2, "mode NAME OCTAL"); err != nil {
		return err
	}
	mode, err := strconv.ParseUint(words[1], 8, 9)
	f.change = func(v *volume) error { return v.fsys.Chmod(words[0], os.FileMode(mode)) }
	return err
}

func (f *fault) readFull(words []string) (err error) {
	if err = wantWords(words, 1, 1, "full BYTES that are free"); err == nil {
		f.free, err = parseSize(words[0])
	}
	return err
}

func (f *fault) readFails(words []string) (err error) {
	if err = wantWords(words, 1, 1, "fails N starts"); err == nil {
		f.fails, err = strconv.Atoi(words[0])
	}
	if err == nil && (f.fails < 1 || f.fails > maxRuns) {
		err = fmt.Errorf("%d: want 1 to %d", f.fails, maxRuns)
	}
	return err
}

func (f *fault) readClock(words []string) error {
	if err := wantWords(words, 1, 1, "clock +N or -N years"); err != nil {
		return err
	}
	years, err := strconv.Atoi(words[0])
	f.clock = func(now time.Time) time.Time { return now.AddDate(years, 0, 0) }
	return err
}

// readFail parses a failing call: a verb of faultfs with - for spaces, a pattern, the error, and the number of the call.
func (f *fault) readFail(words []string) error {
	if err := wantWords(words, 3, 7, "fail VERB PATTERN ERROR [nth N] [times N]"); err != nil {
		return err
	}
	rule := faultfs.Rule{Verb: faultfs.Verb(strings.ReplaceAll(words[0], "-", " ")), Name: words[1], Err: diskErrors[words[2]]}
	if rule.Err == nil {
		return fmt.Errorf("error %s: there are %s", words[2], strings.Join(slices.Sorted(maps.Keys(diskErrors)), ", "))
	}
	if !slices.Contains(diskVerbs, rule.Verb) {
		return fmt.Errorf("%s is no operation of a file system: want one of %v", words[0], diskVerbs)
	}
	for rest := words[3:]; len(rest) > 0; rest = rest[2:] {
		to := map[string]*int{"nth": &rule.Nth, "times": &rule.Times}[rest[0]]
		if to == nil || len(rest) == 1 {
			return fmt.Errorf("%s: want nth N or times N", rest[0])
		}
		n, err := strconv.Atoi(rest[1])
		if err != nil || n < 1 {
			return fmt.Errorf("%s %s: want a number from 1", rest[0], rest[1])
		}
		*to = n
	}
	f.inject = func(fsys *faultfs.FS) { fsys.Inject(rule) }
	return nil
}

// diskVerbs are the operations that can fail.
var diskVerbs = []faultfs.Verb{
	faultfs.Create, faultfs.Write, faultfs.Truncate, faultfs.Sync, faultfs.Rename, faultfs.Exchange, faultfs.Remove, faultfs.Mkdir,
	faultfs.SyncFolder, faultfs.Open, faultfs.Read, faultfs.List,
}

// volume is the folder of a scenario, on a disk in memory or on the real one.
type volume struct {
	fsys platform.FS   // for changes beside the client
	disk *faultfs.Disk // nil on the real disk
	dir  string        // of the real disk
}

// readFile returns the content of a file.
func (v *volume) readFile(name string) ([]byte, error) {
	return platform.ReadFile(v.fsys, name, maxBytes)
}

// writeFile writes a file and creates the folders above it. It replaces an existing file.
func (v *volume) writeFile(name string, file file) error {
	if err := v.fsys.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if file.link != "" {
		if v.disk != nil {
			return v.disk.Symlink(file.link, name)
		}
		return os.Symlink(file.link, v.fsys.Path(name))
	}
	f, err := v.fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(file.data)
	if err = errors.Join(err, f.Close()); err == nil && file.mode != 0 {
		err = v.fsys.Chmod(name, file.mode)
	}
	return err
}

// corrupt inverts some bytes. If quiet is set, the modification time stays.
func (v *volume) corrupt(name string, offset, count int64, quiet bool) error {
	info, err := v.fsys.Lstat(name)
	if err != nil {
		return err
	}
	if offset+count > info.Size() || count < 1 {
		return fmt.Errorf("%s has %d bytes: none at %d", name, info.Size(), offset+count-1)
	}
	f, err := v.fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	data := make([]byte, count)
	if _, err := f.ReadAt(data, offset); err != nil && err != io.EOF {
		return err
	}
	for i := range data {
		data[i] = ^data[i]
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil || !quiet {
		return err
	}
	if v.disk != nil {
		return v.disk.Chtimes(name, info.ModTime())
	}
	return os.Chtimes(v.fsys.Path(name), info.ModTime(), info.ModTime())
}
