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

// folderNow is the clock of scenarios: later than anything on a disk was stamped, so that times can be believed.
func folderNow() time.Time { return time.Now().AddDate(1, 0, 0) }

// folderPortion is how many bytes arrive at once.
const folderPortion = 64 << 10

// folderClient is a client as far as the folder is concerned.
type folderClient struct {
	scenario *Scenario
	fsys     platform.FS
	now      time.Time
	verify   bool
	packs    bool // the server judges the packs only
	dir      *install.Dir
}

// layout is how the install calls its files.
func (s *Scenario) layout() install.Names {
	return install.Names{Runtime: s.base(), Ext: path.Ext(s.library), Resources: "Resources", Cache: "Cache"}
}

// open opens the install; after an unclean end everything is hashed, as the client does it.
func (c *folderClient) open(ctx context.Context) (err error) {
	if c.now.IsZero() {
		c.now = folderNow()
	}
	config := install.Config{FS: c.fsys, Names: c.scenario.layout(), Verify: c.verify, Trust: install.TrustSHA256, Log: zerolog.Nop(), Now: func() time.Time { return c.now }}
	c.dir, err = install.Open(ctx, config)
	return err
}

// attempts is how often one run asks again after damage: as often as the client does for one file.
const attempts = 3

// errHeldBack says that the offered set was taken back before, and is not taken again.
var errHeldBack = errors.New("the set is held back, because it was taken back after failed starts")

// fetch brings a set to where it is complete: staged, or live where it has no module.
func (c *folderClient) fetch(ctx context.Context, set folderTree) (err error) {
	for range attempts {
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

func (c *folderClient) fetchOnce(ctx context.Context, set folderTree) error {
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
	case plan.HeldBack:
		return errHeldBack
	}
	for i, want := range plan.Wants {
		if err := fileset.Fill(ctx, c.dir, i, want, set[c.scenario.live(want.File)].data, folderPortion); err != nil {
			return err
		}
	}
	return c.dir.Commit(ctx)
}

// offer is a set as a server lists it.
func (s *Scenario) offer(set folderTree) (files []release.File, err error) {
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

// live is the name of an offered file in the folder.
func (s *Scenario) live(f release.File) string {
	if f.Role == release.Resource {
		return "Resources/" + f.Path
	}
	return f.Path
}

// update is one whole run: fetch, swap, prove, close.
func (c *folderClient) update(ctx context.Context, set folderTree) error {
	err := c.open(ctx)
	if err != nil {
		return err
	}
	if err = c.fetch(ctx, set); err == nil {
		err = c.prove(ctx, 0)
	}
	return cmp.Or(err, c.dir.Close())
}

// prove swaps the set in and lets it prove itself, or fail so many starts.
func (c *folderClient) prove(ctx context.Context, fails int) error {
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

// recover is a start without a server.
func (c *folderClient) recover(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return fmt.Errorf("the next start does not open the install: %w", err)
	}
	return c.dir.Close()
}
