package acquire

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/app/download"
	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/netproto/release/trust"
	"collet/platform"
)

// Disk is the install as a Source needs it beside the Stage: what is there to begin with. install.Dir is one. The Updater's
// worker calls it, never beside a method of the Stage that the Updater itself calls.
type Disk interface {
	// Old opens a file of the install that has exactly this file's content; without one errors.Is with fs.ErrNotExist holds.
	Old(ctx context.Context, f release.File) (delta.SetFile, error)
	// Here opens what lies under this file's name, whatever it is: what is live, parts of it, backups. It is unverified.
	// visit gets each file with its size and closes it.
	Here(f release.File, visit func(file delta.SetFile, size int64))
	// Concerns reports whether the file belongs to this install.
	Concerns(f release.File) bool
	// Identity is what the set of an offer is called once it is live.
	Identity(offer []release.File) release.Digest
	// Glance looks at files that the next Plan will probably be about, to save time. It runs beside other work of the Source
	// that does not use the Disk.
	Glance(offer []release.File)
	// Bare reports whether no module is installed at all.
	Bare() bool
	// Set is what the live set is called; zero where that is not known.
	Set() (identity release.Digest, files int, err error)
}

// Server is the updater connection, where there is one beside the mirrors.
type Server interface {
	// Connect dials and shakes hands. It closes an earlier connection first. mirror is nil if the server hands out no release
	// folder.
	Connect(ctx context.Context) (judgement compat.Judgement, mirror download.Mirror, err error)
	// Close ends the connection, with what its mirror has under way. It may be called more than once.
	Close() error
}

// Options are what a Source is made of.
type Options struct {
	Mirrors    []download.Mirror                             // mirrors that were named here, best first; they stay the caller's
	OpenMirror func(address string) (download.Mirror, error) // opens a mirror that a head names; nil takes none. What it opens is a ClosableMirror or needs no closing
	Server     Server                                        // nil: there is none

	FS     platform.FS // the install's
	Folder string      // for everything that is kept between starts, relative to FS, slash-separated
	Disk   Disk

	Root                     []byte // the trusted root
	Product, Channel, Target string // an empty product is the only one that the list has; an empty channel is DefaultChannel
	HostABI                  uint32 // of this program
	HostBuild                uint64
	// Renew reports whether the install takes the program itself from a release, when the release or the server needs a newer
	// one; nil is never.
	Renew func() bool

	Language string            // of release notes
	Notes    func(text string) // is told the release notes of what is fetched, from a goroutine of Fetch; may be nil

	Fetch download.FetchOptions // Log is that of below
	Link  Link                  // what is believed about the line; fields that are zero are measured
	Now   func() time.Time      // the clock on the wall, which signatures are held against; nil is time.Now
	Log   zerolog.Logger
}

// ClosableMirror is a Mirror that holds connections.
type ClosableMirror interface {
	download.Mirror
	// Close lets go of them.
	Close() error
}

// Report tells what a Source found out and did, for logs and people.
type Report struct {
	Release release.Head       // what the signed list offers us; zero where it offers nothing or was not reached
	From    uint64             // number of the release that was installed; 0 is unknown
	Stale   trust.Staleness    // why this may not be current
	Bytes   map[Strategy]int64 // of contents, by what they came
	Fetched int64              // bytes that came over the line for all of it, lists included
}

// Progress is how far a Source has come before anything is fetched.
type Progress struct {
	Answers int   // documents that were verified, and verdicts of the server
	Bytes   int64 // that came over the line for all of it, believed or not
	Waiting bool  // it waits for a peer, and not for this machine
}

// Progress tells how far it has come. It may be asked at any time.
func (s *Source) Progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Progress{Answers: s.answers, Bytes: s.report.Fetched, Waiting: s.awaited > 0 || s.o.Fetch.Calls.Load() > 0}
}

// answered counts a complete answer that is believed.
func (s *Source) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers++
}

// await says that a peer is waited for, until what it returns is called.
func (s *Source) await() (over func()) {
	s.mu.Lock()
	s.awaited++
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		s.awaited--
		s.mu.Unlock()
	}
}

// Saved is how many bytes fewer came over the line than the contents have.
func (r Report) Saved() int64 {
	sum := -r.Fetched
	for _, n := range r.Bytes {
		sum += n
	}
	return max(sum, 0)
}

