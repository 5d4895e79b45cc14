package publish_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fakeGitHub answers the API calls of a mirror for the repository team/lathe, and downloads of its assets. Pages have two assets.
type fakeGitHub struct {
	url string

	mu     sync.Mutex
	tag    string // of the release; empty before the release exists
	assets []fakeAsset
	next   int64
	log    []string                  // changes: "upload NAME", "delete NAME", "rename NAME"
	fail   func(r *http.Request) int // status instead of an answer; 0 for none
}

type fakeAsset struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Size  int    `json:"size"`
	State string `json:"state"`
	data  []byte
}

func newFakeGitHub(t *testing.T) *fakeGitHub {
	f := &fakeGitHub{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *fakeGitHub) address() string { return "github://team/lathe?endpoint=" + f.url }

func (f *fakeGitHub) names() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.assets {
		names = append(names, a.Name)
	}
	return names
}

func (f *fakeGitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, api := strings.CutPrefix(r.URL.Path, "/api/v3/repos/team/lathe")
	id, _ := strconv.ParseInt(path[strings.LastIndexByte(path, '/')+1:], 10, 64)
	at := slices.IndexFunc(f.assets, func(a fakeAsset) bool { return a.ID == id })
	switch {
	case f.fail != nil && f.fail(r) != 0:
		answerJSON(w, f.fail(r), map[string]string{"message": "the test says so"})
	case r.URL.Path == "/upload":
		f.upload(w, r)
	case !api:
		f.download(w, r)
	case r.Header.Get("Authorization") != "Bearer token":
		answerJSON(w, http.StatusUnauthorized, map[string]string{"message": "Bad credentials"})
	case path == "/releases" && r.Method == http.MethodPost:
		var asked struct {
			Tag    string `json:"tag_name"`
			Latest string `json:"make_latest"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Latest != "false" {
			answerJSON(w, http.StatusUnprocessableEntity, map[string]string{"message": "a release for people"})
			return
		}
		f.tag = asked.Tag
		f.answerRelease(w, http.StatusCreated)
	case f.tag != "" && path == "/releases/tags/"+f.tag:
		f.answerRelease(w, http.StatusOK)
	case f.tag != "" && path == "/releases/5/assets":
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		each, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		from := min((page-1)*each, len(f.assets))
		answerJSON(w, http.StatusOK, f.assets[from:min(from+each, len(f.assets))])
	case strings.HasPrefix(path, "/releases/assets/") && at >= 0:
		f.asset(w, r, at)
	default:
		answerJSON(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
	}
}

func answerJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func (f *fakeGitHub) answerRelease(w http.ResponseWriter, status int) {
	answerJSON(w, status, map[string]any{"id": 5, "upload_url": f.url + "/upload{?name,label}"})
}

func (f *fakeGitHub) upload(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	data, err := io.ReadAll(r.Body)
	taken := slices.ContainsFunc(f.assets, func(a fakeAsset) bool { return a.Name == name })
	switch {
	case err != nil || r.Header.Get("Authorization") != "Bearer token" || r.ContentLength != int64(len(data)):
		answerJSON(w, http.StatusBadRequest, map[string]string{"message": "bad upload"})
		return
	case taken:
		answerJSON(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed", "errors": []any{map[string]string{"code": "already_exists"}}})
		return
	}
	f.next++
	a := fakeAsset{f.next, name, len(data), "uploaded", data}
	f.assets = append(f.assets, a)
	f.log = append(f.log, "upload "+name)
	answerJSON(w, http.StatusCreated, a)
}

func (f *fakeGitHub) asset(w http.ResponseWriter, r *http.Request, at int) {
	a := &f.assets[at]
	switch r.Method {
	case http.MethodDelete:
		f.log = append(f.log, "delete "+a.Name)
		f.assets = slices.Delete(f.assets, at, at+1)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPatch:
		var asked struct {
			Name string `json:"name"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			answerJSON(w, http.StatusBadRequest, nil)
			return
		}
		f.log = append(f.log, "rename "+asked.Name)
		a.Name = asked.Name
		answerJSON(w, http.StatusOK, a)
	default:
		http.Redirect(w, r, fmt.Sprintf("%s/team/lathe/releases/download/%s/%s", strings.Replace(f.url, "127.0.0.1", "localhost", 1), f.tag, a.Name), http.StatusFound)
	}
}

// download hands out public files, on another host for the API; credentials must not come here.
func (f *fakeGitHub) download(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/team/lathe/releases/download/"+f.tag+"/")
	at := slices.IndexFunc(f.assets, func(a fakeAsset) bool { return a.Name == name && a.State == "uploaded" })
	if at < 0 || r.Header.Get("Authorization") != "" {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(f.assets[at].data)
}
