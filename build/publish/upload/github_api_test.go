package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"collet/platform/interrupt"
)

// answers is a server that gives each request the next answer, and the last one for ever.
type answers struct {
	list   []answer
	bodies []string
}

type answer struct {
	status int
	header map[string]string
	body   string
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	a.bodies = append(a.bodies, body.String())
	now := a.list[0]
	a.list = a.list[min(1, len(a.list)-1):]
	for name, value := range now.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(now.status)
	fmt.Fprint(w, now.body)
}

// TestRepeatedRequests answers an upload with failures, and compares the waits.
func TestRepeatedRequests(t *testing.T) {
	done := answer{200, nil, `{"id":3,"name":"x","size":5}`}
	limited := answer{403, map[string]string{"Retry-After": "60"}, `{"message":"secondary rate limit"}`}
	for what, c := range map[string]struct {
		list    []answer
		waits   []time.Duration
		notices int
		want    string // of the error; empty for none
	}{
		"at once":                  {[]answer{done}, nil, 0, ""},
		"two failures":             {[]answer{{502, nil, ""}, {500, nil, ""}, done}, []time.Duration{time.Second, 2 * time.Second}, 0, ""},
		"only failures":            {[]answer{{502, nil, ""}}, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, 0, "status 502: Bad Gateway"},
		"a refusal":                {[]answer{{422, nil, `{"message":"no","errors":[{"message":"too large"}]}`}}, nil, 0, "status 422: no; too large"},
		"a bad answer":             {[]answer{{200, nil, `{`}, done}, []time.Duration{time.Second}, 0, ""},
		"a rate limit":             {[]answer{limited, done}, []time.Duration{time.Minute}, 1, ""},
		"429 without a time":       {[]answer{{429, nil, ""}, done}, []time.Duration{time.Minute}, 1, ""},
		"403 without permission":   {[]answer{{403, nil, `{"message":"Resource not accessible"}`}}, nil, 0, "needs the permission contents: write"},
		"a rate limit of hours":    {[]answer{{403, map[string]string{"Retry-After": "7200"}, ""}}, nil, 0, "later collet release sync goes on"},
		"a limit without end":      {[]answer{limited}, slices.Repeat([]time.Duration{time.Minute}, maxRateWaits), maxRateWaits, "GitHub accepts no more requests"},
		"requests are used up":     {[]answer{{403, map[string]string{"X-RateLimit-Remaining": "0"}, ""}, done}, []time.Duration{time.Minute}, 1, ""},
		"until a time in the past": {[]answer{{403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, ""}, done}, []time.Duration{time.Second}, 1, ""},
	} {
		t.Run(what, func(t *testing.T) {
			a := &answers{list: c.list}
			server := httptest.NewServer(a)
			defer server.Close()
			var waits []time.Duration
			notices := 0
			api := newGitHubAPI(server.URL, "token", func(string) { notices++ })
			defer api.client.CloseIdleConnections()
			api.wait = func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}
			var made gitHubAsset
			err := api.upload(t.Context(), server.URL, strings.NewReader("hello"), 5, &made)
			if c.want == "" && (err != nil || made.ID != 3) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, %+v", err, made)
			}
			if !slices.Equal(waits, c.waits) || notices != c.notices {
				t.Errorf("waits %v, %d notices", waits, notices)
			}
			if slices.ContainsFunc(a.bodies, func(body string) bool { return body != "hello" }) {
				t.Errorf("it sends %q", a.bodies)
			}
		})
	}
}

func TestRateWait(t *testing.T) {
	now := time.Unix(1e9, 0)
	reset := answerWith(403, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(now.Add(time.Hour).Unix(), 10))
	if d := rateWait(reset, now); d != time.Hour+time.Second {
		t.Errorf("%v", d)
	}
	if d := rateWait(answerWith(404, "Retry-After", "7"), now); d != 0 {
		t.Errorf("404: %v", d)
	}
}

func answerWith(status int, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return r
}

// TestMissingAndCancelled tells a missing release from other errors, and ends with its context.
func TestMissingAndCancelled(t *testing.T) {
	a := &answers{list: []answer{{404, nil, `{"message":"Not Found"}`}}}
	server := httptest.NewServer(a)
	defer server.Close()
	api := newGitHubAPI(server.URL, "token", nil)
	defer api.client.CloseIdleConnections()
	if err := api.call(t.Context(), http.MethodGet, "/x", nil, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	a.list = []answer{{500, nil, ""}}
	ctx, cancel := context.WithCancel(t.Context())
	api.wait = func(ctx context.Context, d time.Duration) error {
		cancel()
		return interrupt.Sleep(ctx, d)
	}
	if err := api.call(ctx, http.MethodGet, "/x", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestInterruptedUpload finds the incomplete asset that an interrupted upload left, and replaces it.
func TestInterruptedUpload(t *testing.T) {
	var log []string
	uploads := 0
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log = append(log, r.Method+" "+r.URL.Path)
		switch {
		case strings.HasSuffix(r.URL.Path, "/tags/collet"):
			fmt.Fprintf(w, `{"id":5,"upload_url":"%s/upload{?name,label}"}`, server.URL)
		case strings.HasSuffix(r.URL.Path, "/assets") && uploads == 0:
			fmt.Fprint(w, `[]`)
		case strings.HasSuffix(r.URL.Path, "/assets"):
			fmt.Fprint(w, `[{"id":7,"name":"metadata.1.root.json","size":0,"state":"starter"}]`)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/upload":
			uploads++
			switch uploads {
			case 1:
				w.WriteHeader(http.StatusBadGateway)
			case 2:
				w.WriteHeader(http.StatusUnprocessableEntity)
				fmt.Fprint(w, `{"message":"Validation Failed","errors":[{"code":"already_exists"}]}`)
			default:
				fmt.Fprint(w, `{"id":8,"name":"metadata.1.root.json","size":1,"state":"uploaded"}`)
			}
		}
	}))
	defer server.Close()
	o, err := OpenGitHub("github://o/r?endpoint="+server.URL, func(string) string { return "token" }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	o.api.wait = func(context.Context, time.Duration) error { return nil }
	if err := o.Put(t.Context(), "metadata/1.root.json", strings.NewReader("x"), 1, true); err != nil {
		t.Errorf("%v\n%s", err, strings.Join(log, "\n"))
	}
	if !slices.Contains(log, "DELETE /api/v3/repos/o/r/releases/assets/7") || uploads != 3 {
		t.Errorf("%s", strings.Join(log, "\n"))
	}
	if list, err := o.List(t.Context(), "metadata"); err != nil || list["metadata/1.root.json"] != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
