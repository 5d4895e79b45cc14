package download

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"collet/netproto/release/location"
)

const (
	// listAge is how long the list of metadata files counts: within one refresh of the metadata it is requested once.
	listAge = 5 * time.Second
	// maxTokenAnswer is the largest accepted answer of a token server in bytes. Tokens have up to a few thousand.
	maxTokenAnswer = 64 << 10
)

// registry is what a mirror in an OCI registry knows: the list of metadata files, and a token for readers without an account. Each has a
// lock, so that requests at the same time get them once.
type registry struct {
	listing *semaphore.Weighted
	files   map[string]location.File
	read    time.Time // of files

	renewing *semaphore.Weighted
	token    string
}

func newRegistry() *registry {
	return &registry{listing: semaphore.NewWeighted(1), renewing: semaphore.NewWeighted(1)}
}

// findListed finds a file that has no URL of its own in the list of metadata files.
func (w *HTTPMirror) findListed(ctx context.Context, q question) (location.File, error) {
	missing := &MissingError{Mirror: w.name, Name: q.name}
	if w.registry == nil {
		return location.File{}, missing
	}
	files, err := w.listFiles(ctx, q)
	if err != nil {
		return location.File{}, err
	}
	f, found := files[q.name]
	switch {
	case !found:
		return f, missing
	case f.Size > q.limit:
		return f, q.tooLong("%d bytes, at most %d are taken", f.Size, q.limit)
	}
	return f, nil
}

// listFiles returns the list of metadata files, which it requests if the last one is too old.
func (w *HTTPMirror) listFiles(ctx context.Context, q question) (map[string]location.File, error) {
	r := w.registry
	if err := r.listing.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer r.listing.Release(1)
	if r.files != nil && time.Since(r.read) < listAge {
		return r.files, nil
	}
	began := time.Now()
	data, err := w.readSmall(ctx, question{mirror: w.name, name: q.name, to: openEnd, limit: location.MaxManifest, private: q.private}, w.at.ManifestURL())
	if err != nil {
		return nil, err
	}
	list, err := location.DecodeManifest(data)
	if err != nil {
		return nil, q.wrong(WrongStatus, "%s", clip(err.Error()))
	}
	files := make(map[string]location.File, len(list))
	for _, f := range list {
		files[f.Name] = f
	}
	r.files, r.read = files, began
	return files, nil
}

// readTagged reads a file that is in a manifest of its own.
func (w *HTTPMirror) readTagged(ctx context.Context, q question, target *url.URL) (io.ReadCloser, error) {
	data, err := w.readSmall(ctx, question{mirror: w.name, name: q.name, to: openEnd, limit: location.MaxManifest, private: q.private}, target)
	if err != nil {
		return nil, err
	}
	list, err := location.DecodeManifest(data)
	switch {
	case err != nil:
		return nil, q.wrong(WrongStatus, "%s", clip(err.Error()))
	case len(list) != 1 || list[0].Name != q.name || list[0].Data == nil: // the publisher has removed it, or it is another one
		return nil, &MissingError{Mirror: w.name, Name: q.name}
	case list[0].Size > q.limit:
		return nil, q.tooLong("%d bytes, at most %d are taken", list[0].Size, q.limit)
	}
	return q.readListed(list[0].Data)
}

// readSmall reads a whole small answer.
func (w *HTTPMirror) readSmall(ctx context.Context, q question, target *url.URL) ([]byte, error) {
	body, err := w.open(ctx, q, target)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body) // which ends at the limit
}

// registryAccept is the media types that are asked for at a registry.
const registryAccept = location.MediaType + ", */*;q=0.5"

// askRegistry makes a request with the token. A registry that wants another one says where to get it (distribution specification, token
// authentication); then the request is made once more.
func (w *HTTPMirror) askRegistry(ctx context.Context, q question, request *http.Request) (*http.Response, error) {
	request.Header.Set("Accept", registryAccept)
	used, err := w.currentToken(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := w.sendWithToken(ctx, q, request, used)
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		return answer, err
	}
	challenge := answer.Header.Get("WWW-Authenticate")
	closeRejected(answer)
	token, err := w.renewToken(ctx, q, used, challenge)
	if err != nil {
		return nil, err
	}
	return w.sendWithToken(ctx, q, request.Clone(ctx), token)
}

func (w *HTTPMirror) sendWithToken(ctx context.Context, q question, request *http.Request, token string) (*http.Response, error) {
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := w.send(request)
	if err != nil {
		return nil, q.explain(ctx, err)
	}
	return answer, nil
}

func (w *HTTPMirror) currentToken(ctx context.Context) (string, error) {
	if err := w.registry.renewing.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer w.registry.renewing.Release(1)
	return w.registry.token, nil
}

// renewToken gets a token in place of the used one, unless another request has done so meanwhile.
func (w *HTTPMirror) renewToken(ctx context.Context, q question, used, challenge string) (string, error) {
	r := w.registry
	if err := r.renewing.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer r.renewing.Release(1)
	if r.token != used {
		return r.token, nil
	}
	target := w.tokenURL(challenge)
	if target == nil {
		return "", q.wrong(WrongSignIn, "the registry requires a password")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("User-Agent", w.agent)
	answer, err := w.send(request)
	if err != nil {
		return "", q.explain(ctx, err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "", q.statusError(answer)
	default:
		return "", q.wrong(WrongSignIn, "the registry requires a password (token server: status %d)", answer.StatusCode)
	}
	var granted struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxTokenAnswer)).Decode(&granted); err != nil {
		return "", q.wrong(WrongStatus, "the token server's answer: %s", clip(err.Error()))
	}
	if r.token = granted.Token; r.token == "" {
		r.token = granted.Access
	}
	return r.token, nil
}

// parameter matches one parameter of a challenge (RFC 9110, section 11.2), as registries write them.
var parameter = regexp.MustCompile(`([a-z]+)="([^"]*)"`)

// tokenURL is where a challenge says that tokens are; nil if it has none, or one that is less safe than the registry.
func (w *HTTPMirror) tokenURL(challenge string) *url.URL {
	kind, rest, _ := strings.Cut(challenge, " ")
	if !strings.EqualFold(kind, "Bearer") {
		return nil
	}
	values := map[string]string{}
	for _, m := range parameter.FindAllStringSubmatch(rest, -1) {
		values[m[1]] = m[2]
	}
	u, err := url.Parse(values["realm"])
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !w.at.Plain) {
		return nil
	}
	query := u.Query()
	for _, name := range []string{"service", "scope"} {
		if values[name] != "" {
			query.Set(name, values[name])
		}
	}
	u.RawQuery = query.Encode()
	return u
}

// readListed is the answer to a question from the bytes of the whole file.
func (q question) readListed(data []byte) (io.ReadCloser, error) {
	to := q.to
	if to < 0 {
		to = int64(len(data))
	}
	if q.from > to || to > int64(len(data)) {
		return nil, q.wrong(WrongLength, "%d bytes", len(data))
	}
	return &listedBody{bytes.NewReader(data[q.from:to]), int64(len(data))}, nil
}

// listedBody reads a file whose bytes are in the list.
type listedBody struct {
	*bytes.Reader
	total int64
}

// Close implements io.Closer.
func (b *listedBody) Close() error { return nil }

// Total implements Sized.
func (b *listedBody) Total() int64 { return b.total }
