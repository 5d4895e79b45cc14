package testscripts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"collet/platform/testwait"
)

// webs finds the web server of a script by its work folder.
var webs sync.Map

func web(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "off" {
		server, _ := webs.LoadAndDelete(ts.Getenv("WORK"))
		Check(ts, server.(*http.Server).Close())
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Check(ts, err)
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

// spy serves a folder at FAR. NEAR redirects all requests there. Both note what they were sent.
func spy(ts *testscript.TestScript, _ bool, args []string) {
	var mu sync.Mutex
	noted := func(who string, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			line := fmt.Sprintf("%s %s %q %q\n", who, r.URL, r.Header.Get("Authorization"), r.Header.Get("Referer"))
			mu.Lock()
			log, err := os.OpenFile(ts.MkAbs("spy.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = log.WriteString(line)
				err = errors.Join(err, log.Close())
			}
			mu.Unlock()
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	far := httptest.NewServer(noted("far", http.FileServer(http.Dir(ts.MkAbs(args[0])))))
	ts.Defer(far.Close)
	near := httptest.NewServer(noted("near", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, far.URL+r.URL.Path, http.StatusFound)
	})))
	ts.Defer(near.Close)
	ts.Setenv("NEAR", near.URL)
	ts.Setenv("FAR", far.URL)
}

func feed(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	Check(ts, os.MkdirAll(dir, 0o755))
	text := fmt.Sprintf("Release.Folder = %q\nRelease.Cache = %q\n", ts.MkAbs(args[1]), filepath.Join(dir, "unpacked"))
	Check(ts, os.WriteFile(filepath.Join(dir, "server.toml"), []byte(text), 0o644))
}

func origin(ts *testscript.TestScript, _ bool, args []string) {
	address := testwait.FreeAddress(ts)
	settings, err := os.OpenFile(filepath.Join(ts.MkAbs(args[0]), "server.toml"), os.O_APPEND|os.O_WRONLY, 0)
	Check(ts, err)
	_, err = fmt.Fprintf(settings, "Operations.HTTPAddress = %q\n", address)
	Check(ts, err)
	Check(ts, settings.Close())
	ts.Setenv("ORIGIN", "http://"+address)
}
