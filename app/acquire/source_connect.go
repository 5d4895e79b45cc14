package acquire

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
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
//	Accept            the installed release is the offered one, or newer releases may be withheld
//	UpdateResources   another set, with the same module
//	UpdateBinaries    another module than the one on the disk
//	NoNativeUpdate    no release for this channel and target
//	UpdaterMismatch   a newer host is needed
//
// A server beside the mirrors is asked at the same time, and may refuse this client for its own reasons.
func (s *Source) Connect(ctx context.Context) (compat.Judgement, error) {
	if err := s.Close(); err != nil {
		return compat.Judgement{}, s.faultOf(err)
	}
	s.renewing = false
	judgement, err := s.connect(ctx)
	if err != nil || !transfers(judgement.Verdict) || judgement.Verdict == compat.Accept {
		s.setSequel(nil)
	}
	return judgement, s.faultOf(err)
}

// serverAnswer is the result of Server.Connect.
type serverAnswer struct {
	judgement compat.Judgement
	mirror    download.Mirror
	err       error
}

func (s *Source) connect(ctx context.Context) (compat.Judgement, error) {
	answer := make(chan serverAnswer, 1)
	if s.o.Server != nil {
		go func() {
			j, mirror, err := s.o.Server.Connect(ctx)
			if err == nil {
				s.answered()
			}
			answer <- serverAnswer{j, mirror, err}
		}()
	} else {
		answer <- serverAnswer{err: errNoServer}
	}
	if len(s.o.Mirrors) == 0 {
		return s.judge(ctx, s.awaitServer(answer), nil)
	}
	err := s.useMirrors(s.o.Mirrors)
	if err == nil {
		err = s.findRelease(ctx)
	}
	return s.judge(ctx, s.awaitServer(answer), err)
}

// awaitServer waits for the server's answer.
func (s *Source) awaitServer(answer <-chan serverAnswer) serverAnswer {
	defer s.await()()
	return <-answer
}

var (
	errNoServer = errors.New("no server is named")
	// errNoFolder is for servers without signed releases.
	errNoFolder = errors.New("this server hands out no signed release, and nothing else is taken; start with --trust sha256 to take what the server itself vouches for")
)

// judge combines the results of the mirrors and of the server. err is the mirrors' error. Without usable mirrors the server's own
// release folder is used.
func (s *Source) judge(ctx context.Context, d serverAnswer, err error) (compat.Judgement, error) {
	if j, renewed := s.refusedAsOld(ctx, d, err); renewed {
		return j, nil
	}
	ahead := d.err == nil && d.judgement.Verdict == compat.Maintenance && (len(s.o.Mirrors) > 0 || d.mirror != nil)
	if d.err == nil && !transfers(d.judgement.Verdict) && !ahead {
		s.listing = nil
		return d.judgement, nil
	}
	j, err := s.found(ctx, d, err)
	if ahead { // the next release may be fetched during the maintenance
		if err != nil || !transfers(j.Verdict) {
			s.o.Log.Info().Err(err).Msg("nothing can be fetched during the maintenance")
			s.listing = nil
		}
		return d.judgement, ctx.Err()
	}
	return j, err
}

// found is the verdict for the offered release.
func (s *Source) found(ctx context.Context, d serverAnswer, err error) (compat.Judgement, error) {
	if s.o.Server != nil && d.err != nil {
		s.o.Log.Warn().Err(d.err).Msg("the server is not there")
	}
	if len(s.o.Mirrors) == 0 && d.err != nil {
		return compat.Judgement{}, d.err
	}
	if len(s.o.Mirrors) == 0 && d.mirror == nil {
		return compat.Judgement{}, &update.Fault{Cause: update.Untrusted, Err: errNoFolder}
	}
	if d.mirror != nil {
		if useErr := s.useMirrors(append(slices.Clone(s.o.Mirrors), d.mirror)); useErr != nil {
			return compat.Judgement{}, useErr
		}
		if len(s.o.Mirrors) == 0 || err != nil && ctx.Err() == nil {
			err = s.findRelease(ctx)
		}
	}
	if err != nil {
		return s.refusal(err)
	}
	j := compat.Judgement{Verdict: compat.Accept, Compatibility: s.head.Compatibility}
	if d.err == nil { // the server's reasons belong to its verdict
		j.Warnings, j.Age, j.Revision = d.judgement.Warnings, d.judgement.Age, d.judgement.Revision
		if d.judgement.Verdict == compat.UpdateBinaries {
			j.Rule, j.Reasons, j.Floor, j.MinPatch = d.judgement.Rule, d.judgement.Reasons, d.judgement.Floor, d.judgement.MinPatch
		}
	}
	switch lacks, err := s.lacksModule(ctx); {
	case err != nil:
		return j, err
	case s.renewing:
		j.Verdict = compat.UpdateResources
	case lacks || d.err == nil && d.judgement.Verdict == compat.UpdateBinaries:
		j.Verdict = compat.UpdateBinaries
	case s.head.Listing.Sum != s.installed.Listing.Sum:
		j.Verdict = compat.UpdateResources
	}
	return j, nil
}

