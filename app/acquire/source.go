package acquire

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"collet/app/download"
	"collet/app/update"
	"collet/netproto/compat"
	"collet/netproto/delta"
	"collet/netproto/release"
	"collet/netproto/solid"
	"collet/platform"
)

// Disk is the part of an install that a Source needs beside the Destination: its current files. install.Dir implements it. The Updater's
// worker calls it, never concurrently with a method of the Destination that the Updater itself calls.
type Disk interface {
	// OpenExact opens a file of the install that has exactly this file's content; if not found, errors.Is with fs.ErrNotExist holds.
	OpenExact(ctx context.Context, f release.File) (delta.SetFile, error)
	// OpenVersions opens all files under this file's name: the live one, partial ones, backups. They are unverified. visit gets each file
	// with its size and closes it.
	OpenVersions(f release.File, visit func(file delta.SetFile, size int64))
	// Manages reports whether the file belongs to this install, there or not.
	Manages(f release.File) bool
	// Has reports whether the install has a file of this name, whatever its content.
	Has(f release.File) bool
	// Identity is the identity of an offer's set once it is live.
	Identity(offer []release.File) release.Digest
	// Glance examines in advance the files that the next Plan will probably need, to save time. It runs concurrently with work of
	// the Source that does not use the Disk.
	Glance(offer []release.File)
	// Bare reports whether no module is installed.
	Bare() bool
	// MayInstall reports whether a set may be installed. A set that was rolled back here may not.
	MayInstall(set release.Digest) bool
	// Set is the identity of the live set, zero if unknown, and its number of files.
	Set() (identity release.Digest, files int, err error)
}

// Server is the updater connection, beside the mirrors.
type Server interface {
	// Connect dials and does the handshake. It closes an earlier connection first. It calls answered when the server has given its verdict,
	// which may be some time before it returns it; a connection that is lost meanwhile is no error. mirror is nil if the server has no
	// release folder.
	Connect(ctx context.Context, answered func()) (judgement compat.Judgement, mirror download.Mirror, err error)
	// Close ends the connection and the requests of its mirror. It may be called more than once.
	Close() error
}

// Options configure a Source.
type Options struct {
	Mirrors    []download.Mirror                             // configured mirrors, best first; the caller closes them
	OpenMirror func(address string) (download.Mirror, error) // opens a mirror that a head names; nil ignores them. The result is a ClosableMirror or needs no closing
	Server     Server                                        // nil: no updater connection
	// Judge judges this client by the signed rules of the release folder, as the server would. It is called when the server does not answer,
	// or Server is nil. With a nil Judge the rules are not used.
	Judge func(rules []byte) (compat.Judgement, error)
	// Patience is how long the caller waits for one answer before it plays without any. It shortens the time of a silent server; 0 does not.
	Patience time.Duration

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

	// Reserve announces buffers of so many bytes to the owner of the garbage collector; the result is called when they are no longer
	// used. Nil announces nothing.
	Reserve func(bytes int64) (release func())
	Window  int64 // bytes of a group of the solid form that are held in memory; 0 is solid.Window

	Fetch download.FetchOptions // its Log is replaced by Log
	Link  Link                  // assumed link; zero fields are measured
	Rates Rates                 // assumed rates of this machine; the zero value: they are measured
	Now   func() time.Time      // the wall clock, for the expiry of signatures; nil is time.Now
	Log   zerolog.Logger
}

// Source is an update.Source for signed releases: it fetches files that the game's keys signed, from any mirror, by the cheapest
// strategies. NewSource makes one. One Updater uses it at a time; Traffic, Pause, Resume, SetCap, Report, Progress and Close may be
// called from any goroutine.
//
//	Connect   refreshes the signed metadata, selects the release, fetches its head and listing      see connect.go
//	List      the files of that listing
//	Fetch     Choose, then copies, the set patch, chunks and whole objects, until nothing is missing      see execute.go
type Source struct {
	resources
	connected connected // the result of the last Connect
}

// resources are what the calls of a Source share. Each part has its own state, which outlives a call.
type resources struct {
	o          Options
	progress   *progress
	mirrors    *mirrorPool
	objects    *objectStore
	remembered *rememberedSets
	lists      *trustedLists
	index      *deltaIndexReader
	failures   failures     // over all attempts
	rates      Rates        // zero until they are known
	scratch    *scratchFile // contents that a set patch made while the listing was computed; nil if none
}

