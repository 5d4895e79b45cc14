package upload

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"collet/build/advice"
	"collet/platform/interrupt"
	"collet/platform/text"
)

const (
	// maxRateWait is the longest wait for GitHub to accept requests again: its limits count by the hour.
	maxRateWait = time.Hour + time.Minute
	// defaultRateWait is the wait if GitHub says no time, as its documentation advises.
	defaultRateWait = time.Minute
	// maxRateWaits is the number of waits for one request.
	maxRateWaits = 5
	// maxAttempts is the number of attempts if GitHub fails or can't be reached; firstPause is doubled after each.
	maxAttempts = 4
	firstPause  = time.Second
	// maxQuoted is how much of GitHub's text an error repeats, in bytes.
	maxQuoted = 300
)

// gitHubAPI makes requests. It waits for rate limits, and repeats what failed for a moment.
type gitHubAPI struct {
	client *http.Client
	root   string // of the repository
	token  string
	notice func(string)
	wait   func(ctx context.Context, d time.Duration) error
}

func newGitHubAPI(root, token string, notice func(string)) gitHubAPI {
	// The client follows redirects, and sends no Authorization to another host.
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	return gitHubAPI{client: client, root: root, token: token, notice: notice, wait: interrupt.Sleep}
}

// apiError is a refusal of GitHub.
type apiError struct {
	status int
	text   string
	exists bool // an asset of this name exists
}

func (e *apiError) Error() string { return fmt.Sprintf("GitHub: status %d: %s", e.status, e.text) }

// Is makes status 404 an fs.ErrNotExist.
func (e *apiError) Is(target error) bool {
	return target == fs.ErrNotExist && e.status == http.StatusNotFound
}

// call makes a request of the API below the repository. in and out are JSON; both may be nil.
func (g gitHubAPI) call(ctx context.Context, method, path string, in, out any) error {
	body, size, err := jsonBody(in)
	if err != nil {
		return err
	}
	return g.do(ctx, apiRequest{method: method, url: g.root + path, accept: "application/vnd.github+json", kind: "application/json", body: body, size: size}, decodeInto(out))
}

// upload uploads an asset.
func (g gitHubAPI) upload(ctx context.Context, url string, data io.ReaderAt, size int64, out *gitHubAsset) error {
	return g.do(ctx, apiRequest{method: http.MethodPost, url: url, accept: "application/vnd.github+json", kind: "application/octet-stream", body: data, size: size}, decodeInto(out))
}

// download reads at most limit bytes of an asset.
func (g gitHubAPI) download(ctx context.Context, path string, limit int64) (data []byte, err error) {
	err = g.do(ctx, apiRequest{method: http.MethodGet, url: g.root + path, accept: "application/octet-stream"}, func(body io.Reader) (err error) {
		data, err = io.ReadAll(io.LimitReader(body, limit))
		return err
	})
	return data, err
}

// decodeInto reads an answer as JSON; nil ignores it.
func decodeInto(out any) func(io.Reader) error {
	return func(body io.Reader) error {
		if out == nil {
			return nil
		}
		return json.NewDecoder(io.LimitReader(body, maxAPIAnswer)).Decode(out)
	}
}

// apiRequest is a request that can be repeated.
type apiRequest struct {
	method, url, accept, kind string
	body                      io.ReaderAt // nil for none
	size                      int64
}

// do makes a request until it succeeds or is refused.
func (g gitHubAPI) do(ctx context.Context, r apiRequest, read func(io.Reader) error) error {
	attempts, waits := 1, 0
	for backoff := firstPause; ; {
		limited, err := g.try(ctx, r, read)
		var refused *apiError
		switch {
		case err == nil || ctx.Err() != nil:
			return cmp.Or(err, ctx.Err())
		case limited > 0 && (waits >= maxRateWaits || limited > maxRateWait):
			return advice.Because(err, "later collet release sync goes on where it stopped, with the same --to", "GitHub accepts no more requests")
		case limited > 0:
			waits++
			g.notice(fmt.Sprintf("GitHub accepts no more requests for %v; waiting", limited.Round(time.Second)))
			err = g.wait(ctx, limited)
		case errors.As(err, &refused) && refused.status < http.StatusInternalServerError || attempts >= maxAttempts:
			return err
		default:
			attempts++
			err = g.wait(ctx, backoff)
			backoff *= 2
		}
		if err != nil {
			return err
		}
	}
}

// try makes a request once. limited is how long GitHub accepts no more requests, if that is the cause of the error.
func (g gitHubAPI) try(ctx context.Context, r apiRequest, read func(io.Reader) error) (limited time.Duration, err error) {
	var body io.Reader
	if r.body != nil {
		body = io.NewSectionReader(r.body, 0, r.size)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return 0, err
	}
	if r.body != nil {
		request.ContentLength = r.size
		if r.size == 0 {
			request.Body = http.NoBody
		}
		request.Header.Set("Content-Type", r.kind)
	}
	request.Header.Set("Accept", r.accept)
	request.Header.Set("Authorization", "Bearer "+g.token)
	request.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	answer, err := g.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode < 300 {
		return 0, read(answer.Body)
	}
	return rateWait(answer, time.Now()), refusal(answer)
}

// refusal reads why a request is refused.
func refusal(answer *http.Response) error {
	var said struct {
		Message string `json:"message"`
		Errors  []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	e := &apiError{status: answer.StatusCode, text: http.StatusText(answer.StatusCode)}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAPIAnswer)).Decode(&said); err == nil && said.Message != "" {
		for _, detail := range said.Errors {
			said.Message += "; " + cmp.Or(detail.Message, detail.Code)
			e.exists = e.exists || detail.Code == "already_exists"
		}
		e.text = text.Clip(text.Line(said.Message), maxQuoted)
	}
	if e.status == http.StatusUnauthorized || e.status == http.StatusForbidden {
		e.text += "; the token in GITHUB_TOKEN needs the permission contents: write"
	}
	return e
}

// rateWait is how long a refused request has to wait; 0 if no rate limit refuses it.
func rateWait(answer *http.Response, now time.Time) time.Duration {
	h := answer.Header
	if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusForbidden {
		return 0
	}
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 31); err == nil {
		return max(time.Second, time.Duration(seconds)*time.Second)
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			return max(time.Second, time.Unix(reset, 0).Sub(now)+time.Second)
		}
		return defaultRateWait
	}
	if answer.StatusCode == http.StatusTooManyRequests {
		return defaultRateWait
	}
	return 0
}
