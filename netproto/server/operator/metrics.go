package operator

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"collet/netproto/compat"
)

// metrics count judgements, for Prometheus. Labels have only values that the server knows, so clients can't increase the number
// of series.
type metrics struct {
	operator atomic.Pointer[Operator] // that is measured
	verdicts *prometheus.CounterVec   // verdict, rule, logic, target
	revision prometheus.Gauge
	active   *prometheus.GaugeVec   // end
	changes  *prometheus.CounterVec // source
}

func newMetrics() *metrics {
	m := &metrics{
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "compat_verdict_total", Help: "Judgements of clients."}, []string{"verdict", "rule", "logic", "target"}),
		revision: prometheus.NewGauge(prometheus.GaugeOpts{Name: "compat_settings_revision", Help: "Revision of the compatibility settings in force."}),
		active:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "compat_active_logic", Help: "Ends of the range of logic versions that may connect."}, []string{"end"}),
		changes:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "compat_settings_applied_total", Help: "Times that settings came into force, the start included."}, nil),
	}
	return m
}

// Register adds the operator's metrics to a registry.
func (o *Operator) Register(r *prometheus.Registry) {
	m := o.metrics
	writable := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "compat_store_writable", Help: "1 if the compatibility settings can be changed; 0 in a cluster without a majority."}, func() float64 {
		if o := m.operator.Load(); o.Closed() || o.store.Writable() != nil {
			return 0
		}
		return 1
	})
	r.MustRegister(m.verdicts, m.revision, m.active, m.changes, writable, newGamesCollector(o))
}

// countVerdict counts a judgement.
func (m *metrics) countVerdict(j compat.Judgement, g Group) {
	m.verdicts.WithLabelValues(j.Verdict.String(), strconv.Itoa(int(j.Rule)), g.Logic, g.Target).Inc()
}

// recordSettings records new settings in force.
func (m *metrics) recordSettings(s compat.Settings) {
	m.revision.Set(float64(s.Revision))
	m.active.WithLabelValues("min").Set(float64(s.ActiveMin))
	m.active.WithLabelValues("max").Set(float64(s.ActiveMax))
	m.changes.WithLabelValues().Inc()
}
