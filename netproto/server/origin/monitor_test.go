package origin_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"collet/netproto"
	"collet/netproto/server"
	"collet/netproto/server/config"
	"collet/netproto/server/origin"
	"collet/netproto/server/servertest"
	"collet/platform/testlevel"
)

// healthConnections is how many connections an HTTP port serves at once beside those for files.
const healthConnections = 32

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	var m origin.Monitor
	expect := func(state, path string, code int, text string) {
		t.Helper()
		if got, body := servertest.AskMonitor(&m, http.MethodGet, path); got != code || !strings.Contains(body, text) {
			t.Errorf("%s: %s gives %d %q, want %d %q", state, path, got, body, code, text)
		}
	}
	expect("no server", "/healthz", 200, "ok")
	expect("no server", "/readyz", 503, "starting")
	expect("no server", "/metrics", 503, "starting")
	h := servertest.Open(t, servertest.Settings(t))
	m.Watch(h.Server)
	expect("not serving", "/readyz", 503, "no new connections")
	listener, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.ServeOn(t, listener)
	p := h.Dial(t, netproto.C1)
	p.Greet(servertest.Handshake(netproto.C1))
	expect("serving", "/readyz", 200, "ready: 8 files for compatibility version compat-A\n")
	expect("serving", "/", 404, "This is an update server: games fetch their updates from here, and there is no page to look at.\nWho runs it: ask for /healthz or /readyz;")
	expect("serving", "/nothing", 404, "ask for /healthz or /readyz;")
	if code, _ := servertest.AskMonitor(&m, http.MethodPost, "/readyz"); code != http.StatusMethodNotAllowed {
		t.Errorf("POST gives %d", code)
	}
	h.Stop()
	p.ReadToEnd()
	p.Raw.Close()
	<-h.Done
	expect("stopped", "/readyz", 503, "stopping")
	expect("stopped", "/healthz", 200, "ok")
}

// TestMetricsCount does everything once and looks at what was counted.
func TestMetricsCount(t *testing.T) {
	t.Parallel()
	set := servertest.Settings(t)
	set.Limits.Connections = 2
	h := servertest.Start(t, set)
	var m origin.Monitor
	m.Watch(h.Server)
	taking := h.Dial(t, netproto.C1)
	_, files := taking.Greet(servertest.Handshake(netproto.C1))
	taking.Fetch(files[1])
	wrong := h.Dial(t, netproto.G1)
	wrong.Greet(servertest.Handshake(netproto.G1))
	refused := h.Dial(t, netproto.C1)
	refused.Send(servertest.Handshake(netproto.C1))
	servertest.Next[*netproto.Refuse](refused)
	refused.Raw.Close()
	wrong.Send(&netproto.GetUpdateFile{Index: 999})
	wrong.ReadToEnd()
	if got := servertest.MetricValue(t, &m, `collet_connections{transport="tcp"}`); got != "1" && got != "2" { // the one that was told off may linger
		t.Errorf("%s connections", got)
	}
	taking.Raw.Close()
	h.WaitForNoClients(t)
	set.Baking.ClientResourceEntries = []string{"Nothing"}
	if err := h.Reload(t.Context(), set); err == nil {
		t.Error("reloaded")
	}
	for series, want := range map[string]string{
		`collet_connections{transport="tcp"}`:                                   "0",
		`collet_connections{transport="wss"}`:                                   "0",
		`collet_connections_accepted_total{transport="tcp"}`:                    "2",
		`collet_connections_accepted_total{transport="ws"}`:                     "0",
		`collet_connections_refused_total{limit="connections",transport="tcp"}`: "1",
		`collet_connections_refused_total{limit="connections",transport="tls"}`: "0",
		`collet_connections_refused_total{limit="address",transport="tcp"}`:     "0",
		`collet_connections_ended_total{cause="file_index"}`:                    "1",
		`collet_connections_ended_total{cause="closed"}`:                        "1",
		`collet_connections_ended_total{cause="malformed"}`:                     "0",
		`collet_handshakes_total{generation="C1",verdict="ACCEPT"}`:             "1",
		`collet_handshakes_total{generation="G1",verdict="ACCEPT"}`:             "1",
		`collet_requests_total{generation="C1",transport="tcp"}`:                "3",
		`collet_sent_bytes_total{generation="C1",transport="tcp"}`:              "2400",
		`collet_reloads_total{result="failed"}`:                                 "1",
		`collet_reloads_total{result="ok"}`:                                     "0",
		"collet_catalogue_files":                                                "8",
	} {
		if got := servertest.MetricValue(t, &m, series); got != want {
			t.Errorf("%s is %q, want %s", series, got, want)
		}
	}
}

