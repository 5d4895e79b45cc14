package location

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Kind is the kind of service. The values are schemes of addresses.
type Kind string

const (
	Web      Kind = "http"   // also https
	GitHub   Kind = "github" //
	Registry Kind = "oci"
)

const (
	defaultTag = "collet"
	publicHost = "github.com"
	// maxText is the longest accepted address in bytes.
	maxText = 1 << 10
	// maxSigned is the longest accepted signed address in bytes: CloudFront's with a policy of its own have about one thousand.
	maxSigned = 4 << 10
)

// Location is the parsed address of a release folder. It is a value without state.
type Location struct {
	Kind  Kind
	Host  string // HOST or HOST:PORT
	Path  string // OWNER/REPO or REPOSITORY; empty for Web
	Tag   string // empty for Web
	Plain bool   // without TLS

	base *url.URL // of the files
}

var (
	errAddress = errors.New("want http://HOST/PATH or https://HOST/PATH without a query, github://OWNER/REPO, or oci://HOST/REPOSITORY")
	errGitHub  = errors.New("want github://OWNER/REPO, if necessary with ?tag=TAG or ?endpoint=HOST")
	errOCI     = errors.New("want oci://HOST/REPOSITORY or oci://HOST/REPOSITORY:TAG with a repository in lower-case letters, if necessary with ?plain-http")
)

// The forms of names. Those of a registry are in the OCI distribution specification; a tag leaves room for what objectsTag appends.
var (
	ownerForm      = onDemand(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)
	repositoryForm = onDemand(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagForm        = onDemand(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)
)

// onDemand compiles a pattern when it is needed first: those with large counts would take milliseconds of each start of a client.
func onDemand(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// maxRepository is the longest accepted name of a repository in bytes.
const maxRepository = 255

// Parse parses an address. Errors do not repeat it, because it may contain a password. A query is refused: a public list would
// publish the signature in it, and other queries select a page, which is no folder.
func Parse(address string) (Location, error) { return parse(address, maxText, false) }

// ParsePrivate is Parse for an address that a person gave to this program alone. That of a web server may have a query, which each
// request has then: the signature of a signed URL.
func ParsePrivate(address string) (Location, error) { return parse(address, maxSigned, true) }

// Shown is an address that a person gave, without its secrets: for messages.
func Shown(address string) string {
	l, err := ParsePrivate(address)
	if err != nil {
		return "an address that can't be read"
	}
	return l.String()
}

func parse(address string, most int, signed bool) (Location, error) {
	u, err := url.Parse(address)
	if err != nil || len(address) > most || u.Host == "" || u.Opaque != "" || u.Fragment != "" {
		return Location{}, errAddress
	}
	switch u.Scheme {
	case "http", "https":
		if !signed && (u.RawQuery != "" || u.ForceQuery) {
			return Location{}, errAddress
		}
		return Location{Kind: Web, Host: u.Host, Plain: u.Scheme == "http", base: u}, nil
	case string(GitHub):
		return parseGitHub(u)
	case string(Registry):
		return parseRegistry(u)
	default:
		return Location{}, errAddress
	}
}

// options are the parameters of an address. ok is false if another one than the known ones is given, or one of them twice.
func options(u *url.URL, known ...string) (values url.Values, ok bool) {
	values, err := url.ParseQuery(u.RawQuery)
	n := 0
	for _, name := range known {
		if given := values[name]; len(given) == 1 {
			n++
		}
	}
	return values, err == nil && n == len(values) && u.User == nil
}

func parseGitHub(u *url.URL) (Location, error) {
	values, ok := options(u, "tag", "endpoint")
	l := Location{Kind: GitHub, Host: publicHost, Path: u.Host + strings.TrimSuffix(u.Path, "/"), Tag: defaultTag}
	if values.Has("tag") {
		l.Tag = values.Get("tag")
	}
	if values.Has("endpoint") {
		l.Host, l.Plain = strings.CutPrefix(values.Get("endpoint"), "http://")
		l.Host = strings.TrimPrefix(l.Host, "https://")
	}
	if !ok || !ownerForm().MatchString(l.Path) || !tagForm().MatchString(l.Tag) || !isHost(l.Host) {
		return Location{}, errGitHub
	}
	l.base = &url.URL{Scheme: l.Scheme(), Host: l.Host, Path: "/" + l.Path + "/releases/download/" + l.Tag}
	return l, nil
}

func parseRegistry(u *url.URL) (Location, error) {
	values, ok := options(u, "plain-http")
	l := Location{Kind: Registry, Host: u.Host, Tag: defaultTag}
	name, tag, tagged := strings.Cut(strings.Trim(u.Path, "/"), ":")
	if tagged {
		l.Tag = tag
	}
	plain := values.Get("plain-http")
	l.Path, l.Plain = name, isLoopback(u.Hostname()) || values.Has("plain-http") && plain != "false"
	if !ok || plain != "" && plain != "true" && plain != "false" || len(name) > maxRepository || !repositoryForm().MatchString(name) ||
		!tagForm().MatchString(l.Tag) || !isHost(l.Host) {
		return Location{}, errOCI
	}
	l.base = &url.URL{Scheme: l.Scheme(), Host: l.Host, Path: "/v2/" + l.Path}
	return l, nil
}

// isHost reports whether text is HOST or HOST:PORT.
func isHost(text string) bool {
	u, err := url.Parse("https://" + text)
	return err == nil && u.Host == text && u.Hostname() != ""
}

// isLoopback reports whether a host is this machine, by its name or address alone.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Scheme is that of the requests: http or https.
func (l Location) Scheme() string {
	if l.Plain {
		return "http"
	}
	return "https"
}

// Origin is the scheme, host and port of the requests, as RFC 6454 compares them.
func (l Location) Origin() string { return OriginOf(l.base) }

// OriginOf is the origin of a URL: scheme://host:port in small letters.
func OriginOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port))
}

