package download_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collet/app/download"
	"collet/build/qa/proxy"
	"collet/netproto/release"
	"collet/platform"
)

// BenchmarkLoopback fetches 256 MB from nginx (net/http where there is none) and compares with curl, pair by pair. Ours
// ends with the digest checked; curl's time is given without and with sha256 of the same implementation.
func BenchmarkLoopback(b *testing.B) { benchmarkPairs(b, 256<<20, proxy.Link{}) }

// BenchmarkLink does it over a line of 50 Mbit/s with a round trip of 100 ms, with what a patch has.
func BenchmarkLink(b *testing.B) {
	for _, size := range []int{800_000, 5_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			benchmarkPairs(b, size, proxy.Link{Rate: 6_250_000, Delay: 50 * time.Millisecond})
		})
	}
}

func benchmarkPairs(b *testing.B, size int, link proxy.Link) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		b.Skip("there is no curl")
	}
	dir := b.TempDir()
	data := random(size, 1)
	o := object(data)
	file := filepath.Join(dir, "www", filepath.FromSlash(o.Name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		b.Fatal(err)
	}
	addr := origin(b, dir)
	if link != (proxy.Link{}) {
		p, err := proxy.Start(proxy.Options{Target: addr, Link: link})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = p.Close() })
		addr = p.Addr()
	}
	var ours, theirs, hashed []time.Duration
	for b.Loop() {
		began := time.Now()
		if out, err := exec.Command(curl, "-fsS", "-o", filepath.Join(dir, "curl"), "http://"+addr+"/"+o.Name).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		theirs = append(theirs, time.Since(began))
		hashed = append(hashed, theirs[len(theirs)-1]+hashTime(b, filepath.Join(dir, "curl"), o.Digest))
		_ = os.Remove(filepath.Join(dir, "curl"))
		ours = append(ours, wholeTime(b, "http://"+addr, o))
	}
	b.ReportMetric(median(ours), "s/collet")
	b.ReportMetric(median(theirs), "s/curl")
	b.ReportMetric(median(ours)/median(theirs), "x-curl")
	b.ReportMetric(median(ours)/median(hashed), "x-curl+hash")
}

func median(times []time.Duration) float64 {
	slices.Sort(times)
	return times[len(times)/2].Seconds()
}

func hashTime(b *testing.B, name string, want release.Digest) time.Duration {
	began := time.Now()
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if got, err := release.SHA256.DigestOf(f); err != nil || got != want {
		b.Fatal(got, err)
	}
	return time.Since(began)
}

// wholeTime is what a process that begins needs: connections, spool and all.
func wholeTime(b *testing.B, base string, o download.Object) time.Duration {
	folder := b.TempDir()
	dir, err := platform.OpenDir(folder)
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	began := time.Now()
	s, err := download.OpenSpool(dir, "spool", download.SpoolOptions{})
	if err != nil {
		b.Fatal(err)
	}
	mirror, err := download.NewHTTPMirror(base, download.HTTPOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer mirror.Close()
	f, err := download.NewFetcher([]download.Mirror{mirror}, download.FetchOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Whole(context.Background(), o, s, nil); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	if err := s.Remove(context.Background(), o.Digest); err != nil {
		b.Fatal(err)
	}
	return took
}

// origin serves dir/www by nginx, or by net/http.
func origin(b *testing.B, dir string) (addr string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr = listener.Addr().String()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		nginx = "/usr/sbin/nginx" // where Debian has it, outside of the path of ordinary users
	}
	if _, err := os.Stat(nginx); err != nil {
		b.Log("there is no nginx; the origin is net/http")
		server := &http.Server{Handler: http.FileServer(http.Dir(filepath.Join(dir, "www")))}
		go func() { _ = server.Serve(listener) }()
		b.Cleanup(func() { _ = server.Close() })
		return addr
	}
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		b.Fatal(err)
	}
	_ = listener.Close() // the socket stays open, and queues connections until nginx accepts them
	config := filepath.Join(dir, "nginx.conf")
	text := strings.NewReplacer("DIR", dir, "ADDR", addr).Replace(`daemon off; pid DIR/nginx.pid; error_log stderr; worker_processes 1;
events {}
http { access_log off; sendfile on; client_body_temp_path DIR; proxy_temp_path DIR; fastcgi_temp_path DIR; uwsgi_temp_path DIR; scgi_temp_path DIR;
server { listen ADDR; root DIR/www; } }`)
	if os.Getuid() == 0 {
		text = "user root; " + text // the default user nobody can't read the folder
	}
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	server := exec.Command(nginx, "-p", dir, "-c", config)
	server.ExtraFiles, server.Env = []*os.File{socket}, append(os.Environ(), "NGINX=3;") // as nginx gives its socket to its successor
	if err := errors.Join(server.Start(), socket.Close()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	return addr
}
