// Package uploadtest has a store for tests of uploads.
package uploadtest

import (
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// S3 answers the calls that a mirror makes, with one bucket called games, at most three keys in one page. The key is "key".
type S3 struct {
	Host    string
	mu      sync.Mutex
	objects map[string]Object
	closed  bool
}

// Object is one object of the bucket.
type Object struct {
	Data  []byte
	Cache string
}

// NewS3 starts a store. stop is told how it ends, like testing.T.Cleanup.
func NewS3(stop func(func())) *S3 {
	f := &S3{objects: map[string]Object{}}
	server := httptest.NewServer(f)
	stop(func() {
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	f.Host = server.Listener.Addr().String()
	return f
}

// SetClosed lets the store refuse everything, or stop doing so.
func (f *S3) SetClosed(closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = closed
}

// Objects are the present objects by key.
func (f *S3) Objects() map[string]Object {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.objects)
}

// ServeHTTP implements http.Handler.
func (f *S3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case f.closed, !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/"):
		refuse(w, http.StatusForbidden, "AccessDenied")
	case bucket != "games":
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case key == "":
		f.list(w, r)
	case r.Method == http.MethodPut:
		f.put(w, r, key)
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		f.get(w, r, key)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

// put takes a plain body, or one in signed chunks as clients without TLS send it.
func (f *S3) put(w http.ResponseWriter, r *http.Request, key string) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		data = unchunked(data)
	}
	f.objects[key] = Object{data, r.Header.Get("Cache-Control")}
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(data))))
}

func unchunked(b []byte) (data []byte) {
	for {
		line, rest, found := strings.Cut(string(b), "\r\n")
		digits, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseInt(digits, 16, 64)
		if !found || err != nil || n == 0 {
			return data
		}
		data = append(data, rest[:n]...)
		b = []byte(rest[n+2:])
	}
}

func (f *S3) get(w http.ResponseWriter, r *http.Request, key string) {
	o, found := f.objects[key]
	if !found {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(o.Data))))
	w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.Itoa(len(o.Data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(o.Data)
	}
}

// list gives three keys at a time, so that a caller that reads only the first page misses some.
func (f *S3) list(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Key, LastModified, ETag string
		Size                    int
	}
	type result struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		Contents              []content
	}
	var page result
	after := r.URL.Query().Get("continuation-token")
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		if !strings.HasPrefix(key, r.URL.Query().Get("prefix")) || key <= after {
			continue
		}
		if len(page.Contents) == 3 {
			page.IsTruncated, page.NextContinuationToken = true, page.Contents[2].Key
			break
		}
		page.Contents = append(page.Contents, content{key, time.Unix(1e9, 0).UTC().Format(time.RFC3339), `"x"`, len(f.objects[key].Data)})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(page)
}
