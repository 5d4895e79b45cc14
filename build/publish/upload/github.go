package upload

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"collet/build/advice"
	"collet/netproto/release/location"
)

const (
	// pageOfAssets is the number of assets in one answer: GitHub's largest.
	pageOfAssets = 100
	// maxAPIAnswer is the largest accepted answer of the API in bytes: a page of assets has about 200 KB.
	maxAPIAnswer = 4 << 20
	// stateUploaded is the state of an asset that is complete.
	stateUploaded = "uploaded"
)

// GitHub is the release with the location's tag. Its methods are safe for concurrent use.
type GitHub struct {
	at  location.Location
	api gitHubAPI

	mu      sync.Mutex
	loaded  bool
	release *gitHubRelease         // nil: not there yet
	assets  map[string]gitHubAsset // ours, by file
	foreign int                    // other assets
}

type gitHubRelease struct {
	ID        int64  `json:"id"`
	UploadURL string `json:"upload_url"` // with {?name,label} at its end
}

type gitHubAsset struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Size  int64  `json:"size"`
	State string `json:"state"`
}

// OpenGitHub opens an address of a GitHub release. The token comes from GITHUB_TOKEN or GH_TOKEN. notice tells people why an upload waits.
func OpenGitHub(address string, getenv func(string) string, notice func(string)) (*GitHub, error) {
	at, err := location.Parse(address)
	if err != nil {
		return nil, advice.Because(err, "", "%q", address)
	}
	token := cmp.Or(getenv("GITHUB_TOKEN"), getenv("GH_TOKEN"))
	if token == "" {
		return nil, advice.Wrong("set GITHUB_TOKEN to a token with the permission contents: write", "there are no credentials for %v", at)
	}
	root := at.Scheme() + "://api." + at.Host
	if at.Plain || at.Host != gitHubHost {
		root = at.Scheme() + "://" + at.Host + "/api/v3" // GitHub Enterprise Server
	}
	o := &GitHub{at: at, api: newGitHubAPI(root+"/repos/"+at.Path, token, notice), assets: map[string]gitHubAsset{}}
	return o, nil
}

// gitHubHost is the host of the public service.
const gitHubHost = "github.com"

func (o *GitHub) String() string { return o.at.String() }

// Close closes idle connections.
func (o *GitHub) Close() error {
	o.api.client.CloseIdleConnections()
	return nil
}

// Limits are those of a release, of which List has read how many assets are not ours. One more asset is needed to replace one.
func (o *GitHub) Limits() Limits {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Limits{Files: location.MaxAssets - o.foreign - 1, FileSize: location.MaxAssetSize, Uploads: 3, Sequels: keptSequels, SequelSize: location.MaxTagged}
}

// load reads the release and its assets, once. mu is held.
func (o *GitHub) load(ctx context.Context) error {
	if o.loaded {
		return nil
	}
	var release gitHubRelease
	err := o.api.call(ctx, http.MethodGet, "/releases/tags/"+o.at.Tag, nil, &release)
	if errors.Is(err, fs.ErrNotExist) {
		o.loaded = true
		return nil
	}
	if err != nil {
		return err
	}
	o.foreign = 0
	clear(o.assets)
	for page := 1; page <= location.MaxAssets/pageOfAssets+1; page++ {
		var list []gitHubAsset
		if err := o.api.call(ctx, http.MethodGet, fmt.Sprintf("/releases/%d/assets?per_page=%d&page=%d", release.ID, pageOfAssets, page), nil, &list); err != nil {
			return err
		}
		for _, a := range list {
			if name, ours := location.AssetFile(a.Name); ours {
				o.assets[name] = a
			} else {
				o.foreign++
			}
		}
		if len(list) < pageOfAssets {
			break
		}
	}
	o.release, o.loaded = &release, true
	return nil
}

// List implements places.Place. An asset whose upload was interrupted has the size -1.
func (o *GitHub) List(ctx context.Context, folder string) (map[string]int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.load(ctx); err != nil {
		return nil, err
	}
	list := map[string]int64{}
	for name, a := range o.assets {
		if !strings.HasPrefix(name, folder+"/") {
			continue
		}
		if list[name] = a.Size; a.State != stateUploaded {
			list[name] = -1
		}
	}
	return list, nil
}

