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

// Disk is the part of an install that a Source needs beside the Stage: its current files. install.Dir implements it. The Updater's
// worker calls it, never concurrently with a method of the Stage that the Updater itself calls.
type Disk interface {
	// Old opens a file of the install that has exactly this file's content; if not found, errors.Is with fs.ErrNotExist holds.
	Old(ctx context.Context, f release.File) (delta.SetFile, error)
	// Here opens all files under this file's name: the live one, partial ones, backups. They are unverified. visit gets each file
	// with its size and closes it.
	Here(f release.File, visit func(file delta.SetFile, size int64))
	// Concerns reports whether the file belongs to this install.
	Concerns(f release.File) bool
	// Identity is the identity of an offer's set once it is live.
	Identity(offer []release.File) release.Digest
	// Glance examines in advance the files that the next Plan will probably need, to save time. It runs concurrently with work of
	// the Source that does not use the Disk.
	Glance(offer []release.File)
	// Bare reports whether no module is installed.
	Bare() bool
	// Set is the identity of the live set, zero if unknown, and its number of files.
	Set() (identity release.Digest, files int, err error)
}

// Server is the updater connection, beside the mirrors.
type Server interface {
	// Connect dials and does the handshake. It closes an earlier connection first. mirror is nil if the server has no release
	// folder.
	Connect(ctx context.Context) (judgement compat.Judgement, mirror download.Mirror, err error)
	// Close ends the connection and the requests of its mirror. It may be called more than once.
	Close() error
}

// Options configure a Source.
type Options struct {
	Mirrors    []download.Mirror                             // configured mirrors, best first; the caller closes them
	OpenMirror func(address string) (download.Mirror, error) // opens a mirror that a head names; nil ignores them. The result is a ClosableMirror or needs no closing
	Server     Server                                        // nil: no updater connection

	FS     platform.FS // the install's
	Folder string      // for all files that are kept between starts, relative to FS, slash-separated
	Disk   Disk

	Root                     []byte // the trusted root
	Product, Channel, Target string // an empty product is the only one of the list; an empty channel is DefaultChannel
	HostABI                  uint32 // of this program
	HostBuild                uint64
	// Renew reports whether the install updates the program itself from a release, if the release or the server needs a newer one;
	// nil is never.
	Renew func() bool

	Language string            // of release notes
	Notes    func(text string) // gets the notes of the release that is fetched, on a goroutine of Fetch; may be nil

	Fetch download.FetchOptions // its Log is replaced by Log
	Link  Link                  // assumed link; zero fields are measured
	Now   func() time.Time      // the wall clock, for the expiry of signatures; nil is time.Now
	Log   zerolog.Logger
}

// ClosableMirror is a Mirror that holds connections.
type ClosableMirror interface {
	download.Mirror
	// Close closes them.
	Close() error
}

// Report is the result of a Source, for logs and users.
type Report struct {
	Release release.Head       // the release that the signed list offers; zero if it offers none or was not reached
	From    uint64             // number of the release that was installed; 0 is unknown
	Stale   trust.Staleness    // why Release may not be current
	Bytes   map[Strategy]int64 // bytes of contents by strategy
	Fetched int64              // bytes received in all, lists included
}

// Progress is the progress of a Source before it fetches contents.
type Progress struct {
	Answers int   // verified documents, and verdicts of the server
	Bytes   int64 // received in all, verified or not
	Waiting bool  // it waits for a peer, not for this machine
}

// Progress returns the progress so far. It may be called at any time, from any goroutine.
func (s *Source) Progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Progress{Answers: s.answers, Bytes: s.report.Fetched, Waiting: s.awaited > 0 || s.o.Fetch.Calls.Load() > 0}
}

// answered counts a complete and verified answer.
func (s *Source) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers++
}

// await marks that the Source waits for a peer, until over is called.
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

// Saved is the size of the contents minus the bytes received; at least 0.
func (r Report) Saved() int64 {
	sum := -r.Fetched
	for _, n := range r.Bytes {
		sum += n
	}
	return max(sum, 0)
}

