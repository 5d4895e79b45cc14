package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/server/config"
)

// clustered is a member of a cluster.
const clustered = `CompatibilityVersion = "v"
Compat.Store = "compat.db"
[Cluster]
Name = "a"
Listen = "10.0.0.1:6222"
ListenNodes = "10.0.0.1:6223"
Peers = ["a=10.0.0.1:6222", "b=b.example.org:6222", "c=[fd00::3]:6222"]
TokenFile = "token"
Certificate = "node.pem"
PrivateKey = "node.key"
Authority = "authority.pem"
`

func TestCluster(t *testing.T) {
	t.Parallel()
	path := writeSettings(t, clustered)
	set, err := config.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	members, err := set.Cluster.Members()
	if err != nil || len(members) != 3 || members[2] != (config.Peer{Name: "c", Address: "[fd00::3]:6222"}) || set.Cluster.Authority != filepath.Join(filepath.Dir(path), "authority.pem") {
		t.Errorf("%+v, %v", set.Cluster, err)
	}
	const files = "Certificate = \"node.pem\"\nPrivateKey = \"node.key\"\nAuthority = \"authority.pem\"\n"
	for change, want := range map[string]string{
		"Name = \"a\" → ":                             "Cluster.Listen: needs Cluster.Name",
		"Name = \"a\" → Name = \"a b\"":               "ASCII letters",
		"Name = \"a\" → Name = \"d\"":                 `"d" is not among Cluster.Peers`,
		"Listen = \"10.0.0.1:6222\" → ":               "a member listens for the others",
		"Listen = \"10.0.0.1:6222\" → Listen = \"1\"": "is no HOST:PORT",
		"Compat.Store = \"compat.db\"\n → ":           "needs Compat.Store",
		", \"c=[fd00::3]:6222\" → ":                   "has 2 members",
		"\"b=b.example.org:6222\" → \"b\"":            "is no member like",
		"\"b=b.example.org:6222\" → \"a=b:1\"":        "is there twice",
		"PrivateKey = \"node.key\"\n → ":              "needs all three",
		files + " → ":                                 "Cluster.Listen: \"10.0.0.1:6222\" is not on loopback, and needs TLS",
	} {
		from, to, _ := strings.Cut(change, " → ")
		if _, err := config.Load(writeSettings(t, strings.Replace(clustered, from, to, 1)), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
	local := strings.NewReplacer(files, "", "10.0.0.1", "127.0.0.1", "b.example.org", "localhost", "[fd00::3]", "[::1]").Replace(clustered)
	further := strings.NewReplacer("Name = \"a\"", "Name = \"d\"", "Listen = \"10.0.0.1:6222\"\n", "", "ListenNodes = \"10.0.0.1:6223\"\n", "").Replace(clustered)
	for name, of := range map[string]struct{ text, part string }{
		"on loopback":    {local, "node a, one of the members a=127.0.0.1:6222"},
		"a further node": {further, "node d, no member; asks the members a=10.0.0.1:6222"},
		"all addresses":  {strings.Replace(clustered, "10.0.0.1:6222\"\nListenN", ":6222\"\nListenN", 1), "node a, one of the members a=10.0.0.1:6222"},
	} {
		set, err := config.Load(writeSettings(t, of.text), "")
		if summary := set.Summary(":4000"); err != nil || !strings.Contains(summary, "Cluster:               "+of.part) || !strings.Contains(summary, "Compatibility store:") {
			t.Errorf("%s: %v, %s", name, err, summary)
		}
	}
	if _, err := config.Load(writeSettings(t, strings.Replace(local, "127.0.0.1:6222\"\nListenN", ":6222\"\nListenN", 1)), ""); err == nil || !strings.Contains(err.Error(), "needs TLS") {
		t.Errorf("all addresses without TLS: %v", err)
	}
}

// TestExternalCluster: a client of an existing NATS cluster has no members, and no secret in an address.
func TestExternalCluster(t *testing.T) {
	t.Parallel()
	const good = `CompatibilityVersion = "v"
Compat.Store = "compat.db"
[Cluster]
Name = "n"
Servers = ["tls://nats.example.org:4222", "nats://127.0.0.1:4222"]
Credentials = "collet.creds"
Replicas = 5
`
	path := writeSettings(t, good)
	set, err := config.Load(path, "")
	if err != nil || !set.Cluster.External() || set.Cluster.Credentials != filepath.Join(filepath.Dir(path), "collet.creds") || set.Cluster.Replicas != 5 {
		t.Errorf("%+v, %v", set.Cluster, err)
	}
	for change, want := range map[string]string{
		"Name = \"n\" → ": "Cluster.Servers: needs Cluster.Name",
		"Servers = [\"tls://nats.example.org:4222\", \"nats://127.0.0.1:4222\"] → Peers = [\"n=127.0.0.1:1\"]": "is not set, and Cluster.Credentials",
		"Compat.Store = \"compat.db\"\n → ":                           "needs Compat.Store",
		"Replicas = 5 → Replicas = 2":                                 "Cluster.Replicas: is 2",
		"Replicas = 5 → TokenFile = \"token\"":                        "leave out Cluster.Listen",
		"Replicas = 5 → Certificate = \"node.pem\"":                   "needs Cluster.PrivateKey",
		"tls://nats.example.org → tls://ann:s3cret@nats.example.org":  "address 1 has a user or a token in it",
		"tls://nats.example.org → tls://ann:s3cret%@nats.example.org": "address 1 is not like",
		"tls://nats.example.org → nats://nats.example.org":            "write tls://nats.example.org:4222",
		"tls://nats.example.org:4222 → https://nats.example.org":      "is not like nats://HOST:PORT",
		"tls://nats.example.org:4222 → tls://nats.example.org:99999":  "is no HOST:PORT",
	} {
		from, to, _ := strings.Cut(change, " → ")
		if _, err := config.Load(writeSettings(t, strings.Replace(good, from, to, 1)), ""); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}