// transfers reports whether the client goes on with an update after a server's verdict.
func transfers(v compat.Verdict) bool {
	return v == compat.Accept || v == compat.UpdateResources || v == compat.UpdateBinaries
}

// errHostTooOld says that the release needs a newer host.
var errHostTooOld = errors.New("the release needs a newer version of this program")

// refusal maps an error to its verdict, or returns it.
func (s *Source) refusal(err error) (compat.Judgement, error) {
	switch {
	case errors.Is(err, release.ErrNoRelease):
		s.o.Log.Warn().Err(err).Str("channel", s.o.Channel).Str("target", s.o.Target).Msg("no release for us")
		return compat.Judgement{Verdict: compat.NoNativeUpdate}, nil
	case errors.Is(err, errHostTooOld), errors.Is(err, release.ErrNewFormat):
		s.o.Log.Warn().Err(err).Msg("this program is too old for the release")
		return compat.Judgement{Verdict: compat.UpdaterMismatch, Compatibility: s.head.Compatibility}, nil
	default:
		return compat.Judgement{}, err
	}
}

// findRelease selects the release for this install, and fetches its head and listing.
func (s *Source) findRelease(ctx context.Context) error {
	if err := s.openTrust(); err != nil {
		return err
	}
	identity, _, err := s.o.Disk.Set()
	if err != nil {
		return err
	}
	answer, err := s.identifyAndRefresh(ctx, identity)
	if err != nil {
		return err
	}
	s.met = true
	s.answered()
	s.updateReport(func(r *Report) { r.From, r.Stale = s.installed.Number, answer.Why })
	if !answer.Fresh {
		s.o.Log.Warn().Str("why", string(answer.Why)).Time("expires", answer.Expires).Msg("nobody can say that this is current")
	}
	if err := s.chooseHead(ctx, answer); err != nil {
		return err
	}
	s.updateReport(func(r *Report) { r.Release = s.head })
	if s.renewing {
		return nil // the installed set does not change
	}
	s.memory.remember(installedRelease{
		Identity: s.o.Disk.Identity(s.listing.Files()), Product: answer.query.Product, Channel: s.o.Channel, Target: s.o.Target,
		Number: s.head.Number, Head: object(s.currentEntry(answer).Head), Listing: object{s.head.Listing.Sum, s.head.Listing.Size},
	}, s.listing, identity)
	return nil
}

// identifyAndRefresh refreshes the metadata. Meanwhile it identifies the installed release and examines its files.
func (s *Source) identifyAndRefresh(ctx context.Context, identity release.Digest) (trusted, error) {
	likely := s.memory.live(identity)
	s.memory.install()
	var meanwhile sync.WaitGroup
	var lost error
	meanwhile.Go(func() {
		if lost = s.identifyInstalled(ctx, identity); lost == nil && s.old != nil {
			s.o.Disk.Glance(s.old.Files())
		}
	})
	s.requestSequel(ctx, likely)
	answer, err := s.current(ctx, likely)
	meanwhile.Wait()
	if err = errors.Join(err, lost); err != nil || s.installed.Number == likely.Number {
		return answer, err
	}
	return s.current(ctx, s.installed)
}

