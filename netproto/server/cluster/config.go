package cluster

import (
	"crypto/tls"
	"errors"
	"time"
)

// Config says how a node takes part.
type Config struct {
	Name        string   // of this node, unlike that of every other one
	Listen      string   // HOST:PORT for the other members; empty: this node is no member
	ListenNodes string   // HOST:PORT of a member for further nodes; empty: none
	Members     []string // names of the members, of which the first one founds the cluster; of a member
	Peers       []string // HOST:PORT of each of Members, or for another node the members' ListenNodes
	Folder      string   // of the engine's files, of a member
	Token       string   // that all nodes have
	Servers     []string // addresses of an existing NATS cluster, in place of Members, Peers and Token
	Credentials string   // file for Servers; empty: none
	Replicas    int      // copies that Servers keep
	Found       bool     // begin the history in Servers, if neither they nor this node's file have one
	TLS         *tls.Config
	Patience    time.Duration // how long OpenNode waits for the cluster if the node's file has settings; 0: Patience
}

// Times of a node.
const (
	// Patience is how long a start waits for the cluster before it goes on with what the node's file has.
	Patience = 10 * time.Second
	// FoundingTime is how long a start without settings waits for the others.
	FoundingTime = 10 * time.Minute
	// WriteTime is how long a change waits for a majority: an election takes up to 9 s.
	WriteTime = 10 * time.Second
	// QuietTime is how long a majority may be silent before the settings are read-only.
	QuietTime = 5 * time.Second
)

// MinToken is the smallest length of a token in bytes: with letters and digits more than 90 bits.
const MinToken = 16

// member reports whether this node has a replica.
func (c Config) member() bool { return c.Listen != "" || c.alone() }

// alone reports whether this node is the only member.
func (c Config) alone() bool { return len(c.Members) == 1 && c.Members[0] == c.Name }

// external reports whether an existing NATS cluster is the engine.
func (c Config) external() bool { return len(c.Servers) > 0 }

// ErrForked says that a node's file has another history than the cluster.
var ErrForked = errors.New("this node's store has another history than the cluster's: it belongs to another cluster, ran by itself, or the cluster was founded anew from a backup. Keep it elsewhere and start with a new file, which this node fills from the cluster; only the first of Cluster.Peers brings a store along")