// TestPeersMakeNoSeries sends what could become labels.
func TestPeersMakeNoSeries(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, servertest.Settings(t))
	var m origin.Monitor
	m.Watch(h.Server)
	greet := func(compat, target string) {
		p := h.Dial(t, netproto.G1)
		message := servertest.Handshake(netproto.G1)
		message.Compatibility, message.Target = compat, target
		p.Greet(message)
		p.Raw.Close()
		h.WaitForNoClients(t)
	}
	series := func() int {
		_, text := servertest.AskMonitor(&m, http.MethodGet, "/metrics")
		return len(regexp.MustCompile(`(?m)^collet_`).FindAllString(text, -1))
	}
	greet("a", "b")
	before := series()
	for i := range 20 {
		greet(fmt.Sprintf("compat %d", i), fmt.Sprintf("target %d", i))
	}
	if after := series(); after != before {
		t.Errorf("%d series, %d before", after, before)
	}
}

// TestOperatingDocument holds docs/OPERATING.md to the code: every metric with its labels, every cause, every setting of
// Limits and Operations with its default, and no others.
func TestOperatingDocument(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../docs/OPERATING.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	h := servertest.Open(t, servertest.Settings(t))
	t.Cleanup(h.Close)
	var m origin.Monitor
	m.Watch(h.Server)
	_, text := servertest.AskMonitor(&m, http.MethodGet, "/metrics")
	var have []string
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (collet_\w+)`).FindAllStringSubmatch(text, -1) {
		have = append(have, found[1])
	}
	have = append(have, "collet_handshakes_total", "collet_requests_total", "collet_sent_bytes_total", // appear with the first client
		"collet_build_info", "collet_release_number", "collet_release_percent", "collet_release_list_expires_timestamp_seconds",
		"collet_release_checks_total", "collet_release_verdicts_total", // with the program, and a release folder
		"collet_beacons_total", "collet_beacons_refused_total", // with Operations.Figures
		"collet_public_ok", "collet_public_list_expires_timestamp_seconds") // of docs/monitoring/public.sh
	for _, found := range regexp.MustCompile("(?m)^\\| `(collet_\\w+)").FindAllStringSubmatch(doc, -1) {
		if !slices.Contains(have, found[1]) {
			t.Errorf("the document has %s, which is no metric", found[1])
		}
	}
	for _, name := range have {
		if !strings.Contains(doc, "| `"+name) {
			t.Errorf("the document lacks %s", name)
		}
	}
	for _, file := range []string{"alerts.yml", "alerts_test.yml", "grafana.json"} {
		data, err := os.ReadFile("../../../docs/monitoring/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\bcollet_\w+`).FindAllString(string(data), -1) {
			if !slices.Contains(have, name) {
				t.Errorf("%s asks for %s, which is no metric", file, name)
			}
		}
		for _, name := range regexp.MustCompile(`\bcompat_\w+`).FindAllString(string(data), -1) {
			if !strings.Contains(doc, "| `"+name) {
				t.Errorf("%s asks for %s, which the document lacks", file, name)
			}
		}
	}
	for _, found := range regexp.MustCompile(`(?:cause|limit)="(\w+)"`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(doc, "`"+found[1]+"`") {
			t.Errorf("the document lacks the cause %s", found[1])
		}
	}
}

