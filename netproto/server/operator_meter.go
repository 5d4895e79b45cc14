package server

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"collet/netproto/compat"
)

// compatMeter counts judgements, for Prometheus (compat reference, section 3.8). Labels are clamped to what the server knows, so
// that the number of series does not depend on what clients say.
type compatMeter struct {
	verdicts  *prometheus.CounterVec // verdict, rule, logic, target
	revision  prometheus.Gauge
	active    *prometheus.GaugeVec   // end
	exchanges *prometheus.CounterVec // result
	changes   *prometheus.CounterVec // source
}

// The results of an exchange of manifests.
const (
	exchangeReplied = "replied"      // the client told its own
	exchangeTimeout = "timeout"      // it was asked and said nothing in time
	exchangeLimited = "rate_limited" // its address had its share
)

func newCompatMeter() *compatMeter {
	m := &compatMeter{
		verdicts:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "compat_verdict_total", Help: "Judgements of clients."}, []string{"verdict", "rule", "logic", "target"}),
		revision:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "compat_settings_revision", Help: "Revision of the compatibility settings in force."}),
		active:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "compat_active_logic", Help: "Ends of the range of logic versions that may connect."}, []string{"end"}),
		exchanges: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "compat_manifest_exchange_total", Help: "Exchanges of component manifests."}, []string{"result"}),
		changes:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "compat_settings_applied_total", Help: "Times that settings came into force, the start included."}, nil),
	}
	for _, result := range []string{exchangeReplied, exchangeTimeout, exchangeLimited} {
		m.exchanges.WithLabelValues(result)
	}
	return m
}

// join shows the series in a registry.
func (m *compatMeter) join(r *prometheus.Registry) {
	r.MustRegister(m.verdicts, m.revision, m.active, m.exchanges, m.changes)
}

// judged counts a judgement.
func (m *compatMeter) judged(j compat.Judgement, g Group) {
	m.verdicts.WithLabelValues(j.Verdict.String(), strconv.Itoa(int(j.Rule)), g.Logic, g.Target).Inc()
}

// stands tells of settings that are in force from now on.
func (m *compatMeter) stands(s compat.Settings) {
	m.revision.Set(float64(s.Revision))
	m.active.WithLabelValues("min").Set(float64(s.ActiveMin))
	m.active.WithLabelValues("max").Set(float64(s.ActiveMax))
	m.changes.WithLabelValues().Inc()
}
