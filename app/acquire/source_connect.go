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

// Connect implements update.Source. It asks what is signed, finds the release that is for us, and makes its head and its
// listing known, so that what it judges is what the disk lacks of them:
//
//	Accept            what is installed is what we are offered, or newer releases may be withheld
//	UpdateResources   another set, with the same module
//	UpdateBinaries    another module than the one on the disk
//	NoNativeUpdate    nothing is offered for this channel and target
//	UpdaterMismatch   a newer host is needed
//
// A server beside the mirrors is asked at the same time, and may refuse us for reasons of its own.
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

// serverAnswer is what became of the server.
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

// awaitServer waits for what becomes of the server.
func (s *Source) awaitServer(answer <-chan serverAnswer) serverAnswer {
	defer s.await()()
	return <-answer
}

var (
	errNoServer = errors.New("no server is named")
	// errNoFolder is for servers that can't give what would be believed.
	errNoFolder = errors.New("this server hands out no signed release, and nothing else is taken; start with --trust sha256 to take what the server itself vouches for")
)

// judge puts together what the mirrors and the server said. err is that of the mirrors; without mirrors, or if they were of
// no use, the server's own folder is looked at.
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
	if ahead { // what comes after the maintenance may be fetched already, if it is to be had
		if err != nil || !transfers(j.Verdict) {
			s.o.Log.Info().Err(err).Msg("nothing can be fetched during the maintenance")
			s.listing = nil
		}
		return d.judgement, ctx.Err()
	}
	return j, err
}

// found is the verdict that follows from what is on offer.
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
	if d.err == nil { // what the server says of its reasons goes with its verdict
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

// transfers reports whether a verdict of a server leaves the update to us.
func transfers(v compat.Verdict) bool {
	return v == compat.Accept || v == compat.UpdateResources || v == compat.UpdateBinaries
}

// errHostTooOld says that the release needs a newer host.
var errHostTooOld = errors.New("the release needs a newer version of this program")

// refusal is the verdict that an error stands for, if it is one.
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

// findRelease finds the release that is for us, its head and its listing.
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
		return nil // what is installed stays what it is
	}
	s.memory.remember(installedRelease{
		Identity: s.o.Disk.Identity(s.listing.Files()), Product: answer.query.Product, Channel: s.o.Channel, Target: s.o.Target,
		Number: s.head.Number, Head: object(s.currentEntry(answer).Head), Listing: object{s.head.Listing.Sum, s.head.Listing.Size},
	}, s.listing, identity)
	return nil
}

// identifyAndRefresh asks which release is for us, and in the time that it takes finds out which one is installed and looks at its
// files.
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

// identifyInstalled finds out which release is installed. The identity that the install gives its set is the surest sign; otherwise the
// remembered sets are held against the disk.
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
	// resembling is how many resources of a set have to be on the disk for it to be taken for the installed one, beside its
	// modules, and resemblingSize the largest one in bytes that is hashed for that.
	resembling     = 4
	resemblingSize = 16 << 20
)

// matchesDisk reports whether the disk holds the modules of a set and the smallest of its resources.
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

// keepsInstalled reports whether what is installed is what we go on with: it is what is offered, or is not offered to others any
// more, or what is offered may be an old release, with newer ones withheld.
func (s *Source) keepsInstalled(answer trusted) bool {
	if s.old == nil {
		return false
	}
	return !answer.Fresh || !answer.Listed || answer.Number == s.installed.Number && answer.Head == release.Object(s.installed.Head)
}

// currentEntry is the entry of what we go on with.
func (s *Source) currentEntry(answer trusted) release.Entry {
	if !s.keepsInstalled(answer) {
		return answer.Entry
	}
	return release.Entry{
		Product: s.installed.Product, Channel: s.installed.Channel, Target: s.installed.Target, Number: s.installed.Number, Head: release.Object(s.installed.Head),
	}
}

// chooseHead makes head and listing those of what we go on with.
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
		if err != nil { // it can be played, and not mended
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
		s.small.Clear() // it was for a release that is installed now, or is not offered any more
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

// lacksModule reports whether a native module of the listing is not on the disk as it should be.
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
