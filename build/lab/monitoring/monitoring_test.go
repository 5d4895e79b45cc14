//go:build unix

package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/build/testprograms"
	"collet/platform/testlevel"
	"collet/platform/testwait"
)

// library is the beginning of a library for Linux on x86-64: as much as a publication looks at.
var library = "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x03\x00\x3e\x00" + strings.Repeat("\x00", 236)

// documents are the files for operators.
const documents = "../../../docs/monitoring"

func program(t *testing.T, name string) string {
	t.Helper()
	testlevel.Lab(t)
	exe, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("NOT TESTED: there is no %s", name)
	}
	return exe
}

func TestAlerts(t *testing.T) {
	promtool := program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = documents
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}

// TestDashboard asks every query of the dashboard, and every alert's, of a Prometheus that has scraped a server with a release folder.
func TestDashboard(t *testing.T) {
	prometheus := program(t, "prometheus")
	dir := t.TempDir()
	server := startServer(t, dir)
	config := filepath.Join(dir, "prometheus.yml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: collet\n    static_configs: [{targets: [%q]}]\n", server), 0o644))
	at := testwait.FreeAddress(t)
	start(t, exec.Command(prometheus, "--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", at))
	answers := func(query string) int {
		answer, err := http.Get("http://" + at + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return -1
		}
		defer answer.Body.Close()
		var result struct {
			Status string
			Data   struct{ Result []json.RawMessage }
		}
		if err := json.NewDecoder(answer.Body).Decode(&result); err != nil || result.Status != "success" {
			return -1
		}
		return len(result.Data.Result)
	}
	for _, query := range queries(t) {
		// A rate needs two scrapes.
		testwait.Until(t, func() bool { return answers(query) > 0 }, "Prometheus has no answer to "+query)
	}
}

// queries are those of the dashboard, for the job of the test. Those that need clients, which there are none of, are left out.
func queries(t *testing.T) (list []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(documents, "grafana.json"))
	must(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must(t, json.Unmarshal(data, &dashboard))
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			if !strings.Contains(q.Expr, "collet_handshakes_total") && !strings.Contains(q.Expr, "collet_release_verdicts_total") && !strings.Contains(q.Expr, "collet_sent_bytes_total") && !strings.Contains(q.Expr, "collet_public_") {
				list = append(list, strings.ReplaceAll(q.Expr, "$job", "collet"))
			}
		}
	}
	if len(list) < 10 {
		t.Fatalf("only %d queries", len(list))
	}
	return list
}

// TestPublic runs the script for node_exporter against a place that is there, and one that is not. promtool reads what it writes.
func TestPublic(t *testing.T) {
	promtool := program(t, "promtool")
	program(t, "jq")
	dir := t.TempDir()
	publish(t, dir)
	place := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(dir, "release"))))
	t.Cleanup(place.Close)
	script, err := filepath.Abs(filepath.Join(documents, "public.sh"))
	must(t, err)
	out := filepath.Join(dir, "collet.prom")
	run := func() string {
		t.Helper()
		cmd := exec.Command("sh", script, place.URL, filepath.Join(dir, "root.json"), out)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(testprograms.Collet(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		text, err := os.ReadFile(out)
		must(t, err)
		check := exec.Command(promtool, "check", "metrics")
		check.Stdin = bytes.NewReader(text)
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, said)
		}
		return string(text)
	}
	text := run()
	for _, want := range []string{`collet_public_ok{url="` + place.URL + `"} 1`, `list="root"} `, `list="targets"} `, `list="snapshot"} `, `list="timestamp"} `} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	place.Close()
	if text := run(); !strings.Contains(text, `collet_public_ok{url="`+place.URL+`"} 0`) || strings.Contains(text, "list=") {
		t.Errorf("of a place that is gone: %s", text)
	}
}

// startServer publishes a release and serves it. It returns the address of the metrics.
func startServer(t *testing.T, dir string) (metrics string) {
	t.Helper()
	publish(t, dir)
	metrics = testwait.FreeAddress(t)
	settings := fmt.Sprintf("[Release]\nFolder = \"release\"\n[Compat]\nStore = \"compat.db\"\n[Operations]\nMetricsAddress = %q\nHTTPAddress = %q\nFigures = \"figures\"\n",
		metrics, testwait.FreeAddress(t))
	must(t, os.WriteFile(filepath.Join(dir, "server.toml"), []byte(settings), 0o644))
	cmd := exec.Command(testprograms.Server(t), "--config", "server.toml", "--listen", "127.0.0.1:0")
	cmd.Dir = dir
	start(t, cmd)
	return metrics
}

// publish makes the release folder release, and root.json.
func publish(t *testing.T, dir string) {
	t.Helper()
	game := filepath.Join(dir, "game")
	for name, content := range map[string]string{"Resources/level": "level 1", "PlatformBinaries/Linux-x64/Lathe.so": library} {
		name = filepath.Join(game, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
	for _, args := range [][]string{
		{"keys", "init", "--development"},
		{"release", "init", "--keys", "keys", "--product", "lathe", "--allow-development"},
		{"release", "publish", "game", "--compatibility", "1", "--allow-development"},
		{"keys", "export", "root.json", "--allow-development"},
	} {
		cmd := exec.Command(testprograms.Collet(t), args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("collet %q: %v\n%s", args, err, out)
		}
	}
}

// start runs a program to the end of the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(cmd.Path), said.String())
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
