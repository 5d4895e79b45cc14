package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"collet/platform/tomllines"
)

// Descriptions of the types of values.
const (
	aText   = "a text in quotes"
	aNumber = "a whole number"
	aTruth  = "true or false"
	aList   = `a list of texts, like ["Core", "Maps"]`
	aTime   = `a time in quotes, like "10s" or "30m"`
	aTable  = "a table of settings"
)

// kind is a setting's full name, the description of its type, its default in words, and its purpose.
type kind struct{ name, want, standard, help string }

// kinds are all settings, in the order of the documentation. A test compares them with the fields of layer and with
// Defaults.
func kinds() []kind {
	return []kind{
		{"CompatibilityVersion", aText, "(required)", "gameplay version of the client that is served"},
		{"Network.ServerPort", aNumber, "4000", "TCP port"},
		{"Network.TlsPort", aNumber, "0", "TCP port for TLS, 0 for none"},
		{"Network.WebSocketPort", aNumber, "0", "TCP port for WebSocket, 0 for none"},
		{"Network.SecuredWebSockets", aTruth, "false", "speak TLS on the WebSocket port"},
		{"Network.UpdateFileMaxPortionSize", aNumber, "1000000", "most bytes in one answer"},
		{"Network.DisableZlibCompression", aTruth, "false", "engine generations: send uncompressed data; clients need the same setting"},
		{"Network.CongestionControl", aText, `"auto"`, "auto, system, or an algorithm's name; auto is bbr for clients that are far away (Linux)"},
		{"Network.SpreadConnections", aNumber, "4", "accepted, unused: a client has one connection"},
		{"Network.ForceMetadataVersion", aText, "(of the packs)", "metadata version for G2b clients, whatever the packs say"},
		{"ServerNetwork.TlsCertificate", aText, `""`, "PEM file of the certificate chain for TLS; a changed one is used within seconds"},
		{"ServerNetwork.TlsPrivateKey", aText, `""`, "PEM file of its key"},
		{"ServerNetwork.WssCertificate", aText, `""`, "PEM file of the chain for the WebSocket port; empty: that of TLS"},
		{"ServerNetwork.WssPrivateKey", aText, `""`, "PEM file of its key"},
		{"ServerNetwork.UpdateFilesInMemory", aTruth, "false", "keep every file in RAM instead of reading it on demand"},
		{"Baking.PlatformBinaries", aText, "PlatformBinaries", "folder with a folder of native modules per target"},
		{"Baking.ClientResources", aText, "Resources", "folder of the resource packs"},
		{"Baking.ClientResourceEntries", aList, "(every pack)", "packs to offer, in order, without .zip; Embedded is skipped"},
		{"Baking.CacheResources", aText, "Cache", "accepted for compatibility with the source; unused"},
		{"Release.Folder", aText, `""`, "release folder, offered instead of Baking's folders; it has the compatibility version"},
		{"Release.Channel", aText, `"stable"`, "channel whose current releases are offered"},
		{"Release.Product", aText, `""`, "product; empty: the only one of the channel"},
		{"Release.TrustRoot", aText, `""`, "root of trust of the folder; empty: its own first root.json"},
		{"Release.Cache", aText, `""`, "folder for unpacked files; empty: .collet-server in the release folder"},
		{"Release.CacheSize", aNumber, "68719476736", "most bytes in it"},
		{"Release.HTTPPrefix", aText, `"/"`, "path of the release folder over HTTP; empty: not served"},
		{"Release.TokensFile", aText, `""`, "file with a bearer token on each line: only who has one gets the release folder over HTTP; empty: everybody"},
		{"Limits.Connections", aNumber, "8192", "clients served at once; further ones are refused"},
		{"Limits.ConnectionsPerAddress", aNumber, "64", "connections of one IPv4 address or IPv6 /64"},
		{"Limits.ConnectionsPerSecond", aNumber, "1000", "new connections per second; further ones wait"},
		{"Limits.ConnectionsPerSecondPerAddress", aNumber, "20", "new connections per second of one address; further ones are refused"},
		{"Limits.HTTPConnections", aNumber, "1024", "simultaneous HTTP connections for files of the release folder"},
		{"Limits.ExemptAddresses", aList, `["127.0.0.0/8", "::1"]`, "addresses that stand for many clients: no limits per address"},
		{"Limits.HandshakeTime", aTime, `"10s"`, "longest time from connecting to a complete handshake"},
		{"Limits.ProgressTime", aTime, `"30s"`, "longest time for receiving 64 KiB of an answer; pings don't count"},
		{"Limits.PingTime", aTime, `"10s"`, "time between pings, and for each answer"},
		{"Limits.IdleTime", aTime, `"30m"`, "longest time without a request"},
		{"Limits.DrainTime", aTime, `"10s"`, "time for pending answers when the server stops"},
		{"Limits.MessageSize", aNumber, "1048576", "most bytes in one message of a client"},
		{"Limits.RequestsInFlight", aNumber, "32", "unanswered requests of a C1 client"},
		{"Limits.ClientBandwidth", aNumber, "0", "bytes a second to one address; 0 is no limit"},
		{"Limits.TotalBandwidth", aNumber, "0", "bytes a second to all clients, in equal shares; 0 is no limit"},
		{"Operations.HTTPAddress", aText, `""`, "HOST:PORT of health, the dashboard and the release folder; empty: off; without a HOST: loopback"},
		{"Operations.HTTPCertificate", aText, `""`, "PEM file of a certificate chain: speak TLS and HTTP/2 on that port"},
		{"Operations.HTTPPrivateKey", aText, `""`, "PEM file of its key"},
		{"Operations.MetricsAddress", aText, `""`, "HOST:PORT of metrics; empty: off; without a HOST: loopback; \"http\" for Operations.HTTPAddress"},
		{"Operations.MetricsFrom", aList, "(see docs)", "addresses that may request health and metrics; default: loopback if a release folder is served, else all"},
		{"Operations.ControlSocket", aText, `""`, "path of the socket for collet-server reload and upgrade; empty: off"},
		{"Operations.Name", aText, `""`, "name of the server in the dashboard; empty: the game's and the machine's"},
		{"Operations.Proposals", aText, `""`, "folder for changes of the release folder that the dashboard proposes; empty: none"},
		{"Operations.Figures", aText, `""`, "folder for the figures of beacons, which clients send to /beacon of Operations.HTTPAddress; empty: none are received"},
		{"Operations.WatchTime", aTime, `"0s"`, "time between checks for new files; 0 is never"},
		{"SignIn.Issuer", aText, `""`, "URL of the provider of OpenID Connect with which people sign in to the dashboard; empty: tokens only"},
		{"SignIn.ClientID", aText, `""`, "id of this server at the provider"},
		{"SignIn.ClientSecretFile", aText, `""`, "file with its secret; empty: the environment variable COLLET_SIGNIN_SECRET, or none"},
		{"SignIn.RedirectURL", aText, `""`, "address of the dashboard for browsers, with the path /admin/signin/callback"},
		{"SignIn.Scopes", aList, `["profile", "email"]`, "scopes beside openid; many providers want \"groups\" here for groups"},
		{"SignIn.NameClaim", aText, `"email"`, "claim with the name of a person for the history; people must not be able to choose it"},
		{"SignIn.RoleClaim", aText, `"groups"`, "claim whose values give the roles; dots lead into objects, as in realm_access.roles"},
		{"SignIn.View", aList, "[]", "values of that claim that may view; \"*\" is every account of the provider"},
		{"SignIn.Operate", aList, "[]", "values that may also change ranges, rules, maintenance and messages"},
		{"SignIn.Release", aList, "[]", "values that may also propose changes of releases"},
		{"SignIn.Admin", aList, "[]", "values that may do all that, and manage tokens"},
		{"Compat.Store", aText, `""`, "file of the operator's settings, audit log, floors and tokens; empty: no changes at run time"},
		{"Compat.Supported", aText, `""`, "logic versions that this server supports, like 5-8; empty: only compatibility versions are compared"},
		{"Compat.Logic", aText, `""`, "the server's own logic version; empty: that of its manifest, or the newest supported one"},
		{"Compat.Manifest", aText, `""`, "manifest.json of the server's own components, from compatgen"},
		{"Compat.Baselines", aText, `""`, "folder of the manifests of released logic versions, from compatgen release"},
		{"Compat.Payloads", aText, `""`, "folder of native modules for older logic versions: LOGIC/TARGET/FILE, with sidecars"},
		{"Compat.Build", aText, `""`, "name of the server's build; empty: that of its manifest"},
		{"Compat.Branch", aText, `""`, "its branch; empty: that of its manifest"},
		{"Compat.Content", aText, `""`, "identity of the served packs, or \"packs\" to derive it from them; clients with other packs are told to fetch these; empty: not compared"},
		{"Compat.Development", aTruth, "false", "a developer's server: shows differences, and replaces no client's build"},
		{"Compat.Lax", aTruth, "false", "allow a server for players that does not enforce components"},
		{"Compat.FloorsByAPI", aTruth, "false", "only the API raises floors; playing a version does not"},
		{"Compat.Hosts", aList, "[]", "host:port of this server as clients know it; redirects must not lead there"},
		{"Cluster.Name", aText, `""`, "name of this node of a cluster, whose nodes share the store; empty: a server by itself"},
		{"Cluster.Listen", aText, `""`, "HOST:PORT where this node listens for the other members; empty: it is no member"},
		{"Cluster.ListenNodes", aText, `""`, "HOST:PORT where a member listens for nodes that are no members; empty: off"},
		{"Cluster.Peers", aList, "[]", "the one or three members, like \"a=10.0.0.1:6222\"; the first founds the cluster. For a node that is no member: at their ListenNodes"},
		{"Cluster.Folder", aText, `""`, "folder of a member's engine; empty: Compat.Store with .cluster"},
		{"Cluster.TokenFile", aText, `""`, "file with the token that all nodes have; empty: the environment variable COLLET_CLUSTER_TOKEN"},
		{"Cluster.Certificate", aText, `""`, "PEM file of this node's certificate, for TLS between nodes; needed beyond loopback"},
		{"Cluster.PrivateKey", aText, `""`, "PEM file of its key"},
		{"Cluster.Authority", aText, `""`, "PEM file of the authority that signed the certificates of all nodes"},
		{"Cluster.Servers", aList, "[]", "servers of an existing NATS cluster with JetStream, like \"tls://nats.example.org:4222\", whose client this node is; no members then"},
		{"Cluster.Credentials", aText, `""`, "file for these servers: .creds, or a line USER:PASSWORD or TOKEN"},
		{"Cluster.Replicas", aNumber, "3", "copies that these servers keep at least: 1, 3 or 5"},
		{"Cluster.Found", aTruth, "false", "begin the history there, if neither these servers nor Compat.Store have one: for a new game, at one node"},
	}
}

