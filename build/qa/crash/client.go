package crash

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/build/qa/fileset"
	"collet/netproto/release"
	"collet/platform"
)

// crashPortion is the server's portion size in bytes, small enough that a large file takes several writes.
const crashPortion = 9_000

// crashNow is the clock of the stories. It is long after all time stamps of a faultfs disk, so that file times are trusted.
var crashNow = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// crashClient does the disk operations of a client's host and updater on an install.
type crashClient struct {
	names  install.Names
	sets   crashSets
	mode   update.Mode
	verify bool
	fsys   platform.FS
	now    time.Time

	dir     *install.Dir
	offered Set
	plan    update.Plan
	may     []string // sets that a start may find after a stop now
}

// crashStep is one step of a client, and the sets that a stop during it may leave.
type crashStep struct {
	do  func(*crashClient) error
	may []string
}

// play executes steps in order.
func (c *crashClient) play(steps []crashStep) error {
	for _, s := range steps {
		c.may = s.may
		if err := s.do(c); err != nil {
			return err
		}
	}
	return nil
}

func (c *crashClient) open() (err error) {
	if c.now.IsZero() {
		c.now = crashNow
	}
	c.dir, err = install.Open(context.Background(), install.Config{
		FS: c.fsys, Names: c.names, Verify: c.verify, Trust: install.TrustSHA256, Log: zerolog.Nop(), Now: func() time.Time { return c.now },
	})
	return err
}

// maxAgain is how often a client restarts a download by itself. A part torn by a power cut costs one restart, and there is at most one
// unfinished part.
const maxAgain = 2

// fetch compares the install with a release and downloads missing files, as often as the install requests it.
func (c *crashClient) fetch(set string) (err error) {
	c.offered = c.sets[set]
	for range 1 + maxAgain {
		err = c.fetchOnce()
		if fault, is := errors.AsType[*update.Fault](err); !is || !fault.Transient {
			return err
		}
	}
	return err
}

func (c *crashClient) fetchOnce() (err error) {
	files := c.offered.offer(c.names)
	c.plan, err = c.dir.Plan(context.Background(), c.mode, files, func(string, int64, int64) {})
	if err != nil {
		return err
	}
	for i, want := range c.plan.Wants {
		if err := c.download(i, want); err != nil {
			return err
		}
	}
	return nil
}

func (c *crashClient) download(i int, want update.Want) error {
	name := want.File.Path
	if _, top := c.offered[name]; !top || want.File.Role != release.Binary {
		name = c.names.Resources + "/" + name
	}
	return fileset.Fill(context.Background(), c.dir, i, want, c.offered[name], crashPortion)
}

func (c *crashClient) commit() error {
	if c.plan.HeldBack {
		return nil
	}
	return c.dir.Commit(context.Background())
}

func (c *crashClient) promote() error  { return c.dir.Promote(context.Background()) }
func (c *crashClient) starting() error { return c.dir.Starting() }
func (c *crashClient) confirm() error  { return c.dir.Confirm() }
func (c *crashClient) close() error    { return c.dir.Close() }

func (c *crashClient) fail() error {
	_, err := c.dir.FailedStart(context.Background(), "the module ended with a signal")
	return err
}

// errStillPending says that failed starts did not cause a rollback.
var errStillPending = errors.New("the set is still there after two failed starts")

// failUntilBack starts a set that always fails to start, until the rollback.
func (c *crashClient) failUntilBack() error {
	for range 2 {
		if !c.dir.Pending() {
			return nil
		}
		if err := c.starting(); err != nil {
			return err
		}
		if err := c.fail(); err != nil {
			return err
		}
	}
	if c.dir.Pending() {
		return errStillPending
	}
	return nil
}

// wantNothing checks that a release is complete already.
func (c *crashClient) wantNothing(set string) error {
	plan, err := c.dir.Plan(context.Background(), c.mode, c.sets[set].offer(c.names), func(string, int64, int64) {})
	switch {
	case err != nil:
		return err
	case c.dir.Unclean():
		return errors.New("a start that was closed counts as unclean")
	case len(plan.Wants) > 0:
		return fmt.Errorf("%d files are fetched although they are there, %s is the first", len(plan.Wants), plan.Wants[0].File.Path)
	}
	return nil
}

// The steps of stories.

func opening(may ...string) crashStep   { return crashStep{(*crashClient).open, may} }
func promoting(may ...string) crashStep { return crashStep{(*crashClient).promote, may} }
func starting(may ...string) crashStep  { return crashStep{(*crashClient).starting, may} }
func failing(may ...string) crashStep   { return crashStep{(*crashClient).fail, may} }
func proving(may ...string) crashStep   { return crashStep{(*crashClient).confirm, may} }
func closing(may ...string) crashStep   { return crashStep{(*crashClient).close, may} }

func fetching(set string, may ...string) crashStep {
	return crashStep{func(c *crashClient) error { return c.fetch(set) }, may}
}

func committing(may ...string) crashStep { return crashStep{(*crashClient).commit, may} }

// swapping changes from one set to another, which is then live but not proven.
func swapping(from, to string) []crashStep {
	return []crashStep{opening(from), fetching(to, from), committing(from, to), promoting(from, to)}
}

// updating is a complete update.
func updating(from, to string) []crashStep {
	return append(swapping(from, to), starting(to), proving(to), closing(to))
}

// leaving is an update whose set is not proven when the player quits.
func leaving(from, to string) []crashStep {
	return append(swapping(from, to), starting(to), closing(to))
}

// refusing is an update to a set that always fails to start, and ends with another set.
func refusing(from, to, back string) []crashStep {
	return append(swapping(from, to), starting(to), failing(to), starting(to), failing(to, back), closing(back))
}

// trying is one more run of a client whose new set always fails to start.
func trying(to string) []crashStep {
	return []crashStep{opening(), fetching(to), committing(), promoting(), {(*crashClient).failUntilBack, nil}, closing()}
}
