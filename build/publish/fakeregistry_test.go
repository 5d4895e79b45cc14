package publish_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"collet/netproto/release/location"
)

// fakeRegistry is an OCI registry for the repository team/lathe: blobs in one request each, manifests by tag. It refuses a manifest with
// an unknown blob, as registries do.
type fakeRegistry struct {
	host string

	mu        sync.Mutex
	blobs     map[string][]byte // by digest
	tags      map[string][]byte
	log       []string // "blob DIGEST", "tag NAME"
	forbidden bool     // no writing
	writes    int      // so many are accepted before all are refused; below 0: all are
}

func newFakeRegistry(t *testing.T) *fakeRegistry {
	f := &fakeRegistry{blobs: map[string][]byte{}, tags: map[string][]byte{}, writes: -1}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.host = server.Listener.Addr().String()
	return f
}

func (f *fakeRegistry) address() string { return "oci://" + f.host + "/team/lathe" }

// files are those of a tag.
func (f *fakeRegistry) files(t *testing.T, tag string) []location.File {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	files, err := location.DecodeManifest(f.tags[tag])
	must(t, err)
	return files
}

func (f *fakeRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/team/lathe/"), "/")
	writing := r.Method == http.MethodPost || r.Method == http.MethodPut
	body, err := io.ReadAll(r.Body)
	defer func() {
		if writing && f.writes > 0 {
			f.writes--
		}
	}()
	switch {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case writing && (f.forbidden || f.writes == 0):
		answerJSON(w, http.StatusForbidden, map[string]any{"errors": []any{map[string]string{"code": "DENIED", "message": "no"}}})
	case kind == "blobs" && r.Method == http.MethodPost:
		w.Header().Set("Location", "/v2/team/lathe/blobs/uploads/1")
		w.WriteHeader(http.StatusAccepted)
	case kind == "blobs" && r.Method == http.MethodPut:
		digest := r.URL.Query().Get("digest")
		if digest != digestOf(body) {
			answerJSON(w, http.StatusBadRequest, nil)
			return
		}
		f.blobs[digest] = body
		f.log = append(f.log, "blob "+digest)
		w.Header().Set("Location", "/v2/team/lathe/blobs/"+digest)
		w.WriteHeader(http.StatusCreated)
	case kind == "manifests" && r.Method == http.MethodPut:
		f.putManifest(w, name, body)
	case kind == "blobs" && f.blobs[name] != nil:
		f.answer(w, r, "application/octet-stream", f.blobs[name])
	case kind == "manifests" && f.tags[name] != nil:
		f.answer(w, r, location.MediaType, f.tags[name])
	default:
		answerJSON(w, http.StatusNotFound, map[string]any{"errors": []any{map[string]string{"code": "NAME_UNKNOWN"}}})
	}
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func (f *fakeRegistry) putManifest(w http.ResponseWriter, tag string, data []byte) {
	files, err := location.DecodeManifest(data)
	for _, file := range files {
		if f.blobs["sha256:"+file.Sum] == nil {
			err = fmt.Errorf("%s is unknown", file.Sum)
		}
	}
	if err != nil {
		answerJSON(w, http.StatusBadRequest, map[string]any{"errors": []any{map[string]string{"code": "MANIFEST_BLOB_UNKNOWN", "message": err.Error()}}})
		return
	}
	f.tags[tag] = data
	f.log = append(f.log, "tag "+tag)
	w.Header().Set("Docker-Content-Digest", digestOf(data))
	w.WriteHeader(http.StatusCreated)
}

func (f *fakeRegistry) answer(w http.ResponseWriter, r *http.Request, mediaType string, data []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", digestOf(data))
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(data)
	}
}
