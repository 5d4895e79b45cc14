// Package figures receives beacons at a server, and keeps what they tell (package adoption) in a folder.
//
//	GET /beacon?1,…   204 counted or above its share, 400 no beacon, 429 above the rate of all, 404 without a folder
//
// Counts are in memory for at most WriteTime; then the buckets of the hour and the day that run are written, each a file of JSON that an
// operator can read. A crash loses the counts of that time. Files are replaced as a whole, so a power cut leaves the old or the new
// one. A damaged file is left out with a warning, and never stops a server. No file has an address, nor a hash of one: see package adoption.
package figures

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"collet/netproto/adoption"
	"collet/netproto/beacon"
	"collet/platform"
)

const (
	// Path is where beacons are received.
	Path = "/beacon"
	// WriteTime is how long counts are in memory only.
	WriteTime = 10 * time.Second
	// maxRate and maxBurst are how many beacons a second are received from all addresses: a million players that start within ten minutes send
	// 1,700 a second. Without the network a core takes some 30,000 (BenchmarkBeacon).
	maxRate, maxBurst = 2000, 4000

	hourForm = "hour-2006-01-02T15.json"
	dayForm  = "day-2006-01-02.json"
)

// Owns reports whether a path is that of beacons.
func Owns(path string) bool { return path == Path }

// Options say what figures are kept of.
type Options struct {
	Folder string // is made if it is missing; its parent must be there
	Name   adoption.Name
	Remote func(*http.Request) netip.Addr // the address of a request; an invalid one is unknown, or stands for many players
	Sizes  func() map[adoption.Has]int64  // of whole releases in bytes; nil: unknown
	Now    func() time.Time
	Log    zerolog.Logger
}

// Figures are the figures of one server. It is safe for concurrent use.
type Figures struct {
	o    Options
	rate *rate.Limiter

	mu      sync.Mutex
	counter *adoption.Counter
	counts  map[counted]uint64
	refused map[string]uint64 // by reason

	files sync.Mutex // writing and reading of the folder
}

// counted is a series of beacons.
type counted struct {
	kind    beacon.Kind
	outcome string
}

// Why beacons are not counted: values of a label.
const (
	refusedMalformed = "malformed"
	refusedRate      = "rate"
	refusedShare     = "share"
)

// Open opens the folder, and continues the buckets of this hour and this day.
func Open(o Options) (*Figures, error) {
	f := &Figures{
		o: o, rate: rate.NewLimiter(maxRate, maxBurst), counter: adoption.NewCounter(o.Name),
		counts: map[counted]uint64{}, refused: map[string]uint64{refusedMalformed: 0, refusedRate: 0, refusedShare: 0},
	}
	for _, kind := range []beacon.Kind{beacon.Update, beacon.First, beacon.Start} {
		for _, outcome := range beacon.Outcomes(kind) {
			f.counts[counted{kind, outcome}] = 0
		}
	}
	if err := os.MkdirAll(o.Folder, 0o750); err != nil {
		return nil, fmt.Errorf("folder of figures %q: %w; set Operations.Figures to a folder that the server may write", o.Folder, platform.Reason(err))
	}
	hour, _ := f.read(o.Now().UTC().Truncate(time.Hour).Format(hourForm))
	today, err := f.read(o.Now().UTC().Format(dayForm))
	if err != nil {
		return nil, err
	}
	f.counter.Resume(hour, today)
	return f, nil
}

// ServeHTTP implements http.Handler.
func (f *Figures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "only GET is answered here", http.StatusMethodNotAllowed)
		return
	}
	b, err := beacon.Parse(r.URL.RawQuery)
	if err != nil {
		f.refuse(refusedMalformed)
		http.Error(w, "the query "+err.Error(), http.StatusBadRequest)
		return
	}
	if !f.rate.AllowN(f.o.Now(), 1) {
		f.refuse(refusedRate)
		http.Error(w, "too many beacons", http.StatusTooManyRequests)
		return
	}
	f.take(f.o.Remote(r), b)
	w.WriteHeader(http.StatusNoContent)
}

// refuse counts a beacon that is not counted otherwise.
func (f *Figures) refuse(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused[why]++
}

// take counts a beacon.
func (f *Figures) take(from netip.Addr, b beacon.Beacon) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.counter.Add(f.o.Now(), from, b) {
		f.refused[refusedShare]++
		return
	}
	f.counts[counted{b.Kind, b.Outcome}]++
}

// Run writes the counts every WriteTime until ctx ends, and then once more.
func (f *Figures) Run(ctx context.Context) {
	tick := time.NewTicker(WriteTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.write()
		case <-ctx.Done():
			f.write()
			return
		}
	}
}