// Source is update.Source over a release folder: it takes what the game's keys signed, from any place that has it, by the
// means that cost least. NewSource makes one. One Updater uses it at a time; Traffic, Pause, Resume, SetCap, Report and Close
// may be called from anywhere.
//
//	Connect   what is signed, which release is for us, its head, its listing      see trust.go, source_connect.go
//	List      the files of that listing
//	Fetch     Choose, then copies, the set patch, chunks and whole objects, until nothing is missing      see source_fetch.go
type Source struct {
	o      Options
	memory *installMemory
	small  *download.Pieces // what has come of small files
	trust  *trust.Client

	mirrors []download.Mirror // of the present connection, the server's and those of heads included
	opened  map[string]download.Mirror
	fetcher *download.Fetcher
	met     bool // a mirror has answered

	installed  installedRelease // what is installed
	old        release.Listing  // of that; nil is unknown
	head       release.Head     // what is to be installed
	listing    release.Listing  // of that
	deltaIndex *deltaIndex      // of head, once it was asked for
	begin      *beginning       // of the same, while it is looked at
	scratch    *scratchFile     // what a set patch made on the way to the listing; nil for nothing
	renewing   bool             // the program comes alone
	failures   map[failure]int  // over all attempts

	valve valve

	mu         sync.Mutex
	traffic    update.Traffic
	report     Report
	answers    int          // see Progress
	awaited    int          // see await
	sequel     *sequel      // what comes after the installed release, as one of the mirrors says
	prefetched memoryObject // the verified set patch that came with a sequel

	opening sync.Mutex // held while the spool is opened: several objects are fetched at once
	spool   *download.Spool
}

// memoryObject is an object in memory; the zero value carries nothing.
type memoryObject struct {
	sum  release.Digest
	data []byte
}

// failure is a means that did not work for a content.
type failure struct {
	content release.Digest
	means   Strategy
}

var (
	_ update.Source  = (*Source)(nil)
	_ update.Carrier = (*Source)(nil)
)

// NewSource prepares a Source. Nothing is read or connected to before Connect.
func NewSource(o Options) (*Source, error) {
	if len(o.Mirrors) == 0 && o.Server == nil {
		return nil, errors.New("release: no place to get it from is named")
	}
	if len(o.Root) == 0 {
		return nil, errors.New("release: there is no trusted root")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Channel = cmp.Or(o.Channel, DefaultChannel)
	o.Fetch.Log = o.Log
	o.Fetch.Calls = new(atomic.Int64)
	s := &Source{
		o: o, memory: &installMemory{fs: o.FS, folder: o.Folder, log: o.Log}, opened: map[string]download.Mirror{},
		small:    download.NewPieces(o.FS, o.Folder, o.Log),
		failures: map[failure]int{}, report: Report{Bytes: map[Strategy]int64{}},
	}
	s.o.Fetch.Count = s.countFetched
	s.valve.cap = o.Fetch.Cap
	return s, nil
}

// List implements update.Source.
func (s *Source) List(context.Context) ([]release.File, error) {
	if s.listing == nil {
		return nil, errUnlisted
	}
	if s.renewing {
		return s.hosts(), nil
	}
	return s.listing.Files(), nil
}

// errUnlisted says that a maintenance lets nothing through.
var errUnlisted = errors.New("no release is known of this server")

// Traffic implements update.Carrier.
func (s *Source) Traffic() update.Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.traffic
	t.Paused, t.Cap = s.valve.state()
	return t
}

// Report tells what was done so far.
func (s *Source) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report
	r.Bytes = map[Strategy]int64{}
	for m, n := range s.report.Bytes {
		r.Bytes[m] = n
	}
	return r
}

// Pause lets the line rest until Resume, also of connections that come later.
func (s *Source) Pause() { s.valve.pause(true) }

// Resume ends a Pause.
func (s *Source) Resume() { s.valve.pause(false) }

// SetCap changes how many bytes a second may come; 0 is no cap.
func (s *Source) SetCap(bytesPerSecond int64) { s.valve.setCap(bytesPerSecond) }

// Close implements update.Source.
func (s *Source) Close() error {
	s.setSequel(nil)
	s.valve.close()
	var err error
	if s.o.Server != nil {
		err = s.o.Server.Close()
	}
	return err
}

// Release lets go of what outlives connections: mirrors that heads named, and the spool. No other call follows.
func (s *Source) Release() error {
	err := s.Close()
	for _, mirror := range s.opened {
		if closer, is := mirror.(ClosableMirror); is {
			err = errors.Join(err, closer.Close())
		}
	}
	err = errors.Join(err, s.dropScratch(), s.small.Close())
	if spool := s.openedSpool(); spool != nil {
		err = errors.Join(err, spool.Close())
	}
	return err
}

