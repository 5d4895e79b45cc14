package acquire

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"collet/app/download"
	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/release"
)

// Connect implements update.Source. It refreshes the signed metadata, selects the release for this install, and fetches its head and
// listing. Its verdict compares them with the disk:
//
//	Accept            the installed release is the offered one, or that is blocked, or newer releases may be withheld
//	UpdateResources   another set, with the same module
//	UpdateBinaries    another module than the one on the disk
//	NoNativeUpdate    no release for this channel and target
//	UpdaterMismatch   a newer host is needed
//
// A server beside the mirrors is asked at the same time, and may refuse this client for its own reasons. If it does not answer, the signed
// rules of the mirrors decide in its place, see connect_rules.go.
func (s *Source) Connect(ctx context.Context) (compat.Judgement, error) {
	if err := s.Close(); err != nil {
		return compat.Judgement{}, s.faultOf(err)
	}
	c := connecting{resources: &s.resources}
	judgement, err := c.connect(ctx)
	s.connected = c.connected
	if err != nil || !transfers(judgement.Verdict) || judgement.Verdict == compat.Accept {
		s.objects.setSequel(nil)
	}
	return judgement, s.faultOf(err)
}

// connecting is one call of Connect. Its result is the embedded value.
type connecting struct {
	*resources
	connected
}

// serverAnswer is the result of Server.Connect.
type serverAnswer struct {
	judgement compat.Judgement
	mirror    download.Mirror
	err       error
}

// serverCall is one Server.Connect.
type serverCall struct {
	answer   chan serverAnswer // gets one
	once     sync.Once         // decides whether the server was in time: for decided, or for claimTimeout
	decided  chan struct{}     // closed when the server has given its verdict, or failed
	answered bool              // it has given its verdict; after decided
	cancel   func()            // ends Server.Connect
}

// callServer asks the server.
func (c *connecting) callServer(ctx context.Context) *serverCall {
	ctx, cancel := context.WithCancel(ctx)
	s := &serverCall{answer: make(chan serverAnswer, 1), decided: make(chan struct{}), cancel: cancel}
	decide := func(answered bool) {
		s.once.Do(func() {
			if s.answered = answered; answered {
				c.progress.answered()
			}
			close(s.decided)
		})
	}
	if c.o.Server == nil {
		cancel()
		decide(false)
		s.answer <- serverAnswer{err: errNoServer}
		return s
	}
	go func() {
		defer cancel()
		j, mirror, err := c.o.Server.Connect(ctx, func() { decide(true) })
		decide(err == nil)
		s.answer <- serverAnswer{j, mirror, err}
	}()
	return s
}

// awaitDecision reports whether the server gave a verdict or failed before end. This wait counts against the caller's time limit
// (Progress.Waiting). What Server.Connect does after its verdict does not.
func awaitDecision[T any](s *serverCall, p *progress, end <-chan T) bool {
	defer p.await()()
	select {
	case <-s.decided:
		return true
	case <-end:
		return false
	}
}

// claimTimeout makes the server late, unless it has decided already. It reports whether it is late; if not, its verdict or its error is there.
func (s *serverCall) claimTimeout() (late bool) {
	s.once.Do(func() { late = true })
	return late
}

func (c *connecting) connect(ctx context.Context) (compat.Judgement, error) {
	server := c.callServer(ctx)
	if len(c.o.Mirrors) == 0 {
		return c.readVerdict(ctx, c.awaitServer(server), nil)
	}
	err := c.mirrors.use(c.o.Mirrors)
	if err == nil {
		err = c.findRelease(ctx)
	}
	return c.readVerdict(ctx, c.awaitServerOrRules(ctx, server, err), err)
}

// awaitServer waits for the server's answer.
func (c *connecting) awaitServer(server *serverCall) serverAnswer {
	awaitDecision[struct{}](server, c.progress, nil)
	return <-server.answer
}

var (
	errNoServer = errors.New("no server is named")
	// errNoFolder is for servers without signed releases.
	errNoFolder = errors.New("this server hands out no signed release, and nothing else is taken; start with --trust sha256 to take what the server itself vouches for")
)

// readVerdict combines the results of the mirrors and of the server. err is the mirrors' error. Without usable mirrors the server's own
// release folder is used.
func (c *connecting) readVerdict(ctx context.Context, d serverAnswer, err error) (compat.Judgement, error) {
	if j, renewed := c.offerHost(ctx, d, err); renewed {
		return j, nil
	}
	maintenance := d.err == nil && d.judgement.Verdict == compat.Maintenance && (len(c.o.Mirrors) > 0 || d.mirror != nil)
	if d.err == nil && !transfers(d.judgement.Verdict) && !maintenance {
		c.listing = nil
		return d.judgement, nil
	}
	j, err := c.judgeRelease(ctx, d, err)
	if maintenance { // the next release may be fetched meanwhile
		if err != nil || !transfers(j.Verdict) {
			c.o.Log.Info().Err(err).Msg("nothing can be fetched during the maintenance")
			c.listing = nil
		}
		return d.judgement, ctx.Err()
	}
	return j, err
}