// TestMetricsHaveAPlaceOfTheirOwn: they are not at the port of the dashboard and the players, unless they are asked for there.
func TestMetricsHaveAPlaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, servertest.Settings(t))
	for _, c := range []struct {
		address   string
		from      []string
		here, own int
	}{
		{"", nil, 404, 200}, {"127.0.0.1:9100", nil, 404, 200}, {"127.0.0.1:9100", []string{"198.51.100.0/24"}, 404, 404},
		{config.MetricsHere, nil, 200, 200}, {config.MetricsHere, []string{"192.0.2.0/24"}, 200, 200},
	} {
		set := servertest.Settings(t)
		set.Operations.MetricsAddress, set.Operations.MetricsFrom = c.address, c.from
		var m origin.Monitor
		if err := m.Configure(set, h.Logger()); err != nil {
			t.Fatal(err)
		}
		m.Watch(h.Server)
		for i, handler := range []http.Handler{&m, m.MetricsHandler()} {
			want := []int{c.here, c.own}[i]
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil)) // from 192.0.2.1
			if answer.Code != want || strings.Contains(answer.Body.String(), "collet_connections") != (want == 200) {
				t.Errorf("at %q from %v: %d, want %d", c.address, c.from, answer.Code, want)
			}
		}
	}
	set := config.Defaults()
	for given, want := range map[string]string{"": "", ":9100": "127.0.0.1:9100", "0.0.0.0:9100": "0.0.0.0:9100", config.MetricsHere: ""} {
		set.Operations.MetricsAddress = given
		if got := set.MetricsAddress(); got != want {
			t.Errorf("%q gives %q, want %q", given, got, want)
		}
	}
	set.CompatibilityVersion, set.Operations.HTTPAddress, set.Operations.MetricsAddress = "1", ":9100", ":9100"
	if err := set.Validate(); err == nil || !strings.Contains(err.Error(), `"http"`) {
		t.Errorf("two at one address: %v", err)
	}
}

// TestMonitorBoundsItsAskers opens more connections than there are places: who comes late is answered, and of the others as many are
// left as there is room for.
func TestMonitorBoundsItsAskers(t *testing.T) {
	t.Parallel()
	testlevel.Slow(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := servertest.Open(t, servertest.Settings(t))
	t.Cleanup(h.Close)
	m := new(origin.Monitor)
	m.Watch(h.Server)
	serveMetrics(t, m, h, listener)
	const more = 8
	conns := make([]net.Conn, healthConnections+more)
	for i := range conns {
		conns[i] = knocks(t, listener.Addr().String(), "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		status := make([]byte, len("HTTP/1.1 200"))
		if io.ReadFull(conns[i], status); string(status) != "HTTP/1.1 200" {
			t.Fatalf("asker %d: %q", i, status)
		}
	}
	gone := 0
	for _, conn := range conns[:more] { // the longest idle ones
		if _, err := io.Copy(io.Discard, conn); err == nil {
			gone++
		}
	}
	if gone != more {
		t.Errorf("%d of %d have gone", gone, more)
	}
	last := conns[len(conns)-1]
	fmt.Fprintf(last, "GET /healthz HTTP/1.1\r\nHost: x\r\nBig: %s\r\n\r\n", strings.Repeat("x", 20_000))
	if answer, _ := io.ReadAll(last); !strings.Contains(string(answer), "HTTP/1.1 431") {
		t.Errorf("a head of 20 KB: %q", answer)
	}
}

// serveMetrics serves metrics to the end of the test.
func serveMetrics(t testing.TB, m *origin.Monitor, h *servertest.Server, listener net.Listener) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := m.ServeMetrics(ctx, listener, h.Logger()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); serving.Wait() })
}