// identifyInstalled identifies the installed release: by the install's identity of its set, else by comparing the remembered sets with
// the disk.
func (s *Source) identifyInstalled(ctx context.Context, identity release.Digest) error {
	s.memory.load()
	sets := slices.Clone(s.memory.sets)
	slices.SortStableFunc(sets, func(a, b installedRelease) int {
		return cmp.Compare(order(a.Identity == identity), order(b.Identity == identity))
	})
	s.installed, s.old = installedRelease{}, nil
	for _, k := range sets {
		list := s.memory.listing(k)
		if list == nil {
			continue
		}
		is := k.Identity == identity
		if !is {
			var err error
			if is, err = s.matchesDisk(ctx, list); err != nil {
				return err
			}
		}
		if is {
			s.installed, s.old = k, list
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

const (
	// resembling is how many resources of a set must be on the disk, beside its modules, for the set to count as installed.
	// resemblingSize is the largest resource in bytes that is hashed for that.
	resembling     = 4
	resemblingSize = 16 << 20
)

// matchesDisk reports whether the disk has the modules of a set and its smallest resources.
func (s *Source) matchesDisk(ctx context.Context, list release.Listing) (bool, error) {
	var probes []release.File
	var modules int
	for i, f := range list.Files() {
		if !s.o.Disk.Concerns(f) {
			continue
		}
		if list[i].Use == release.UseRuntime {
			probes = slices.Insert(probes, 0, f)
			modules++
		} else if f.Role == release.Resource && f.Size > 0 && f.Size <= resemblingSize {
			probes = append(probes, f)
		}
	}
	slices.SortStableFunc(probes[modules:], func(a, b release.File) int { return cmp.Compare(a.Size, b.Size) })
	for i, f := range probes {
		if i == modules+resembling {
			break
		}
		if there, err := s.hasFile(ctx, f); err != nil || !there {
			return false, err
		}
	}
	return len(probes) > 0, nil
}

// hasFile reports whether the install has exactly this file. The error is that of ctx.
func (s *Source) hasFile(ctx context.Context, f release.File) (bool, error) {
	file, err := s.o.Disk.Old(ctx, f)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, file.Close()
}

// keepsInstalled reports whether the installed release stays: it is the offered one, or no longer listed, or the metadata is not fresh,
// so that newer releases may be withheld.
func (s *Source) keepsInstalled(answer trusted) bool {
	if s.old == nil {
		return false
	}
	return !answer.Fresh || !answer.Listed || answer.Number == s.installed.Number && answer.Head == release.Object(s.installed.Head)
}

// currentEntry is the entry of the release to use: the installed or the offered one.
func (s *Source) currentEntry(answer trusted) release.Entry {
	if !s.keepsInstalled(answer) {
		return answer.Entry
	}
	return release.Entry{
		Product: s.installed.Product, Channel: s.installed.Channel, Target: s.installed.Target, Number: s.installed.Number, Head: release.Object(s.installed.Head),
	}
}

// chooseHead sets head and listing to those of the release to use.
func (s *Source) chooseHead(ctx context.Context, answer trusted) error {
	entry, kept := s.currentEntry(answer), false
	if s.head, kept = s.memory.head(entry); !kept {
		choice := release.Choice{Entry: entry, Listed: true}
		head, err := s.trust.Head(ctx, s.resuming(), choice)
		if s.misled(err) {
			head, err = s.trust.Head(ctx, documents{s.fetcher}, choice)
		}
		if err != nil && !s.keepsInstalled(answer) {
			return err
		}
		if err != nil { // the set can be played, but not repaired
			head = release.Head{Product: entry.Product, Channel: entry.Channel, Target: entry.Target, Number: entry.Number}
			head.Listing = release.Packed{Sum: s.installed.Listing.Sum, Size: s.installed.Listing.Size}
		} else {
			s.memory.keepHead(entry.Head, head)
			s.answered()
		}
		s.head = head
	}
	if s.keepsInstalled(answer) {
		s.listing = s.old
		s.small.Clear() // its pieces are of a release that is installed now, or no longer offered
		return nil
	}
	if err := s.checkHost(); err != nil {
		return err
	}
	s.o.Log.Info().Uint64("from", s.installed.Number).Uint64("to", s.head.Number).Str("version", s.head.Version).Bool("down", answer.Down).
		Bool("fresh", answer.Fresh).Msg("another release is for us")
	if err := s.identify(ctx, answer); err != nil {
		return err
	}
	if err := s.findListing(ctx); err != nil {
		return err
	}
	s.answered()
	return s.renewed(ctx)
}

// lacksModule reports whether a native module of the listing is missing or damaged on the disk.
func (s *Source) lacksModule(ctx context.Context) (bool, error) {
	for i, f := range s.listing.Files() {
		if s.listing[i].Use != release.UseRuntime || !s.o.Disk.Concerns(f) {
			continue
		}
		if there, err := s.hasFile(ctx, f); err != nil || !there {
			return !there, err
		}
	}
	return false, nil
}