// judgeRelease is the verdict for the offered release.
func (c *connecting) judgeRelease(ctx context.Context, d serverAnswer, err error) (compat.Judgement, error) {
	if c.o.Server != nil && d.err != nil {
		c.o.Log.Warn().Err(d.err).Msg("the server is not there")
	}
	if len(c.o.Mirrors) == 0 && d.err != nil {
		return compat.Judgement{}, d.err
	}
	if len(c.o.Mirrors) == 0 && d.mirror == nil {
		return compat.Judgement{}, &update.Fault{Cause: update.Untrusted, Err: errNoFolder}
	}
	if d.mirror != nil {
		if useErr := c.mirrors.use(append(slices.Clone(c.o.Mirrors), d.mirror)); useErr != nil {
			return compat.Judgement{}, useErr
		}
		if len(c.o.Mirrors) == 0 || err != nil && ctx.Err() == nil {
			err = c.findRelease(ctx)
		}
	}
	if err != nil {
		return c.refusal(err)
	}
	lacks, err := lacksFile(ctx, c.o.Disk, c.modules(c.o.Disk))
	if err != nil {
		return compat.Judgement{}, err
	}
	if d.err != nil {
		return c.judgement(nil, lacks), nil
	}
	return c.judgement(&d.judgement, lacks), nil
}

// errHostTooOld says that the release needs a newer host.
var errHostTooOld = errors.New("the release needs a newer version of this program")

// isRefusal reports whether refusal has a verdict for an error.
func isRefusal(err error) bool {
	return errors.Is(err, release.ErrNoRelease) || errors.Is(err, errHostTooOld) || errors.Is(err, release.ErrNewFormat)
}

// refusal maps an error to its verdict, or returns it.
func (c *connecting) refusal(err error) (compat.Judgement, error) {
	switch {
	case errors.Is(err, release.ErrNoRelease):
		c.o.Log.Warn().Err(err).Str("channel", c.o.Channel).Str("target", c.o.Target).Msg("no release for this channel and target")
		return compat.Judgement{Verdict: compat.NoNativeUpdate, Withheld: errors.Is(err, release.ErrWithheld)}, nil
	case isRefusal(err):
		c.o.Log.Warn().Err(err).Msg("this program is too old for the release")
		return compat.Judgement{Verdict: compat.UpdaterMismatch, Compatibility: c.head.Compatibility}, nil
	default:
		return compat.Judgement{}, err
	}
}

// findRelease selects the release for this install, and fetches its head and listing.
func (c *connecting) findRelease(ctx context.Context) error {
	if err := c.lists.openClient(); err != nil {
		return err
	}
	identity, _, err := c.o.Disk.Set()
	if err != nil {
		return err
	}
	answer, err := c.identifyAndRefresh(ctx, identity)
	if err != nil {
		return err
	}
	c.progress.meetMirror()
	c.progress.answered()
	c.progress.update(func(r *Report) { r.From, r.Stale = c.installed.Number, answer.Why })
	if !answer.Fresh {
		c.o.Log.Warn().Str("why", string(answer.Why)).Time("expires", answer.Expires).Msg("can't confirm that this release is current")
	}
	c.blocked = c.old != nil && c.remembered.blocked(answer.Entry, c.o.Disk.MayInstall)
	if err := c.chooseHead(ctx, answer); err != nil {
		return err
	}
	c.progress.update(func(r *Report) { r.Release = c.head })
	if c.renewing {
		return nil // the installed set does not change
	}
	c.remembered.add(installedRelease{
		Identity: c.o.Disk.Identity(c.listing.Files()), Product: answer.query.Product, Channel: c.o.Channel, Target: c.o.Target,
		Number: c.head.Number, Head: object(c.entry(answer).Head), Listing: object{c.head.Listing.Sum, c.head.Listing.Size},
	}, c.listing, identity)
	return nil
}

// identifyAndRefresh refreshes the metadata. Meanwhile it identifies the installed release and examines its files.
func (c *connecting) identifyAndRefresh(ctx context.Context, identity release.Digest) (trusted, error) {
	likely := c.remembered.live(identity)
	c.remembered.install()
	var meanwhile sync.WaitGroup
	var lost error
	meanwhile.Go(func() {
		if lost = c.identifyInstalled(ctx, identity); lost == nil && c.old != nil {
			c.o.Disk.Glance(c.old.Files())
		}
	})
	c.requestSequel(ctx, likely)
	answer, err := c.lists.current(ctx, likely)
	meanwhile.Wait()
	if err = errors.Join(err, lost); err != nil || c.installed.Number == likely.Number {
		return answer, err
	}
	return c.lists.current(ctx, c.installed)
}

