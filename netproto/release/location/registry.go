package location

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Limits of manifests, the first in bytes. Registries accept 4 MiB.
const (
	MaxManifest = 2 << 20
	// MaxFiles is the largest number of files in one manifest: some registries check each blob, and accept a few thousand.
	MaxFiles = 4000
	// MaxEmbedded is the largest size of a file whose bytes are in the manifest.
	MaxEmbedded = 4 << 10
	// MaxTagged is the largest size of a sequel: it is in a manifest of its own, in base64.
	MaxTagged = 1 << 20
	// maxName is the longest name of a file in bytes.
	maxName = 128
)

// The media types. MediaType is that of a manifest itself.
const (
	MediaType    = "application/vnd.oci.image.manifest.v1+json"
	artifactType = "application/vnd.collet.release.v1"
	objectType   = "application/vnd.collet.object.v1"
	headType     = "application/vnd.collet.head.v1"
	metadataType = "application/vnd.collet.metadata.v1+json"
	// EmptyType and Empty are type and content of the configuration blob, which every manifest names.
	EmptyType = "application/vnd.oci.empty.v1+json"
	Empty     = "{}"
	emptySum  = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
)

const (
	digestPrefix = "sha256:"
	titleKey     = "org.opencontainers.image.title"
)

// File is a file in a manifest.
type File struct {
	Name string // in the release folder
	Sum  string // SHA-256 in hex
	Size int64  // bytes
	Data []byte // the file itself, if the manifest has it; otherwise nil
}

// ObjectsTag is the tag of a manifest that lists files for publishers and for the garbage collection. Numbers begin at 0.
func (l Location) ObjectsTag(number int) string { return fmt.Sprintf("%s-objects-%d", l.Tag, number) }

// SequelTag is the tag of the manifest with the bytes of a sequel, by its name in the release folder; empty for other files.
func (l Location) SequelTag(name string) string {
	m := sequelName().FindStringSubmatch(name)
	if m == nil || l.Kind != Registry {
		return ""
	}
	return l.Tag + "-sequel-" + m[1]
}

// SequelURL is the URL of that manifest; nil for other files and other services.
func (l Location) SequelURL(name string) *url.URL {
	tag := l.SequelTag(name)
	if tag == "" {
		return nil
	}
	return l.base.JoinPath("manifests", tag)
}

var (
	// A tag has room for 20 digits; who asks for the wrong sequel has a useless one.
	sequelName = onDemand(`^sequels/([0-9a-f]{20})[0-9a-f]{44}\.sequel$`)
	objectName = onDemand(`^objects/([0-9a-f]{2})/([0-9a-f]{64})$`)
	headName   = onDemand(`^releases/([0-9a-f]{64})\.release$`)
	sumForm    = onDemand(`^[0-9a-f]{64}$`)
)

// blobOf returns the SHA-256 in the name of an object or a head, and its media type.
func blobOf(name string) (sum, mediaType string, found bool) {
	if m := objectName().FindStringSubmatch(name); m != nil && strings.HasPrefix(m[2], m[1]) {
		return m[2], objectType, true
	}
	if m := headName().FindStringSubmatch(name); m != nil {
		return m[1], headType, true
	}
	return "", "", false
}

// descriptor and manifest have the fields of the OCI image specification.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Data        []byte            `json:"data,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	ArtifactType  string       `json:"artifactType,omitempty"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// EncodeManifest is the manifest of files, in their order.
func EncodeManifest(files []File) ([]byte, error) {
	m := manifest{
		SchemaVersion: 2, MediaType: MediaType, ArtifactType: artifactType,
		Config: descriptor{MediaType: EmptyType, Digest: digestPrefix + emptySum, Size: int64(len(Empty))}, Layers: []descriptor{},
	}
	for _, f := range files {
		d := descriptor{MediaType: metadataType, Digest: digestPrefix + f.Sum, Size: f.Size, Data: f.Data}
		if _, mediaType, found := blobOf(f.Name); found {
			d.MediaType = mediaType
		} else {
			d.Annotations = map[string]string{titleKey: f.Name}
		}
		m.Layers = append(m.Layers, d)
	}
	data, err := json.Marshal(m)
	if err == nil && (len(data) > MaxManifest || len(files) > MaxFiles) {
		err = fmt.Errorf("manifest: %d files in %d bytes are too many", len(files), len(data))
	}
	return data, err
}

// maxData is the largest size of a file whose bytes are in a manifest.
func maxData(name string) int64 {
	if sequelName().MatchString(name) {
		return MaxTagged
	}
	return MaxEmbedded
}

var errManifest = errors.New("manifest: not one of a release folder")

// DecodeManifest parses an untrusted manifest.
func DecodeManifest(data []byte) ([]File, error) {
	if len(data) > MaxManifest {
		return nil, fmt.Errorf("manifest: more than %d bytes", MaxManifest)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if len(m.Layers) > MaxFiles || len(m.Layers) > 0 && m.ArtifactType != artifactType {
		return nil, errManifest
	}
	files := make([]File, len(m.Layers))
	for i, d := range m.Layers {
		sum, is := strings.CutPrefix(d.Digest, digestPrefix)
		f := File{Sum: sum, Size: d.Size, Data: d.Data}
		switch d.MediaType {
		case objectType:
			f.Name = "objects/" + sum[:min(len(sum), 2)] + "/" + sum
		case headType:
			f.Name = "releases/" + sum + ".release"
		default:
			f.Name = d.Annotations[titleKey]
		}
		if !is || !sumForm().MatchString(sum) || d.Size < 0 || f.Name == "" || len(f.Name) > maxName ||
			f.Data != nil && (int64(len(f.Data)) != d.Size || d.Size > maxData(f.Name)) {
			return nil, errManifest
		}
		files[i] = f
	}
	return files, nil
}
