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
	for name, text := range map[string]string{"on loopback": local, "a further node": further, "all addresses": strings.Replace(clustered, "10.0.0.1:6222\"\nListenN", ":6222\"\nListenN", 1)} {
		if _, err := config.Load(writeSettings(t, text), ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := config.Load(writeSettings(t, strings.Replace(local, "127.0.0.1:6222\"\nListenN", ":6222\"\nListenN", 1)), ""); err == nil || !strings.Contains(err.Error(), "needs TLS") {
		t.Errorf("all addresses without TLS: %v", err)
	}
}