// useMirrors makes a fetcher over mirrors, in place of the one before.
func (s *Source) useMirrors(mirrors []download.Mirror) error {
	mirrors = slices.Clone(mirrors)
	for _, address := range slices.Sorted(maps.Keys(s.opened)) {
		mirrors = append(mirrors, s.opened[address])
	}
	fetcher, err := download.NewFetcher(mirrors, s.o.Fetch)
	if err != nil {
		return err
	}
	s.mirrors, s.fetcher = mirrors, fetcher
	s.valve.set(fetcher)
	return nil
}

// openHeadMirrors adds the mirrors that the head names to the mirrors.
func (s *Source) openHeadMirrors() error {
	if s.o.OpenMirror == nil {
		return nil
	}
	mirrors, more := slices.Clone(s.mirrors), false
	for _, address := range s.head.Mirrors {
		known := slices.ContainsFunc(mirrors, func(w download.Mirror) bool {
			return strings.TrimSuffix(w.Name(), "/") == strings.TrimSuffix(address, "/")
		})
		if _, open := s.opened[address]; open || known {
			continue
		}
		mirror, err := s.o.OpenMirror(address)
		if err != nil {
			s.o.Log.Warn().Err(err).Str("mirror", address).Msg("a mirror of the release can't be used")
			continue
		}
		s.opened[address], more = mirror, true
	}
	if !more {
		return nil
	}
	return s.useMirrors(slices.DeleteFunc(mirrors, func(w download.Mirror) bool { return s.isOpened(w) }))
}

func (s *Source) isOpened(w download.Mirror) bool {
	for _, opened := range s.opened {
		if opened == w {
			return true
		}
	}
	return false
}

// countFetched counts bytes that came over the line.
func (s *Source) countFetched(n int) { s.updateReport(func(r *Report) { r.Fetched += int64(n) }) }

// openSpool opens the spool, once; a second caller waits for the first.
func (s *Source) openSpool() (*download.Spool, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.spool != nil {
		return s.spool, nil
	}
	spool, err := download.OpenSpool(s.o.FS, path.Join(s.o.Folder, spoolFolder), download.SpoolOptions{Log: s.o.Log})
	if err == nil {
		s.spool = spool
	}
	return spool, err
}

// leftSpool is the spool if there is one already, be it from an earlier process; else nil.
func (s *Source) leftSpool() *download.Spool {
	if spool := s.openedSpool(); spool != nil {
		return spool
	}
	if _, err := s.o.FS.Lstat(path.Join(s.o.Folder, spoolFolder)); err != nil {
		return nil
	}
	spool, err := s.openSpool()
	if err != nil {
		return nil // what needs it will say so
	}
	return spool
}

// openedSpool is the spool; nil if nothing needed it yet.
func (s *Source) openedSpool() *download.Spool {
	s.opening.Lock()
	defer s.opening.Unlock()
	return s.spool
}

// keepPrefetched keeps an object in memory, in place of the one before.
func (s *Source) keepPrefetched(sum release.Digest, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prefetched = memoryObject{sum, data}
}

// prefetchedBytes is the content of an object that keepPrefetched keeps; nil for another one.
func (s *Source) prefetchedBytes(sum release.Digest) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prefetched.sum != sum {
		return nil
	}
	return s.prefetched.data
}

// updateReport changes the report.
func (s *Source) updateReport(change func(r *Report)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.report)
}

// valve governs the fetcher that is in use, and remembers for the next one. It is safe for concurrent use.
type valve struct {
	mu      sync.Mutex
	fetcher *download.Fetcher
	paused  bool
	cap     int64
}

// set takes a new fetcher and closes the one before.
func (v *valve) set(f *download.Fetcher) {
	v.mu.Lock()
	before := v.fetcher
	v.fetcher = f
	if f != nil {
		f.SetCap(v.cap)
		if v.paused {
			f.Pause()
		}
	}
	v.mu.Unlock()
	if before != nil {
		before.Close()
	}
}

func (v *valve) close() { v.set(nil) }

func (v *valve) pause(paused bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.paused = paused
	switch {
	case v.fetcher == nil:
	case paused:
		v.fetcher.Pause()
	default:
		v.fetcher.Resume()
	}
}

func (v *valve) setCap(bytesPerSecond int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cap = max(bytesPerSecond, 0)
	if v.fetcher != nil {
		v.fetcher.SetCap(v.cap)
	}
}

func (v *valve) state() (paused bool, limit int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.paused, v.cap
}