// write writes the changed buckets, and removes files that have been kept for long enough.
func (f *Figures) write() {
	f.files.Lock()
	defer f.files.Unlock()
	now := f.o.Now()
	f.mu.Lock()
	hours, days := f.counter.TakeChanged(now)
	f.mu.Unlock()
	if len(hours)+len(days) == 0 {
		return
	}
	if err := f.store(now, hours, days); err != nil {
		f.mu.Lock()
		f.counter.Retry(now)
		f.mu.Unlock()
		f.o.Log.Warn().Err(err).Str("folder", f.o.Folder).Msg("Figures of beacons can't be written; the server tries again in 10 s, and what it can't write when the hour ends is lost")
	}
}

// store writes buckets.
func (f *Figures) store(now time.Time, hours, days []adoption.Bucket) error {
	dir, err := platform.OpenDir(f.o.Folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	for form, buckets := range map[string][]adoption.Bucket{hourForm: hours, dayForm: days} {
		for _, b := range buckets {
			data, err := b.Encode()
			if err == nil {
				err = platform.WriteFile(dir, b.Begin.UTC().Format(form), data)
			}
			if err != nil {
				return err
			}
		}
	}
	return f.expire(dir, now)
}

// expire removes old files.
func (f *Figures) expire(dir platform.FS, now time.Time) error {
	entries, err := dir.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		hour, noHour := time.Parse(hourForm, e.Name())
		day, noDay := time.Parse(dayForm, e.Name())
		if noHour == nil && now.Sub(hour) > (adoption.KeepHours+1)*time.Hour || noDay == nil && now.Sub(day) > (adoption.KeepDays+1)*24*time.Hour {
			if err := dir.Remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads the bucket of a file. Of a missing or damaged one it is empty; the error is that of the folder.
func (f *Figures) read(name string) (b adoption.Bucket, err error) {
	dir, err := platform.OpenDir(f.o.Folder)
	if err != nil {
		return b, err
	}
	defer dir.Close()
	data, err := platform.ReadFile(dir, name, adoption.MaxBucket)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		b, err = adoption.ParseBucket(data)
	}
	if err == nil && b.Begin.UTC().Format(formOf(name)) != name {
		err = errors.New("has the counts of another time")
	}
	if err != nil {
		f.o.Log.Warn().Err(err).Str("file", name).Msg("A file of figures can't be read; its counts are left out")
		return adoption.Bucket{}, nil
	}
	return b, nil
}

// formOf is the form of a file's name.
func formOf(name string) string {
	if strings.HasPrefix(name, "day") {
		return dayForm
	}
	return hourForm
}

// Buckets are the buckets of a window, with what was counted up to now.
func (f *Figures) Buckets(w adoption.Window) (all []adoption.Bucket, err error) {
	f.write() // so that nothing is both in memory and missing on the disk
	f.files.Lock()
	defer f.files.Unlock()
	form := hourForm
	if w == adoption.Month {
		form = dayForm
	}
	for _, begin := range w.Begins(f.o.Now()) {
		b, err := f.read(begin.Format(form))
		if err != nil {
			return nil, err
		}
		if b.Rows != nil {
			all = append(all, b)
		}
	}
	return all, nil
}

// Adoption is the report of a window. It implements operator.Figures.
func (f *Figures) Adoption(w adoption.Window) (adoption.Report, error) {
	buckets, err := f.Buckets(w)
	if err != nil {
		return adoption.Report{}, err
	}
	var sizes map[adoption.Has]int64
	if f.o.Sizes != nil {
		sizes = f.o.Sizes()
	}
	return adoption.Summarize(w, f.o.Now(), buckets, sizes), nil
}

// Describe implements prometheus.Collector.
func (f *Figures) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(f, to) }

// Collect implements prometheus.Collector.
func (f *Figures) Collect(to chan<- prometheus.Metric) {
	beacons := prometheus.NewDesc("collet_beacons_total", "Counted beacons of clients.", []string{"kind", "outcome"}, nil)
	refused := prometheus.NewDesc("collet_beacons_refused_total", "Beacons that were not counted.", []string{"reason"}, nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	for c, n := range f.counts {
		to <- prometheus.MustNewConstMetric(beacons, prometheus.CounterValue, float64(n), string(c.kind), c.outcome)
	}
	for why, n := range f.refused {
		to <- prometheus.MustNewConstMetric(refused, prometheus.CounterValue, float64(n), why)
	}
}
