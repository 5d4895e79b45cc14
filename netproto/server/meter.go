package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"collet/netproto"
	"collet/netproto/compat"
)

// meter counts what a server does, for Prometheus. Every label's values are ours to choose: nothing that a peer sends
// becomes one, so the number of series is fixed.
type meter struct {
	registry  *prometheus.Registry
	accepted  prometheus.Counter
	paced     prometheus.Counter
	hidden    prometheus.Counter
	refusals  *prometheus.CounterVec // limit
	ends      *prometheus.CounterVec // cause
	greetings *prometheus.CounterVec // generation, verdict
	requests  *prometheus.CounterVec // generation
	bytes     *prometheus.CounterVec // generation
	reloads   *prometheus.CounterVec // result
	loaded    prometheus.Gauge
	files     prometheus.Gauge
	size      prometheus.Gauge
}

// newMeter registers everything in a registry of its own.
func newMeter(s *Server) *meter {
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
	m := &meter{
		registry:  r,
		accepted:  counter("collet_connections_accepted_total", "Connections that were given a seat."),
		paced:     counter("collet_connections_paced_total", "Connections that waited because of Limits.ConnectionsPerSecond."),
		hidden:    counter("collet_warnings_hidden_total", "Warnings that were not logged because their address had its share."),
		refusals:  vector("collet_connections_refused_total", "Connections that were refused, by the limit they were over.", "limit"),
		ends:      vector("collet_connections_ended_total", "Connections that ended, by cause.", "cause"),
		greetings: vector("collet_handshakes_total", "Handshakes that were answered.", "generation", "verdict"),
		requests:  vector("collet_requests_total", "Requests that were answered with bytes.", "generation"),
		bytes:     vector("collet_sent_bytes_total", "Bytes of files in answers.", "generation"),
		reloads:   vector("collet_reloads_total", "Attempts to offer what is on disk now.", "result"),
		loaded:    gauge("collet_catalogue_loaded_timestamp_seconds", "When the catalogue was built, in Unix time."),
		files:     gauge("collet_catalogue_files", "Files in the catalogue."),
		size:      gauge("collet_catalogue_bytes", "Sum of the sizes of the files in the catalogue."),
	}
	r.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "collet_connections", Help: "Connections that are served now."},
		func() float64 { return float64(s.Connections()) }))
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	return m
}

// begin makes the series whose rise an operator waits for appear at 0.
func (m *meter) begin() {
	for _, why := range refusals() {
		m.refusals.WithLabelValues(string(why))
	}
	for _, why := range ends() {
		m.ends.WithLabelValues(string(why))
	}
	m.reloads.WithLabelValues("ok")
	m.reloads.WithLabelValues("failed")
}

func (m *meter) refused(why cause) { m.refusals.WithLabelValues(string(why)).Inc() }

func (m *meter) ended(why cause) { m.ends.WithLabelValues(string(why)).Inc() }

func (m *meter) greeted(g netproto.Generation, v compat.Verdict) {
	m.greetings.WithLabelValues(g.String(), v.String()).Inc()
}

func (m *meter) sent(g netproto.Generation, n int) {
	m.requests.WithLabelValues(g.String()).Inc()
	m.bytes.WithLabelValues(g.String()).Add(float64(n))
}

func (m *meter) reloaded(err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.reloads.WithLabelValues(result).Inc()
}

// offers tells of a catalogue that is offered from now on.
func (m *meter) offers(c *Catalogue) {
	m.loaded.Set(float64(time.Now().Unix()))
	m.files.Set(float64(len(c.files)))
	m.size.Set(float64(c.Bytes()))
}