// identifyInstalled identifies the installed release: by the install's identity of its set, else by comparing the remembered sets with
// the disk.
func (c *connecting) identifyInstalled(ctx context.Context, identity release.Digest) error {
	c.remembered.load()
	sets := slices.Clone(c.remembered.sets)
	slices.SortStableFunc(sets, func(a, b installedRelease) int {
		return cmp.Compare(order(a.Identity == identity), order(b.Identity == identity))
	})
	c.installed, c.old = installedRelease{}, nil
	for _, k := range sets {
		list := c.remembered.listing(k.Listing)
		if list == nil {
			continue
		}
		is := k.Identity == identity
		if !is {
			var err error
			if is, err = matchesDisk(ctx, c.o.Disk, list); err != nil {
				return err
			}
		}
		if is {
			c.installed, c.old = k, list
			return nil
		}
	}
	return nil
}

func order(first bool) int {
	if first {
		return 0
	}
	return 1
}

// chooseHead sets head and listing to those of the release to use.
func (c *connecting) chooseHead(ctx context.Context, answer trusted) error {
	c.listing = nil
	entry, kept := c.entry(answer), false
	if c.head, kept = c.remembered.head(entry); !kept {
		choice := release.Choice{Entry: entry, Listed: true}
		head, err := c.lists.client.Head(ctx, c.objects.resuming(), choice)
		if c.objects.dropRejected(err) {
			head, err = c.lists.client.Head(ctx, c.objects.direct(), choice)
		}
		if err != nil && !c.keepsInstalled(answer) {
			return err
		}
		if err != nil { // the set can be played, but not repaired
			head = release.Head{Product: entry.Product, Channel: entry.Channel, Target: entry.Target, Number: entry.Number}
			head.Listing = release.Packed{Sum: c.installed.Listing.Sum, Size: c.installed.Listing.Size}
		} else {
			c.remembered.keepHead(entry.Head, head)
			c.progress.answered()
		}
		c.head = head
	}
	if c.keepsInstalled(answer) {
		c.listing = c.old
		c.objects.small.Clear() // its pieces are of a release that is installed now, or no longer offered
		return nil
	}
	if err := c.checkHost(); err != nil {
		return err
	}
	c.o.Log.Info().Uint64("from", c.installed.Number).Uint64("to", c.head.Number).Str("version", c.head.Version).Bool("down", answer.Down).
		Bool("fresh", answer.Fresh).Msg("release selected")
	if err := c.identify(ctx, answer); err != nil {
		return err
	}
	if err := c.findListing(ctx); err != nil {
		return err
	}
	c.progress.answered()
	return c.renewed(ctx)
}

// requestSequel requests the sequel to the release that is probably installed from the first mirror. If none is known, it requests the one
// for new players: its number is 0, and its product is empty if none is configured. During a pause or with a rate limit, files are requested
// one by one.
func (c *connecting) requestSequel(ctx context.Context, likely installedRelease) {
	c.objects.setSequel(nil)
	paused, limit := c.mirrors.limits()
	if likely.Number == 0 {
		likely = installedRelease{Product: c.o.Product, Channel: c.o.Channel, Target: c.o.Target}
	}
	if paused || limit > 0 || likely.Channel != c.o.Channel || likely.Target != c.o.Target ||
		c.o.Product != "" && likely.Product != c.o.Product {
		return
	}
	entry := release.Entry{Product: likely.Product, Channel: likely.Channel, Target: likely.Target, Number: likely.Number}
	if !c.objects.small.Has(entry.SequelPath()) { // received parts of an interrupted sequel are kept, and the rest is requested by name
		ctx = context.WithoutCancel(ctx) // Fetch needs it after Connect
		c.objects.setSequel(startSequel(ctx, c.mirrors.list()[0], entry, c.sequelReader(likely.Head), c.objects.small, c.progress.countFetched, c.o.Log))
	}
}

// sequelReader is what a relative sequel may leave out: the verified list as it is now, the keys that sign lists, and the head that is
// kept. The result is called in another goroutine.
func (c *connecting) sequelReader(head object) func() release.SequelReader {
	list, err := c.lists.client.Entries()
	has, remembered := release.SequelReader{List: list, Keys: c.lists.client.Root().ListKeys()}, c.remembered
	return func() release.SequelReader {
		if err == nil {
			has.Head = remembered.headBytes(release.Object(head))
		}
		return has
	}
}