// IsSafe reports whether requests are encrypted, or stay on this machine: only then secrets go with them.
func (l Location) IsSafe() bool { return !l.Plain || isLoopback(l.base.Hostname()) }

// HasSignature reports whether the address has a query or a password of its own.
func (l Location) HasSignature() bool {
	return l.Kind == Web && (l.base.RawQuery != "" || l.base.User != nil)
}

// Base is the URL that all URLs of files begin with.
func (l Location) Base() *url.URL {
	base := *l.base
	return &base
}

// String is the address, without user name, password and signature.
func (l Location) String() string {
	switch l.Kind {
	case GitHub:
		return "github://" + l.Path + "?" + l.options().Encode()
	case Registry:
		text := "oci://" + l.Host + "/" + l.Path + ":" + l.Tag
		if l.Plain && !isLoopback(l.base.Hostname()) {
			text += "?plain-http"
		}
		return text
	default:
		base := l.Base()
		base.User, base.RawQuery, base.ForceQuery = nil, "", false
		return base.String()
	}
}

// options are those of an address on GitHub.
func (l Location) options() url.Values {
	values := url.Values{"tag": {l.Tag}}
	switch {
	case l.Plain:
		values.Set("endpoint", "http://"+l.Host)
	case l.Host != publicHost:
		values.Set("endpoint", l.Host)
	}
	return values
}

// FileURL is the URL of a file, by its name in the release folder. It is nil for files that the service has under no URL of their own:
// those in the manifests of a registry.
func (l Location) FileURL(name string) *url.URL {
	switch {
	case l.Kind == Web:
		return l.base.JoinPath(strings.Split(name, "/")...)
	case l.Kind == GitHub:
		return l.base.JoinPath(AssetName(name))
	}
	if sum, _, found := blobOf(name); found {
		return l.BlobURL(sum)
	}
	return nil
}

// ReplacementURL is where a file is while the service has it under no name of its own: GitHub can't replace an asset. It is nil for files
// and services without such moments.
func (l Location) ReplacementURL(name string) *url.URL {
	if l.Kind != GitHub || name != replaced {
		return nil
	}
	return l.FileURL(name + Temporary)
}

// BlobURL is the URL of a registry's blob, by its SHA-256 in hex.
func (l Location) BlobURL(sum string) *url.URL { return l.base.JoinPath("blobs", digestPrefix+sum) }

// ManifestURL is the URL of a registry's manifest with the metadata files; nil for other kinds.
func (l Location) ManifestURL() *url.URL {
	if l.Kind != Registry {
		return nil
	}
	return l.base.JoinPath("manifests", l.Tag)
}