// Get implements places.Place.
func (o *GitHub) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	a, found, err := o.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if !found || a.State != stateUploaded {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	data, err := o.api.download(ctx, fmt.Sprintf("/releases/assets/%d", a.ID), limit+1)
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}

// find finds the asset of a file.
func (o *GitHub) find(ctx context.Context, name string) (a gitHubAsset, found bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err = o.load(ctx)
	a, found = o.assets[name]
	return a, found, err
}

// Put implements places.Place.
func (o *GitHub) Put(ctx context.Context, name string, data io.ReaderAt, size int64, lasting bool) error {
	if err := o.create(ctx); err != nil {
		return err
	}
	old, found, err := o.find(ctx, name)
	if err != nil {
		return err
	}
	if !found || lasting {
		if found { // it is incomplete
			if err := o.Remove(ctx, name); err != nil {
				return err
			}
		}
		return o.upload(ctx, name, data, size)
	}
	temporary := name + location.Temporary
	if _, left, _ := o.find(ctx, temporary); left {
		if err := o.Remove(ctx, temporary); err != nil {
			return err
		}
	}
	if err := o.upload(ctx, temporary, data, size); err != nil {
		return err
	}
	fresh, _, err := o.find(ctx, temporary)
	if err == nil {
		err = o.api.call(ctx, http.MethodDelete, fmt.Sprintf("/releases/assets/%d", old.ID), nil, nil)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o.set(name, nil)
	var renamed gitHubAsset
	if err := o.api.call(ctx, http.MethodPatch, fmt.Sprintf("/releases/assets/%d", fresh.ID), map[string]string{"name": location.AssetName(name)}, &renamed); err != nil {
		return err
	}
	o.set(temporary, nil)
	o.set(name, &renamed)
	return nil
}

// set records the asset of a file; nil for none.
func (o *GitHub) set(name string, a *gitHubAsset) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a == nil {
		delete(o.assets, name)
	} else {
		o.assets[name] = *a
	}
}

// create makes the release if it is not there. It does not become the repository's latest one, which is for people.
func (o *GitHub) create(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.load(ctx); err != nil || o.release != nil {
		return err
	}
	var release gitHubRelease
	err := o.api.call(ctx, http.MethodPost, "/releases", map[string]any{
		"tag_name": o.at.Tag, "name": "Files of the updater", "make_latest": "false", "prerelease": true,
		"body": "Clients read these files to update the game. Please do not change them.",
	}, &release)
	var refused *apiError
	if errors.As(err, &refused) && refused.exists { // the answer to the first attempt was lost
		o.loaded = false
		return o.load(ctx)
	}
	if err != nil {
		return advice.Because(err, "check the name of the repository, that it has a commit, and that the token may write its contents", "make the release %s", o.at.Tag)
	}
	o.release = &release
	return nil
}

// upload uploads a new asset. An interrupted upload can leave an incomplete one, which is removed first.
func (o *GitHub) upload(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	target, _, _ := strings.Cut(o.release.UploadURL, "{")
	target += "?name=" + url.QueryEscape(location.AssetName(name))
	var a gitHubAsset
	err := o.api.upload(ctx, target, data, size, &a)
	var refused *apiError
	if errors.As(err, &refused) && refused.exists {
		o.mu.Lock()
		o.loaded = false
		o.mu.Unlock()
		if err := o.Remove(ctx, name); err != nil {
			return err
		}
		err = o.api.upload(ctx, target, data, size, &a)
	}
	if err != nil {
		return err
	}
	if a.Name != location.AssetName(name) || a.Size != size {
		return fmt.Errorf("GitHub keeps %s as %q with %d bytes, not %d", name, a.Name, a.Size, size)
	}
	o.set(name, &a)
	return nil
}

// Remove implements places.Place.
func (o *GitHub) Remove(ctx context.Context, name string) error {
	a, found, err := o.find(ctx, name)
	if err != nil || !found {
		return err
	}
	if err := o.api.call(ctx, http.MethodDelete, fmt.Sprintf("/releases/assets/%d", a.ID), nil, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o.set(name, nil)
	return nil
}

// Sync implements places.Place. An uploaded asset is durable.
func (o *GitHub) Sync(context.Context) error { return nil }

// jsonBody is the body of a request; nil for none.
func jsonBody(value any) (io.ReaderAt, int64, error) {
	if value == nil {
		return nil, 0, nil
	}
	data, err := json.Marshal(value)
	return bytes.NewReader(data), int64(len(data)), err
}
