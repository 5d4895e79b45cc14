package upload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"collet/build/advice"
	"collet/netproto/release/location"
)

// maxManifests is the largest number of manifests beside the first: those of four million files.
const maxManifests = 1000

// listedVersions is how many versions of the snapshot and of the list of releases readers find: the current one, those that readers of
// another mirror may ask for, and those of interrupted publications, which are newer than the current one.
const listedVersions = 10

// embedded is the file whose bytes are in the manifest, so that readers need one request for it.
const embedded = "metadata/timestamp.json"

// Registry is a repository of an OCI registry. Put writes blobs; Sync writes the manifests that name them. Its methods are safe for concurrent
// use.
type Registry struct {
	at        location.Location
	repo      *remote.Repository
	transport *http.Transport

	mu       sync.Mutex
	loaded   bool
	metadata tagged
	others   []tagged                 // the manifests that list all other files
	files    map[string]location.File // of all manifests, and those that Put wrote
}

// tagged is a manifest in the registry, as it was read or written last; empty if it is not there.
type tagged struct {
	tag  string
	data []byte
}

// OpenRegistry opens an address of an OCI registry. Credentials are those of docker login: DOCKER_CONFIG or ~/.docker/config.json, with its
// helpers.
func OpenRegistry(address string) (*Registry, error) {
	at, err := location.Parse(address)
	if err != nil {
		return nil, advice.Because(err, "", "%q", address)
	}
	repo, err := remote.NewRepository(at.Host + "/" + at.Path)
	if err != nil {
		return nil, advice.Because(err, "", "open %v", at)
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, advice.Because(err, "run docker login, or correct the file that DOCKER_CONFIG names", "credentials for %v", at)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	repo.PlainHTTP = at.Plain
	repo.Client = &auth.Client{Client: &http.Client{Transport: retry.NewTransport(transport)}, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	return &Registry{at: at, repo: repo, transport: transport, metadata: tagged{tag: at.Tag}, files: map[string]location.File{}}, nil
}

func (o *Registry) String() string { return o.at.String() }

// Close closes idle connections.
func (o *Registry) Close() error {
	o.transport.CloseIdleConnections()
	return nil
}

// Limits are those of all registries.
func (o *Registry) Limits() Limits {
	return Limits{Sequels: keptSequels, SequelSize: location.MaxTagged}
}

// load reads the manifests, once. mu is held.
func (o *Registry) load(ctx context.Context) error {
	if o.loaded {
		return nil
	}
	if err := o.read(ctx, &o.metadata); err != nil {
		return err
	}
	for number := range maxManifests {
		m := tagged{tag: o.at.ObjectsTag(number)}
		if err := o.read(ctx, &m); err != nil {
			return err
		}
		if m.data == nil {
			break
		}
		o.others = append(o.others, m)
	}
	o.loaded = true
	return nil
}

// read reads a manifest and records its files.
func (o *Registry) read(ctx context.Context, m *tagged) error {
	data, err := o.manifest(ctx, m.tag)
	if err != nil || data == nil {
		return err
	}
	files, err := location.DecodeManifest(data)
	if err != nil {
		return advice.Because(err, "name another repository or tag, or remove the tag", "the tag %s of %v is in use for something else", m.tag, o.at)
	}
	for _, f := range files {
		o.files[f.Name] = f
	}
	m.data = data
	return nil
}

// manifest reads the manifest of a tag; nil if there is none.
func (o *Registry) manifest(ctx context.Context, tag string) ([]byte, error) {
	_, body, err := o.repo.Manifests().FetchReference(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, o.fault(err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, location.MaxManifest+1))
	return data, o.fault(err)
}

// List implements places.Place. Sequels are not listed: each has a tag of its own.
func (o *Registry) List(ctx context.Context, folder string) (map[string]int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.load(ctx); err != nil {
		return nil, err
	}
	list := map[string]int64{}
	for name, f := range o.files {
		if strings.HasPrefix(name, folder+"/") {
			list[name] = f.Size
		}
	}
	return list, nil
}

// Get implements places.Place.
func (o *Registry) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	f, err := o.find(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case f.Size > limit:
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	case f.Data != nil:
		return f.Data, nil
	}
	body, err := o.repo.Blobs().Fetch(ctx, blob(f.Sum, f.Size))
	if err != nil {
		return nil, o.fault(err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	return data, o.fault(err)
}

func (o *Registry) find(ctx context.Context, name string) (location.File, error) {
	if tag := o.at.SequelTag(name); tag != "" {
		return o.findSequel(ctx, name, tag)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.load(ctx); err != nil {
		return location.File{}, err
	}
	f, found := o.files[name]
	if !found {
		return f, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return f, nil
}

// findSequel reads a sequel with its manifest. A manifest of something else counts as none: Put replaces it.
func (o *Registry) findSequel(ctx context.Context, name, tag string) (location.File, error) {
	data, err := o.manifest(ctx, tag)
	if err != nil {
		return location.File{}, err
	}
	if files, err := location.DecodeManifest(data); err == nil && len(files) == 1 && files[0].Name == name && files[0].Data != nil {
		return files[0], nil
	}
	return location.File{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

// blob describes a blob by its SHA-256 in hex.
func blob(sum string, size int64) v1.Descriptor {
	return v1.Descriptor{MediaType: "application/octet-stream", Digest: digest.NewDigestFromEncoded(digest.SHA256, sum), Size: size}
}

// Put implements places.Place. Readers find the file after the next Sync, and a sequel at once.
func (o *Registry) Put(ctx context.Context, name string, data io.ReaderAt, size int64, _ bool) error {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(data, 0, size)); err != nil {
		return err
	}
	f := location.File{Name: name, Sum: hex.EncodeToString(h.Sum(nil)), Size: size}
	if err := o.push(ctx, blob(f.Sum, size), io.NewSectionReader(data, 0, size)); err != nil {
		return err
	}
	if name == embedded && size <= location.MaxEmbedded {
		f.Data = make([]byte, size)
		if _, err := io.ReadFull(io.NewSectionReader(data, 0, size), f.Data); err != nil {
			return err
		}
	}
	if tag := o.at.SequelTag(name); tag != "" {
		f.Data = make([]byte, size)
		if _, err := io.ReadFull(io.NewSectionReader(data, 0, size), f.Data); err != nil {
			return err
		}
		return o.write(ctx, &tagged{tag: tag}, []location.File{f})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.load(ctx); err != nil {
		return err
	}
	o.files[name] = f
	return nil
}

// push writes a blob unless it is there.
func (o *Registry) push(ctx context.Context, d v1.Descriptor, data io.Reader) error {
	there, err := o.repo.Blobs().Exists(ctx, d)
	if err == nil && !there {
		err = o.repo.Blobs().Push(ctx, d, data)
	}
	return o.fault(err)
}

// Remove implements places.Place. The registry's own garbage collection removes the blob after the next Sync. The tag of a sequel stays, and
// names no file.
func (o *Registry) Remove(ctx context.Context, name string) error {
	if tag := o.at.SequelTag(name); tag != "" {
		data, err := o.manifest(ctx, tag)
		if err != nil || data == nil {
			return err
		}
		return o.write(ctx, &tagged{tag, data}, nil)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.load(ctx)
	delete(o.files, name)
	return err
}

// Sync implements places.Place. It writes the manifests that changed: that of readers last, so that no reader learns of an object that the
// registry may remove.
func (o *Registry) Sync(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.load(ctx); err != nil {
		return err
	}
	metadata, others := o.split()
	number := 0
	for part := range slices.Chunk(others, location.MaxFiles) {
		if number == len(o.others) {
			o.others = append(o.others, tagged{tag: o.at.ObjectsTag(number)})
		}
		if err := o.write(ctx, &o.others[number], part); err != nil {
			return err
		}
		number++
	}
	for ; number < len(o.others); number++ { // a tag can't be removed from every registry, but emptied
		if err := o.write(ctx, &o.others[number], nil); err != nil {
			return err
		}
	}
	if len(metadata) == 0 && o.metadata.data == nil {
		return nil
	}
	return o.write(ctx, &o.metadata, metadata)
}

// split divides the files, sorted by name: those that readers find in the manifest of the tag, and all others. Readers need the newest lists.
// Older ones would make every start dearer.
func (o *Registry) split() (metadata, others []location.File) {
	newest := map[string]int{}
	for name := range o.files {
		if version, kind, found := versionOf(name); found {
			newest[kind] = max(newest[kind], version)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.files)) {
		version, kind, found := versionOf(name)
		if name == embedded || found && (kind == "root.json" || version > newest[kind]-listedVersions) {
			metadata = append(metadata, o.files[name])
		} else {
			others = append(others, o.files[name])
		}
	}
	return metadata, others
}

// versionOf parses the name of a numbered metadata file.
func versionOf(name string) (version int, kind string, found bool) {
	digits, kind, found := strings.Cut(strings.TrimPrefix(name, "metadata/"), ".")
	version, err := strconv.Atoi(digits)
	return version, kind, found && err == nil && strings.HasPrefix(name, "metadata/")
}

// write writes a manifest if it changed.
func (o *Registry) write(ctx context.Context, m *tagged, files []location.File) error {
	data, err := location.EncodeManifest(files)
	if err != nil {
		return advice.Because(err, "run collet release gc --apply", "list of the files of %v", o.at)
	}
	if bytes.Equal(data, m.data) {
		return nil
	}
	config := []byte(location.Empty)
	if err := o.push(ctx, v1.Descriptor{MediaType: location.EmptyType, Digest: digest.FromBytes(config), Size: int64(len(config))}, bytes.NewReader(config)); err != nil {
		return err
	}
	d := v1.Descriptor{MediaType: location.MediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	if err := o.repo.Manifests().PushReference(ctx, d, bytes.NewReader(data), m.tag); err != nil {
		return o.fault(err)
	}
	m.data = data
	return nil
}

// fault adds advice to a registry's error.
func (o *Registry) fault(err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden),
		errors.Is(err, auth.ErrBasicCredentialNotFound):
		return advice.Because(err, "run docker login "+o.at.Host+" with an account that may write there", "%v", o.at)
	default:
		return err
	}
}
