package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"collet/netproto/compat"
	"collet/netproto/release"
	"collet/netproto/server/catalogue"
)

// maxReleaseSeries is how many series by release there are: 16 releases of 5 targets in 3 channels with 8 results are 1920. Others count
// as catalogue.HasUnknown without a target.
const maxReleaseSeries = 2000

// resultCheck is the result of a client that looked for an update over HTTP or by name, which is no verdict.
const resultCheck = "check"

// releaseSeries is one series: what the client had, and what came of it: a verdict, or resultCheck.
type releaseSeries struct {
	catalogue.Having
	result string
}

// releaseCounts counts clients by the release that they have. Releases that left the signed list, or are no longer among the newest, leave
// the metrics, too. It is safe for concurrent use.
type releaseCounts struct {
	checks, verdicts *prometheus.Desc

	mu     sync.Mutex
	counts map[releaseSeries]uint64
}

// newReleaseCounts returns counts without series.
func newReleaseCounts() *releaseCounts {
	labels := []string{"product", "channel", "target", "release"}
	return &releaseCounts{
		counts:   map[releaseSeries]uint64{},
		checks:   prometheus.NewDesc("collet_release_checks_total", "Times that a client looked for an update to the release that it has.", labels, nil),
		verdicts: prometheus.NewDesc("collet_release_verdicts_total", "Answered handshakes, by the release that the client has.", append(labels, "verdict"), nil),
	}
}

// Describe implements prometheus.Collector.
func (c *releaseCounts) Describe(to chan<- *prometheus.Desc) {
	to <- c.checks
	to <- c.verdicts
}

// Collect implements prometheus.Collector.
func (c *releaseCounts) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s, n := range c.counts {
		labels, desc := []string{s.Product, s.Channel, s.Target, s.Release}, c.checks
		if s.result != resultCheck {
			labels, desc = append(labels, s.result), c.verdicts
		}
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
	}
}

// add counts one client.
func (c *releaseCounts) add(s releaseSeries) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.counts[s]; !there && len(c.counts) >= maxReleaseSeries {
		s.Having = catalogue.Having{Release: catalogue.HasUnknown} // at most one series for each result more
	}
	c.counts[s]++
}

// follow begins the series of checks of a folder, and ends those of releases that it no longer names. folder may be nil.
func (c *releaseCounts) follow(folder *catalogue.Folder) {
	named := map[catalogue.Having]bool{}
	if folder != nil {
		named = folder.Havings()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.counts {
		if !named[s.Having] && s.Release != catalogue.HasUnknown && s.Release != catalogue.HasSeveral {
			delete(c.counts, s)
		}
	}
	for has := range named {
		s := releaseSeries{has, resultCheck}
		if _, there := c.counts[s]; !there && len(c.counts) < maxReleaseSeries {
			c.counts[s] = 0
		}
	}
}

// CountCheck counts a client that asks for a file of the release folder by which it looks for an update to its release. Other files are
// not counted.
func (m *Metrics) CountCheck(folder *catalogue.Folder, name string) {
	if has, is := folder.Asks(name); is {
		m.releases.add(releaseSeries{has, resultCheck})
	}
}

// CountVerdict counts a judged client by the release that it has. folder may be nil: then nothing is known of releases.
func (m *Metrics) CountVerdict(folder *catalogue.Folder, h compat.Hello, v compat.Verdict) {
	if folder != nil {
		m.releases.add(releaseSeries{folder.Has(h), v.String()})
	}
}

// Clients is what came of the clients that had one release, since the server was started.
type Clients struct {
	Checks   uint64            // times that one looked for an update
	Verdicts map[string]uint64 // answered handshakes
}

// ClientsOf are the clients that had a release. Of one that is not counted apart they are none.
func (m *Metrics) ClientsOf(e release.Entry) Clients {
	all, has := Clients{Verdicts: map[string]uint64{}}, catalogue.HavingOf(e)
	m.releases.mu.Lock()
	defer m.releases.mu.Unlock()
	for s, n := range m.releases.counts {
		switch {
		case s.Having != has:
		case s.result == resultCheck:
			all.Checks = n
		default:
			all.Verdicts[s.result] = n
		}
	}
	return all
}