// dropScratch removes the scratch file.
func (r *resources) dropScratch() error {
	err := r.scratch.drop()
	r.scratch = nil
	return err
}

// failures counts the failures of strategies by content. It is for one goroutine.
type failures map[failure]int

// failure is a strategy that failed for a content, or for an object that serves several contents.
type failure struct {
	content  release.Digest
	strategy Strategy
}

// record counts n failures.
func (f failures) record(content release.Digest, by Strategy, n int) { f[failure{content, by}] += n }

// count is the number of failures.
func (f failures) count(content release.Digest, by Strategy) int { return f[failure{content, by}] }

// may reports whether a strategy may still be tried.
func (f failures) may(content release.Digest, by Strategy) bool {
	return f.count(content, by) < maxFailures
}

// forget makes that failures of a strategy no longer count.
func (f failures) forget(content release.Digest, by Strategy) { delete(f, failure{content, by}) }

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
	if o.Reserve == nil {
		o.Reserve = func(int64) func() { return func() {} }
	}
	o.Window = cmp.Or(o.Window, solid.Window)
	o.Channel = cmp.Or(o.Channel, DefaultChannel)
	o.Fetch.Log = o.Log
	o.Fetch.Calls = new(atomic.Int64)
	p := &progress{report: Report{Bytes: map[Strategy]int64{}}}
	o.Fetch.Count = p.countFetched
	r := resources{
		o: o, progress: p, mirrors: newMirrorPool(o), remembered: &rememberedSets{fs: o.FS, folder: o.Folder, log: o.Log}, failures: failures{},
		rates: o.Rates,
	}
	r.objects = &objectStore{fs: o.FS, folder: o.Folder, log: o.Log, mirrors: r.mirrors, small: download.NewPieces(o.FS, o.Folder, o.Log)}
	r.lists = &trustedLists{o: o, remembered: r.remembered, mirrors: r.mirrors, objects: r.objects, onVerified: p.answered}
	r.index = &deltaIndexReader{objects: r.objects, failures: r.failures, log: o.Log}
	return &Source{resources: r}, nil
}

// List implements update.Source.
func (s *Source) List(context.Context) ([]release.File, error) {
	if s.connected.listing == nil {
		return nil, errUnlisted
	}
	return s.connected.files(s.o.Disk), nil
}

// errUnlisted says that no listing is known, as during a maintenance.
var errUnlisted = errors.New("no release is known of this server")

// Traffic implements update.Carrier.
func (s *Source) Traffic() update.Traffic {
	t, _, _ := s.progress.state()
	t.Paused, t.Cap = s.mirrors.limits()
	return t
}

// Blocked reports whether the last Connect kept the installed release because the offered one was rolled back here.
func (s *Source) Blocked() bool { return s.connected.blocked }

// Report returns the results so far.
func (s *Source) Report() Report {
	_, r, _ := s.progress.state()
	return r
}

// Progress returns the progress so far. It may be called at any time, from any goroutine.
func (s *Source) Progress() Progress {
	_, _, p := s.progress.state()
	p.Waiting = p.Waiting || s.o.Fetch.Calls.Load() > 0
	return p
}

// Pause stops all traffic until Resume, also of later connections.
func (s *Source) Pause() { s.mirrors.setPaused(true) }

// Resume ends a Pause.
func (s *Source) Resume() { s.mirrors.setPaused(false) }

// SetCap changes the rate limit in bytes a second; 0 is unlimited.
func (s *Source) SetCap(bytesPerSecond int64) { s.mirrors.setCap(bytesPerSecond) }

// Close implements update.Source.
func (s *Source) Close() error {
	s.objects.setSequel(nil)
	s.mirrors.endCalls()
	var err error
	if s.o.Server != nil {
		err = s.o.Server.Close()
	}
	return err
}

// Release closes the Source with all that outlives connections: mirrors of heads, and the spool. It must be the last call.
func (s *Source) Release() error {
	return errors.Join(s.Close(), s.mirrors.close(), s.dropScratch(), s.objects.close())
}
