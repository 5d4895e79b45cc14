package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"collet/build/qa/process"
)

// nginxStart is how long nginx may take until it listens.
const nginxStart = 5 * time.Second

// loopback takes one large file from disk into a file, in pairs with curl from nginx, and compares times and the servers'
// processor time. The whole client, which also checks and syncs what it got, is printed for scale.
func (b *bench) loopback(ctx context.Context) error {
	if _, err := exec.LookPath("curl"); err != nil {
		fmt.Fprintln(b.out, "loopback: not measured, curl is not installed")
		return nil
	}
	program, err := nginxProgram()
	if err != nil {
		fmt.Fprintln(b.out, "loopback: not measured, nginx is not installed")
		return nil
	}
	o, err := b.offer(ctx, "loopback")
	if err != nil {
		return err
	}
	defer o.stop()
	peer, url, err := b.nginx(ctx, program, filepath.Join(o.folder, "Resources"))
	if err != nil {
		return err
	}
	defer peer.Stop(stopGrace)
	var ours, theirs, whole []spent
	for range b.Pairs {
		for _, run := range []struct {
			into     *[]spent
			server   int
			transfer func(to string) (time.Duration, error)
		}{
			{&ours, o.process.PID(), func(to string) (time.Duration, error) { return fetch(ctx, o.address, to, asItIs) }},
			{&theirs, peer.PID(), func(to string) (time.Duration, error) { return curl(ctx, url+benchFile, to) }},
			{&whole, o.process.PID(), func(to string) (time.Duration, error) { return b.program1(ctx, o.address, to) }},
		} {
			s, err := b.taken(o.size, run.server, run.transfer)
			if err != nil {
				return err
			}
			*run.into = append(*run.into, s)
		}
	}
	b.printLoopback(o.size, ours, theirs, whole)
	return b.costs(ctx, o, program)
}

func (b *bench) printLoopback(size int64, ours, theirs, whole []spent) {
	fmt.Fprintf(b.out, "loopback, %d MB from disk into a file, %d pairs: C1 %.0f MB/s, curl from nginx %.0f MB/s; the whole client with its checks %.0f MB/s (%.2f of curl)\n",
		size>>20, len(ours), speed(size, median(walls(ours))), speed(size, median(walls(theirs))),
		speed(size, median(walls(whole))), middle(ratios(theirs, whole)))
	b.atLeast("speed on loopback, ratio to curl and nginx", middle(ratios(theirs, ours)), leastOfCurl)
	fmt.Fprintf(b.out, "processor time for 1 GB sent to these two receivers, for scale: collet-server %.3f s, nginx %.3f s\n",
		perGB(size, ours), perGB(size, theirs))
}

// program1 lets the client's program take the file into a new folder, from its start to its end.
func (b *bench) program1(ctx context.Context, address, to string) (time.Duration, error) {
	folder, err := os.MkdirTemp(b.dir, "client-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	began := time.Now()
	err = finish(ctx, process.Options{Path: b.program("collet-client"), Dir: folder, Args: []string{
		"--headless", "--generation", "c1", "--server", address, "--dir", folder,
		"--compat", benchCompatibility, "--target", "Linux-x64", "--runtime-name", "Bench",
	}})
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	return took, os.Rename(filepath.Join(folder, "Resources", benchFile), to)
}

// nginx starts nginx with sendfile on a free port, as one process, so that its processor time is that process's.
func (b *bench) nginx(ctx context.Context, program, root string) (*process.Process, string, error) {
	folder := filepath.Join(b.dir, "nginx")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, "", err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	config := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(config, nginxConfig(folder, root, address, ""), 0o644); err != nil {
		return nil, "", err
	}
	var printed bytes.Buffer
	p, err := process.Start(process.Options{
		Path: program, Dir: folder, Args: []string{"-p", folder, "-c", config, "-e", filepath.Join(folder, "error.log")}, Output: &printed,
	})
	if err != nil {
		return nil, "", err
	}
	if err := listens(ctx, address, p.Done()); err != nil {
		p.Stop(stopGrace)
		return nil, "", fmt.Errorf("nginx: %w; it printed:\n%s", err, &printed)
	}
	return p, "http://" + address + "/", nil
}

// nginxProgram finds nginx, also where only administrators have it on their path.
func nginxProgram() (string, error) {
	if path, err := exec.LookPath("nginx"); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/nginx")
}

// nginxConfig keeps every file of nginx's own in folder. The log has the bytes of each response's body, a line each.
func nginxConfig(folder, root, address, log string) []byte {
	access := "off"
	if log != "" {
		access = strconv.Quote(log) + " bytes"
	}
	return fmt.Appendf(nil, `daemon off;
master_process off;
pid %[1]q;
events { worker_connections 64; }
http {
	log_format bytes $body_bytes_sent;
	access_log %[5]s;
	sendfile on;
	tcp_nopush on;
	client_body_temp_path %[2]q;
	proxy_temp_path %[2]q;
	fastcgi_temp_path %[2]q;
	uwsgi_temp_path %[2]q;
	scgi_temp_path %[2]q;
	server { listen %[3]s; root %[4]q; }
}
`, filepath.Join(folder, "pid"), filepath.Join(folder, "temp"), address, root, access)
}

// freeAddress is a port of the loopback interface that was free a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// listens waits until the port accepts connections.
func listens(ctx context.Context, address string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, nginxStart)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-retry.C:
		case <-ended:
			return fmt.Errorf("it ended: %w", err)
		case <-ctx.Done():
			return err
		}
	}
}
