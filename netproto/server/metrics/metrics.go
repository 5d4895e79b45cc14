// Package metrics has the Prometheus metrics of an update server, for its sessions and for its HTTP ports.
//
// All label values are constants of this program, or from the signed list of releases, which has a limit; never data of a peer. Series begin
// with the value 0, so that alerts on their rise work; verdicts by release begin with the first client.
package metrics

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"collet/netproto"
	"collet/netproto/compat"
	"collet/netproto/server/catalogue"
	"collet/netproto/server/limits"
	"collet/netproto/server/operator"
)

// Transport is the carrier of a connection's bytes: the value of a label.
type Transport string

// The transports. Everything but TLS and WebSocket counts as plain.
const (
	TCP             Transport = "tcp"
	TLS             Transport = "tls"
	WebSocket       Transport = "ws"
	SecureWebSocket Transport = "wss"
	HTTP            Transport = "http" // files of a release folder
	HTTPS           Transport = "https"
)

// The results of an exchange of manifests.
const (
	ExchangeReplied = "replied"      // the client sent its own
	ExchangeTimeout = "timeout"      // no answer of the client in time
	ExchangeLimited = "rate_limited" // the address was above its limit
)

// Metrics are the metrics of one server. It is safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	served    *prometheus.GaugeVec   // transport
	accepted  *prometheus.CounterVec // transport
	paced     prometheus.Counter
	hidden    prometheus.Counter
	refusals  *prometheus.CounterVec // limit, transport
	ends      *prometheus.CounterVec // cause
	greetings *prometheus.CounterVec // generation, verdict
	requests  *prometheus.CounterVec // generation, transport
	bytes     *prometheus.CounterVec // generation, transport
	web       *prometheus.CounterVec // status
	webBytes  prometheus.Counter
	reloads   *prometheus.CounterVec // result
	loaded    prometheus.Gauge
	files     prometheus.Gauge
	size      prometheus.Gauge
	exchanges *prometheus.CounterVec // result; registered only with an operator

	build     *prometheus.GaugeVec // version
	newest    *prometheus.GaugeVec // product, channel, target
	percent   *prometheus.GaugeVec // the same
	expires   *prometheus.GaugeVec // list
	refreshed prometheus.Gauge
	withheld  prometheus.Gauge
	releases  *releaseCounts
}

// New registers everything in a registry of its own.
func New(l *limits.Limiter) *Metrics {
	r := prometheus.NewRegistry()
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	vector := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		r.MustRegister(g)
		return g
	}
	labelled := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		r.MustRegister(g)
		return g
	}
	m := &Metrics{
		build:     labelled("collet_build_info", "1, with the version of this program.", "version"),
		newest:    labelled("collet_release_number", "Number of the newest release that is offered to some clients at least.", "product", "channel", "target"),
		percent:   labelled("collet_release_percent", "Percentage of the clients that are offered that release.", "product", "channel", "target"),
		expires:   labelled("collet_release_list_expires_timestamp_seconds", "When the signature of a list ends, in Unix time.", "list"),
		refreshed: gauge("collet_release_timestamp_written_timestamp_seconds", "When timestamp.json was written, in Unix time; 0 without a release folder."),
		withheld:  gauge("collet_release_withheld_targets", "Targets of the offered channel of which no release is for everybody."),
		releases:  newReleaseCounts(),
		registry:  r,
		served:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "collet_connections", Help: "Connections that are served now."}, []string{"transport"}),
		accepted:  vector("collet_connections_accepted_total", "Connections that were given a seat.", "transport"),
		paced:     counter("collet_connections_paced_total", "Connections that waited because of Limits.ConnectionsPerSecond."),
		hidden:    counter("collet_warnings_hidden_total", "Warnings that were not logged because their address had its share."),
		refusals:  vector("collet_connections_refused_total", "Connections that were refused, by the limit they were over.", "limit", "transport"),
		ends:      vector("collet_connections_ended_total", "Connections that ended, by cause.", "cause"),
		greetings: vector("collet_handshakes_total", "Handshakes that were answered.", "generation", "verdict"),
		requests:  vector("collet_requests_total", "Requests that were answered with bytes.", "generation", "transport"),
		bytes:     vector("collet_sent_bytes_total", "Bytes of files in answers.", "generation", "transport"),
		web:       vector("collet_http_requests_total", "Requests for files of the release folder that were answered over HTTP.", "status"),
		webBytes:  counter("collet_http_sent_bytes_total", "Bytes of bodies of these answers."),
		reloads:   vector("collet_reloads_total", "Attempts to offer what is on disk now.", "result"),
		loaded:    gauge("collet_catalogue_loaded_timestamp_seconds", "When the catalogue was built, in Unix time."),
		files:     gauge("collet_catalogue_files", "Files in the catalogue."),
		size:      gauge("collet_catalogue_bytes", "Sum of the sizes of the files in the catalogue."),
		exchanges: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "compat_manifest_exchange_total", Help: "Exchanges of component manifests."}, []string{"result"}),
	}
	for limit, waits := range map[string]*atomic.Uint64{"client": &l.ClientWaits, "total": &l.TotalWaits} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "collet_bandwidth_waits_total", Help: "Pieces of answers that waited because of a bandwidth, by its limit.",
			ConstLabels: prometheus.Labels{"limit": limit},
		}, func() float64 { return float64(waits.Load()) }))
	}
	r.MustRegister(m.releases, m.served, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.createSeries()
	return m
}

