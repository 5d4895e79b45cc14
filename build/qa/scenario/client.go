package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"collet/app/install"
	"collet/app/update"
	"collet/build/qa/fileset"
	"collet/netproto/release"
	"collet/platform"
)

// clientTime is the clock of the clients. It is later than all file times, so that file times are trusted.
func clientTime() time.Time { return time.Now().AddDate(1, 0, 0) }

// portion is the size of one write to the install in bytes.
const portion = 64 << 10

// client does the disk operations of a game client: open, fetch, swap, prove, close.
type client struct {
	scenario *Scenario
	fsys     platform.FS
	now      time.Time
	verify   bool
	packs    bool // the server requests no binaries
	dir      *install.Dir
}

// layout returns the file names of the install.
func (s *Scenario) layout() install.Names {
	return install.Names{Runtime: s.base(), Ext: path.Ext(s.library), Resources: "Resources", Cache: "Cache"}
}

// openInstall opens the install. After an unclean end it hashes all files, like a game client.
func (c *client) openInstall(ctx context.Context) (err error) {
	if c.now.IsZero() {
		c.now = clientTime()
	}
	config := install.Config{FS: c.fsys, Names: c.scenario.layout(), Verify: c.verify, Trust: install.TrustSHA256, Log: zerolog.Nop(), Now: func() time.Time { return c.now }}
	c.dir, err = install.Open(ctx, config)
	return err
}

// maxAttempts is how often one run restarts a damaged download, like a game client.
const maxAttempts = 3

// errBlocked says that the offered set was rolled back before, so the install rejects it.
var errBlocked = errors.New("the set is blocked, because it was taken back after failed starts")

// fetch downloads a set until it is staged, or live if it has no module.
func (c *client) fetch(ctx context.Context, set tree) (err error) {
	for range maxAttempts {
		err = c.fetchOnce(ctx, set)
		var fault *update.Fault
		if !errors.As(err, &fault) || fault.Cause != update.DamagedDownload {
			return err
		}
		if err := c.dir.Abandon(); err != nil {
			return err
		}
	}
	return err
}

func (c *client) fetchOnce(ctx context.Context, set tree) error {
	mode := update.Binaries
	if _, module := set[c.scenario.library]; !module || c.packs {
		mode = update.Resources
	}
	offer, err := c.scenario.offer(set)
	if err != nil {
		return err
	}
	plan, err := c.dir.Plan(ctx, mode, offer, func(string, int64, int64) {})
	switch {
	case err != nil:
		return err
	case plan.Blocked:
		return errBlocked
	}
	for i, want := range plan.Wants {
		if err := fileset.Fill(ctx, c.dir, i, want, set[c.scenario.live(want.File)].data, portion); err != nil {
			return err
		}
	}
	return c.dir.Commit(ctx)
}

// offer returns the list that a server sends for a set.
func (s *Scenario) offer(set tree) (files []release.File, err error) {
	for _, name := range set.names() {
		f := release.File{Path: name, Size: int64(len(set[name].data)), Role: release.Binary, Index: uint32(len(files))}
		if rest, is := strings.CutPrefix(name, "Resources/"); is {
			f.Path, f.Role = rest, release.Resource
		}
		if f.Digest, err = digestOf(set[name].data); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func digestOf(data []byte) (release.Digest, error) {
	return release.SHA256.DigestOf(strings.NewReader(string(data)))
}

// live returns the name of an offered file in the folder.
func (s *Scenario) live(f release.File) string {
	if f.Role == release.Resource {
		return "Resources/" + f.Path
	}
	return f.Path
}

// update is one complete run: open, fetch, swap, prove, close.
func (c *client) update(ctx context.Context, set tree) error {
	err := c.openInstall(ctx)
	if err != nil {
		return err
	}
	if err = c.fetch(ctx, set); err == nil {
		err = c.prove(ctx, 0)
	}
	return cmp.Or(err, c.dir.Close())
}

// prove makes the set live. Then the set proves itself, or fails the given number of starts.
func (c *client) prove(ctx context.Context, fails int) error {
	if err := c.dir.Promote(ctx); err != nil {
		return err
	}
	for range fails {
		if err := c.dir.Starting(); err != nil {
			return err
		}
		if _, err := c.dir.FailedStart(ctx, "the scenario says so"); err != nil {
			return err
		}
	}
	if fails > 0 {
		return nil
	}
	return c.dir.Confirm()
}

// recover is a start without a server: it opens and closes the install.
func (c *client) recover(ctx context.Context) error {
	if err := c.openInstall(ctx); err != nil {
		return fmt.Errorf("the next start does not open the install: %w", err)
	}
	return c.dir.Close()
}
