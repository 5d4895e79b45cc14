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

// portion is the server's portion size in bytes, small enough that a large file takes several writes.
const portion = 9_000

// storyTime is the clock of the stories. It is long after all time stamps of a faultfs disk, so that file times are trusted.
var storyTime = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// client does the disk operations of a client's host and updater on an install.
type client struct {
	names  install.Names
	sets   namedSets
	mode   update.Mode
	verify bool
	fsys   platform.FS
	now    time.Time

	dir     *install.Dir
	offered Set
	plan    update.Plan
	allowed []string // sets that a start may find after a stop now
}

// step is one step of a client, and the sets that a stop during it may leave.
type step struct {
	do      func(*client) error
	allowed []string
}

// play executes steps in order.
func (c *client) play(steps []step) error {
	for _, s := range steps {
		c.allowed = s.allowed
		if err := s.do(c); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) openInstall() (err error) {
	if c.now.IsZero() {
		c.now = storyTime
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
func (c *client) fetch(set string) (err error) {
	c.offered = c.sets[set]
	for range 1 + maxAgain {
		err = c.fetchOnce()
		if fault, is := errors.AsType[*update.Fault](err); !is || !fault.Transient {
			return err
		}
	}
	return err
}

func (c *client) fetchOnce() (err error) {
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

func (c *client) download(i int, want update.Want) error {
	name := want.File.Path
	if _, top := c.offered[name]; !top || want.File.Role != release.Binary {
		name = c.names.Resources + "/" + name
	}
	return fileset.Fill(context.Background(), c.dir, i, want, c.offered[name], portion)
}

func (c *client) commit() error {
	if c.plan.Blocked {
		return nil
	}
	return c.dir.Commit(context.Background())
}

func (c *client) deferSwap() error { c.dir.DeferSwap(); return nil }
func (c *client) promote() error   { return c.dir.Promote(context.Background()) }
func (c *client) starting() error  { return c.dir.Starting() }
func (c *client) confirm() error   { return c.dir.Confirm() }
func (c *client) close() error     { return c.dir.Close() }

func (c *client) fail() error {
	_, err := c.dir.FailedStart(context.Background(), "the module ended with a signal")
	return err
}

// errStillPending says that failed starts did not cause a rollback.
var errStillPending = errors.New("the set is still there after two failed starts")

// failUntilBack starts a set that always fails to start, until the rollback.
func (c *client) failUntilBack() error {
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
func (c *client) wantNothing(set string) error {
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

func opening(may ...string) step   { return step{(*client).openInstall, may} }
func promoting(may ...string) step { return step{(*client).promote, may} }
func starting(may ...string) step  { return step{(*client).starting, may} }
func deferring(may ...string) step { return step{(*client).deferSwap, may} }
func failing(may ...string) step   { return step{(*client).fail, may} }
func proving(may ...string) step   { return step{(*client).confirm, may} }
func closing(may ...string) step   { return step{(*client).close, may} }

func fetching(set string, may ...string) step {
	return step{func(c *client) error { return c.fetch(set) }, may}
}

func committing(may ...string) step { return step{(*client).commit, may} }

// swapping changes from one set to another, which is then live but not proven.
func swapping(from, to string) []step {
	return []step{opening(from), fetching(to, from), committing(from, to), promoting(from, to)}
}

// updating is a complete update.
func updating(from, to string) []step {
	return append(swapping(from, to), starting(to), proving(to), closing(to))
}

// leaving is an update whose set is not proven when the player quits.
func leaving(from, to string) []step {
	return append(swapping(from, to), starting(to), closing(to))
}

// refusing is an update to a set that always fails to start, and ends with another set.
func refusing(from, to, back string) []step {
	return append(swapping(from, to), starting(to), failing(to), starting(to), failing(to, back), closing(back))
}

// trying is one more run of a client whose new set always fails to start.
func trying(to string) []step {
	return []step{opening(), fetching(to), committing(), promoting(), {(*client).failUntilBack, nil}, closing()}
}