// createSeries creates the series with value 0.
func (m *Metrics) createSeries() {
	for _, by := range []Transport{TCP, TLS, WebSocket, SecureWebSocket, HTTP, HTTPS} {
		m.served.WithLabelValues(string(by))
		m.accepted.WithLabelValues(string(by))
		for _, why := range limits.Refusals() {
			m.refusals.WithLabelValues(string(why), string(by))
		}
	}
	for _, why := range limits.Ends() {
		m.ends.WithLabelValues(string(why))
	}
	for _, status := range []string{"200", "206", "304", "404", "405", "412", "416", "500", "503"} {
		m.web.WithLabelValues(status)
	}
	m.reloads.WithLabelValues("ok")
	m.reloads.WithLabelValues("failed")
	for _, result := range []string{ExchangeReplied, ExchangeTimeout, ExchangeLimited} {
		m.exchanges.WithLabelValues(result)
	}
}

// Handler answers GET with all metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// RegisterOperator adds the metrics of a server with an operator.
func (m *Metrics) RegisterOperator(o *operator.Operator) {
	m.registry.MustRegister(m.exchanges)
	o.Register(m.registry)
}

// Register adds other metrics.
func (m *Metrics) Register(c prometheus.Collector) { m.registry.MustRegister(c) }

// CountExchange counts an exchange of manifests by its result.
func (m *Metrics) CountExchange(result string) { m.exchanges.WithLabelValues(result).Inc() }

// CountConnection counts a connection that is served until the returned function is called.
func (m *Metrics) CountConnection(by Transport) (closed func()) {
	m.accepted.WithLabelValues(string(by)).Inc()
	served := m.served.WithLabelValues(string(by))
	served.Inc()
	return served.Dec
}

// CountRefusal counts a refused connection.
func (m *Metrics) CountRefusal(why limits.Cause, by Transport) {
	m.refusals.WithLabelValues(string(why), string(by)).Inc()
}

// CountEnd counts a connection that ended.
func (m *Metrics) CountEnd(why limits.Cause) { m.ends.WithLabelValues(string(why)).Inc() }

// CountHandshake counts an answered handshake.
func (m *Metrics) CountHandshake(g netproto.Generation, v compat.Verdict) {
	m.greetings.WithLabelValues(g.String(), v.String()).Inc()
}

// CountRequest counts a request that was answered with n bytes.
func (m *Metrics) CountRequest(g netproto.Generation, by Transport, n int) {
	m.requests.WithLabelValues(g.String(), string(by)).Inc()
	m.bytes.WithLabelValues(g.String(), string(by)).Add(float64(n))
}

// CountHTTPAnswer counts an answer over HTTP. The statuses are this server's own.
func (m *Metrics) CountHTTPAnswer(status int, sent int64) {
	m.web.WithLabelValues(strconv.Itoa(status)).Inc()
	m.webBytes.Add(float64(sent))
}

// CountPaced counts a connection that waited because connections arrived too fast.
func (m *Metrics) CountPaced() { m.paced.Inc() }

// CountHiddenWarning counts a warning that was not logged.
func (m *Metrics) CountHiddenWarning() { m.hidden.Inc() }

// CountReload counts an attempt to offer a new catalogue.
func (m *Metrics) CountReload(err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.reloads.WithLabelValues(result).Inc()
}

// SetCatalogue records a newly offered catalogue.
func (m *Metrics) SetCatalogue(c *catalogue.Catalogue) {
	m.loaded.Set(float64(time.Now().Unix()))
	m.files.Set(float64(c.Len()))
	m.size.Set(float64(c.Bytes()))
	m.setLists(c.Lists())
	m.withheld.Set(float64(len(c.Withheld())))
	m.releases.follow(c.Folder())
}

// setLists records the signed lists of a release folder. Releases that left the lists leave the metrics.
func (m *Metrics) setLists(l catalogue.Lists) {
	m.newest.Reset()
	m.percent.Reset()
	for _, e := range l.Newest {
		m.newest.WithLabelValues(e.Product, e.Channel, e.Target).Set(float64(e.Number))
		m.percent.WithLabelValues(e.Product, e.Channel, e.Target).Set(float64(e.Percent))
	}
	for role, at := range l.Expires {
		m.expires.WithLabelValues(string(role)).Set(float64(at.Unix()))
	}
	m.refreshed.Set(0)
	if !l.Refreshed.IsZero() {
		m.refreshed.Set(float64(l.Refreshed.Unix()))
	}
}

// SetVersion records the version of the program.
func (m *Metrics) SetVersion(version string) { m.build.WithLabelValues(version).Set(1) }