// Source is an update.Source for signed releases: it fetches files that the game's keys signed, from any mirror, by the cheapest
// strategies. NewSource makes one. One Updater uses it at a time; Traffic, Pause, Resume, SetCap, Report, Progress and Close may be
// called from any goroutine.
//
//	Connect   refreshes the signed metadata, selects the release, fetches its head and listing      see trust.go, source_connect.go
//	List      the files of that listing
//	Fetch     Choose, then copies, the set patch, chunks and whole objects, until nothing is missing      see source_fetch.go
type Source struct {
	o      Options
	memory *installMemory
	small  *download.Pieces // received pieces of small files
	trust  *trust.Client

	mirrors []download.Mirror // of the current connection, including the server's and those of heads
	opened  map[string]download.Mirror
	fetcher *download.Fetcher
	met     bool // a mirror has answered

	installed  installedRelease // the installed release
	old        release.Listing  // of the installed release; nil is unknown
	head       release.Head     // of the release to install
	listing    release.Listing  // of the release to install
	deltaIndex *deltaIndex      // of head, once it was fetched
	begin      *beginning       // of the delta index, while it is examined
	scratch    *scratchFile     // contents that a set patch made while the listing was computed; nil if none
	renewing   bool             // only this program is offered
	failures   map[failure]int  // over all attempts

	valve valve

	mu         sync.Mutex
	traffic    update.Traffic
	report     Report
	answers    int          // see Progress
	awaited    int          // see await
	sequel     *sequel      // the sequel to the installed release, from one of the mirrors
	prefetched memoryObject // the verified set patch that came with a sequel

	opening sync.Mutex // held while the spool is opened: several objects are fetched at once
	spool   *download.Spool
}

// memoryObject is an object in memory; the zero value is none.
type memoryObject struct {
	sum  release.Digest
	data []byte
}

// failure is a strategy that failed for a content.
type failure struct {
	content release.Digest
	means   Strategy
}

var (
	_ update.Source  = (*Source)(nil)
	_ update.Carrier = (*Source)(nil)
)

// NewSource prepares a Source. It reads no file and opens no connection before Connect.
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

// errUnlisted says that no listing is known, as during a maintenance.
var errUnlisted = errors.New("no release is known of this server")

// Traffic implements update.Carrier.
func (s *Source) Traffic() update.Traffic {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.traffic
	t.Paused, t.Cap = s.valve.state()
	return t
}

// Report returns the results so far.
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

// Pause stops all traffic until Resume, also of later connections.
func (s *Source) Pause() { s.valve.pause(true) }

// Resume ends a Pause.
func (s *Source) Resume() { s.valve.pause(false) }

// SetCap changes the rate limit in bytes a second; 0 is unlimited.
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

// Release closes the Source with all that outlives connections: mirrors of heads, and the spool. It must be the last call.
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

// useMirrors makes a fetcher for mirrors and the opened mirrors of heads, in place of the one before.
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

// openHeadMirrors opens the head's mirrors and adds them to the others.
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

// countFetched counts received bytes.
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

// leftSpool is the spool if it exists already, perhaps from an earlier process; else nil.
func (s *Source) leftSpool() *download.Spool {
	if spool := s.openedSpool(); spool != nil {
		return spool
	}
	if _, err := s.o.FS.Lstat(path.Join(s.o.Folder, spoolFolder)); err != nil {
		return nil
	}
	spool, err := s.openSpool()
	if err != nil {
		return nil // the first caller that needs it reports the error
	}
	return spool
}

// openedSpool is the spool; nil if it was not opened yet.
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

// prefetchedBytes is the content of the object that keepPrefetched keeps; nil for another one.
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

// valve applies pause and rate limit to the current fetcher and to later ones. It is safe for concurrent use.
type valve struct {
	mu      sync.Mutex
	fetcher *download.Fetcher
	paused  bool
	cap     int64
}

// set sets a new fetcher and closes the one before.
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