// Names are the full names of all settings, in the order of the documentation.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// ownName is a setting's name without its sub-config.
func ownName(key toml.Key) string {
	if len(key) > 2 && strings.EqualFold(key[0], "SubConfig") {
		key = key[2:]
	}
	return strings.Join(key, ".")
}

// expectedKind is the description of a setting's type. Names are case-folded as in the decoder.
func expectedKind(key toml.Key) string {
	name := ownName(key)
	if len(key) == 3 && strings.EqualFold(name, "Parent") {
		return aText
	}
	for _, k := range kinds() {
		if strings.EqualFold(k.name, name) {
			return k.want
		}
	}
	return aTable
}

// decodeFault converts the decoder's errors to *Error: file, line, full name and a text without Go's types.
func decodeFault(file string, err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		faults := make([]error, len(strict.Errors))
		for i := range strict.Errors {
			faults[i] = unknownSetting(file, &strict.Errors[i])
		}
		return errors.Join(faults...)
	}
	var decode *toml.DecodeError
	if !errors.As(err, &decode) {
		return &Error{File: file, Text: err.Error()}
	}
	line, _ := decode.Position()
	key := decode.Key()
	return &Error{File: file, Line: line, Key: strings.Join(key, "."), Text: decodeText(key, decode.Error())}
}

// wrongType matches the decoder's text for a value of the wrong type; the rest of that text names Go types.
var wrongType = regexp.MustCompile(`^cannot (?:decode TOML|store an?) ([a-z ]+?) in`)

func decodeText(key toml.Key, text string) string {
	text = strings.TrimPrefix(text, "toml: ")
	found := wrongType.FindStringSubmatch(text)
	if found == nil || len(key) == 0 {
		return text
	}
	return fmt.Sprintf("the value is of type %s, want %s", found[1], expectedKind(key))
}

func unknownSetting(file string, missing *toml.DecodeError) error {
	line, _ := missing.Position()
	key := missing.Key()
	return &Error{
		File: file, Line: line, Key: strings.Join(key, "."),
		Text: "unknown setting" + DidYouMean(ownName(key), Names()),
	}
}

// places maps settings to their lines. Keys are full names as in Error.Key, case-folded.
type places map[string]int

// lineOf is the line of a name; 0 if the file does not have it.
func (p places) lineOf(name string) int { return p[strings.ToLower(name)] }

// placesOf finds the settings of a document.
func placesOf(data []byte) places {
	return tomllines.Of(data, func(table, name string) string {
		return strings.ToLower(strings.TrimPrefix(table+"."+name, "."))
	})
}
