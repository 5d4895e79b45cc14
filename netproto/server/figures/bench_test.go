package figures_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"collet/netproto/server/figures"
)

// BenchmarkBeacon receives beacons, without the network.
func BenchmarkBeacon(b *testing.B) {
	o := options(b.TempDir())
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	o.Now = func() time.Time {
		at = at.Add(time.Second) // so that the rate is never exceeded
		return at
	}
	f, err := figures.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, started, nil)
	for b.Loop() {
		f.ServeHTTP(httptest.NewRecorder(), r)
	}
}
