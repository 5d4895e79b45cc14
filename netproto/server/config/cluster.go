package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"collet/netproto/compat"
)

// Cluster makes this server a node of a cluster, whose nodes share what Compat.Store holds. Without a Name it is none.
type Cluster struct {
	// Name is this node's name, unlike that of every other node.
	Name string
	// Listen is the HOST:PORT where this node listens for the other members. Empty: it is no member.
	Listen string
	// ListenNodes is the HOST:PORT where a member listens for nodes that are no members. Empty: for none.
	ListenNodes string
	// Peers are the members as NAME=HOST:PORT: for a member all of them with itself, in the same order everywhere, at their Listen;
	// for another node those at their ListenNodes. The first member founds the cluster.
	Peers []string
	// Folder is where a member's engine keeps its files. Empty: Compat.Store with ".cluster".
	Folder string
	// TokenFile is a file with the token that every node has. Empty: the environment variable ClusterToken.
	TokenFile string
	// Certificate, PrivateKey and Authority are PEM files: of this node, and of the authority that signed those of all nodes.
	// Empty: no TLS, which is for addresses of loopback only.
	Certificate, PrivateKey, Authority string
	// Servers are servers of an existing NATS cluster with JetStream, as nats://HOST:PORT, or tls://HOST:PORT for TLS: this node is a client
	// of it, and there are no members. Certificate and PrivateKey are shown to it then, if set; Authority is that of its certificates, and
	// empty for those that this machine trusts.
	Servers []string
	// Credentials is a file for Servers: NATS's own (.creds), or a line USER:PASSWORD or TOKEN. Empty: nothing is shown.
	Credentials string
	// Replicas is how many copies Servers keep at least: 1, 3 or 5. 0: DefaultReplicas.
	Replicas int
	// Found lets this node begin the history in Servers, if neither they nor its store have one: for a new game.
	Found bool
}

// External reports whether this node is a client of an existing NATS cluster.
func (c Cluster) External() bool { return len(c.Servers) > 0 }

const (
	// ClusterToken is the environment variable with the token of a cluster.
	ClusterToken = "COLLET_CLUSTER_TOKEN"
	// DefaultReplicas is the number of copies that survive the loss of one.
	DefaultReplicas = 3
	// maxClusterName is the longest name of a node in bytes.
	maxClusterName = 64
	// maxServers is the largest number of Servers: a NATS cluster names its others by itself.
	maxServers = 16
)

// ClusterFolder is where a member's engine keeps its files.
func (s Settings) ClusterFolder() string {
	if s.Cluster.Folder == "" {
		return s.Compat.Store + ".cluster"
	}
	return s.Cluster.Folder
}

// Peer is a member of a cluster.
type Peer struct{ Name, Address string }

// Members parses Peers.
func (c Cluster) Members() (peers []Peer, err error) {
	for _, text := range c.Peers {
		name, address, both := strings.Cut(text, "=")
		if !both || compat.CheckName(name) != nil || len(name) > maxClusterName || hostPortFault(address) != "" {
			return nil, fmt.Errorf(`%q is no member like "a=10.0.0.1:6222"`, text)
		}
		if slices.ContainsFunc(peers, func(p Peer) bool { return p.Name == name || p.Address == address }) {
			return nil, fmt.Errorf("%q is there twice", text)
		}
		peers = append(peers, Peer{name, address})
	}
	return peers, nil
}

// clusterFault checks the settings of the cluster.
func (s Settings) clusterFault() (key, fault string) {
	c := s.Cluster
	if c.Name == "" {
		for _, set := range []struct {
			key string
			is  bool
		}{
			{"Cluster.Listen", c.Listen != ""}, {"Cluster.ListenNodes", c.ListenNodes != ""}, {"Cluster.Peers", len(c.Peers) > 0}, {"Cluster.Folder", c.Folder != ""},
			{"Cluster.TokenFile", c.TokenFile != ""}, {"Cluster.Certificate", c.Certificate != ""}, {"Cluster.PrivateKey", c.PrivateKey != ""}, {"Cluster.Authority", c.Authority != ""},
			{"Cluster.Servers", len(c.Servers) > 0}, {"Cluster.Credentials", c.Credentials != ""}, {"Cluster.Replicas", c.Replicas != 0},
			{"Cluster.Found", c.Found},
		} {
			if set.is {
				return set.key, "needs Cluster.Name, the name of this node"
			}
		}
		return "", ""
	}
	switch {
	case compat.CheckName(c.Name) != nil || len(c.Name) > maxClusterName:
		return "Cluster.Name", fmt.Sprintf("must have 1 to %d ASCII letters, digits, '_', '.' and '-'", maxClusterName)
	case s.Compat.Store == "":
		return "Cluster.Name", "needs Compat.Store: that is what the nodes share"
	case c.External():
		return c.externalFault()
	}
	peers, err := c.Members()
	own := slices.IndexFunc(peers, func(p Peer) bool { return p.Name == c.Name })
	member := own >= 0
	secure := c.Certificate != ""
	switch {
	case c.Credentials != "" || c.Replicas != 0 || c.Found:
		return "Cluster.Servers", "is not set, and Cluster.Credentials, Cluster.Replicas and Cluster.Found are for these servers"
	case err != nil:
		return "Cluster.Peers", err.Error()
	case len(peers) != 1 && len(peers) != 3:
		return "Cluster.Peers", fmt.Sprintf("has %d members: a cluster has three, or one without a spare; further nodes connect to these", len(peers))
	case c.Listen == "" && member && len(peers) > 1:
		return "Cluster.Listen", fmt.Sprintf("is not set, and %q is among Cluster.Peers: a member listens for the others", c.Name)
	case c.Listen != "" && !member:
		return "Cluster.Listen", fmt.Sprintf("is for members, and %q is not among Cluster.Peers", c.Name)
	case c.ListenNodes != "" && !member:
		return "Cluster.ListenNodes", fmt.Sprintf("is for members, and %q is not among Cluster.Peers", c.Name)
	case (c.Certificate == "") != (c.PrivateKey == "") || (c.Certificate == "") != (c.Authority == ""):
		return "Cluster.Certificate", "TLS needs all three: Cluster.Certificate, Cluster.PrivateKey and Cluster.Authority"
	}
	type address struct{ key, address string }
	addresses := []address{{"Cluster.Listen", c.Listen}, {"Cluster.ListenNodes", c.ListenNodes}}
	for _, p := range peers {
		addresses = append(addresses, address{"Cluster.Peers", p.Address})
	}
	for _, at := range addresses {
		if at.address == "" {
			continue
		}
		if fault := hostPortFault(at.address); fault != "" {
			return at.key, fault
		}
		if host, _, _ := net.SplitHostPort(at.address); !secure && !IsLoopback(host) {
			return at.key, fmt.Sprintf("%q is not on loopback, and needs TLS: set Cluster.Certificate, Cluster.PrivateKey and Cluster.Authority", at.address)
		}
	}
	return "", ""
}

