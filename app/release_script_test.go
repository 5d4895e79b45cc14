//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// releaseCommands are those of scripts about signed releases.
func (s *stage) releaseCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"web": web, "feed": feed, "deaf": deaf}
}

// webs finds the web server of a script by its work folder.
var webs sync.Map

// web serves a folder as any web server does, and sets WEB to its address: web DIR; web off ends it.
func web(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "off" {
		server, _ := webs.LoadAndDelete(ts.Getenv("WORK"))
		check(ts, server.(*http.Server).Close())
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(ts, err)
	server := &http.Server{Handler: http.FileServer(http.Dir(ts.MkAbs(args[0])))}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	ts.Defer(func() {
		_ = server.Shutdown(context.Background())
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			ts.Logf("web: %v", err)
		}
	})
	webs.Store(ts.Getenv("WORK"), server)
	ts.Setenv("WEB", "http://"+listener.Addr().String())
}

// feed lays out what collet-server needs to hand out a release folder: feed DIR RELEASE.
func feed(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	check(ts, os.MkdirAll(dir, 0o755))
	text := fmt.Sprintf("Release.Folder = %q\nRelease.Cache = %q\n", ts.MkAbs(args[1]), filepath.Join(dir, "unpacked"))
	check(ts, os.WriteFile(filepath.Join(dir, "server.toml"), []byte(text), 0o644))
}

// deaf listens and never says anything, and sets WEB to its address.
func deaf(ts *testscript.TestScript, _ bool, _ []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(ts, err)
	ts.Defer(func() { check(ts, listener.Close()) })
	ts.Setenv("WEB", "http://"+listener.Addr().String())
}
