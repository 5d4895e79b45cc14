// Package monitoring tries docs/monitoring with Prometheus itself: promtool checks and tests the alert rules, and every query of the dashboard
// is asked of a Prometheus that scrapes a real server. It has tests only.
package monitoring