// externalFault checks the settings of a client of an existing NATS cluster.
func (c Cluster) externalFault() (key, fault string) {
	switch {
	case c.Listen != "" || c.ListenNodes != "" || len(c.Peers) > 0 || c.Folder != "" || c.TokenFile != "":
		return "Cluster.Servers", "makes this node a client of a NATS cluster, which has no members of ours: leave out Cluster.Listen, ListenNodes, Peers, Folder and TokenFile"
	case len(c.Servers) > maxServers:
		return "Cluster.Servers", fmt.Sprintf("has %d addresses, at most %d are used: a NATS cluster names the others by itself", len(c.Servers), maxServers)
	case (c.Certificate == "") != (c.PrivateKey == ""):
		return "Cluster.Certificate", "needs Cluster.PrivateKey, and the reverse"
	case !slices.Contains([]int{0, 1, 3, 5}, c.Replicas):
		return "Cluster.Replicas", fmt.Sprintf("is %d: NATS keeps 1, 3 or 5 copies", c.Replicas)
	}
	for i, text := range c.Servers {
		if fault := c.serverFault(text); fault != "" {
			return "Cluster.Servers", fmt.Sprintf("address %d %s", i+1, fault)
		}
	}
	return "", ""
}

// serverFault is what is wrong with an address of a NATS server. It has nothing of the address where that may have a password.
func (c Cluster) serverFault(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "is not like nats://HOST:PORT, or tls://HOST:PORT"
	case u.User != nil:
		return "has a user or a token in it: write these into a file, and name it in Cluster.Credentials"
	case u.Port() != "" && hostPortFault(u.Host) != "":
		return hostPortFault(u.Host)
	case u.Scheme == "nats" && c.Authority == "" && c.Certificate == "" && !IsLoopback(u.Hostname()):
		return fmt.Sprintf("%s is not on loopback, and needs TLS: write tls://%s, or set Cluster.Authority", u, u.Host)
	}
	return ""
}

// hostPortFault is what is wrong with an address.
func hostPortFault(address string) string {
	_, port, err := net.SplitHostPort(address)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 1 || n > 65535 {
		return fmt.Sprintf("%q is no HOST:PORT", address)
	}
	return ""
}

// resolve joins relative paths to base. An empty one stays empty.
func (c *Cluster) resolve(base string) {
	for _, name := range []*string{&c.Folder, &c.TokenFile, &c.Certificate, &c.PrivateKey, &c.Authority, &c.Credentials} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(base, *name)
		}
	}
}

// clusterLayer is one layer of Cluster.
type clusterLayer struct {
	Name, Listen, ListenNodes, Folder, TokenFile, Certificate, PrivateKey, Authority, Credentials *string
	Peers, Servers                                                                                *[]string
	Replicas                                                                                      *int64
	Found                                                                                         *bool
}

func (s sources) applyCluster(set *Cluster, l *clusterLayer, prefix string) {
	setValue(s, prefix, "Cluster.Name", &set.Name, l.Name)
	setValue(s, prefix, "Cluster.Listen", &set.Listen, l.Listen)
	setValue(s, prefix, "Cluster.ListenNodes", &set.ListenNodes, l.ListenNodes)
	setValue(s, prefix, "Cluster.Peers", &set.Peers, l.Peers)
	setValue(s, prefix, "Cluster.Folder", &set.Folder, l.Folder)
	setValue(s, prefix, "Cluster.TokenFile", &set.TokenFile, l.TokenFile)
	setValue(s, prefix, "Cluster.Certificate", &set.Certificate, l.Certificate)
	setValue(s, prefix, "Cluster.PrivateKey", &set.PrivateKey, l.PrivateKey)
	setValue(s, prefix, "Cluster.Authority", &set.Authority, l.Authority)
	setValue(s, prefix, "Cluster.Servers", &set.Servers, l.Servers)
	setValue(s, prefix, "Cluster.Credentials", &set.Credentials, l.Credentials)
	setInt(s, prefix, "Cluster.Replicas", &set.Replicas, l.Replicas)
	setValue(s, prefix, "Cluster.Found", &set.Found, l.Found)
}
