// Package cluster is the operator's store that several servers share: settings, history, tokens and floors of all nodes are the same.
//
//	node ─ its file (operator.FileStore) ◂── follows ── log, floors (JetStream, on each member) ── Commit, delivery ──▸
//
// # Members and further nodes
//
// One or three nodes are members: they listen for each other, and each has a replica of what all share, with NATS JetStream as the
// engine inside of the same process. Further nodes connect to the members and listen nowhere. What a majority of the members has
// on its disks is written.
//
// In place of members, servers of an existing NATS cluster can be the engine (Config.Servers). Then all nodes are its clients, and each of
// them founds an empty log. What it lacks or refuses is a *RefusedError.
//
// # What is shared
//
// A log: a stream whose message number n is record n of the history, with the settings and tokens that came with it. A node appends
// a record by publishing it as the one after the newest that it knows; the engine takes it only if that is so. So of two nodes that
// change something at the same moment one is refused (operator.ErrMoved, or *operator.StaleError for settings). The records keep
// their chain of hashes, and every node checks each record against the one before: an engine that lost, changed or reordered
// something is noticed, and not followed.
//
// Floors: a stream that keeps the newest message of each of operator.FloorSets subjects, one for each set of accounts. A node
// changes a set by replacing the message that it has read; the higher floor of an account wins.
//
// # What a node has by itself
//
// Each node has all of it in a file of its own, which is the one that a single server has. It answers every read from there, so
// handshakes never wait for another node. A raised floor is written there and queued, and delivered when a majority answers.
// Without one, Commit is refused with an *operator.ReadOnlyError that says since when, and all else goes on.
//
// # Founding, and recovery
//
// The first of the members founds the cluster: an empty log begins with the history in its file. Any other node waits for that, and
// refuses to go on if its own history is another one (ErrForked). If the engine's files of the members are lost, the log is made
// anew in the same way, and nodes that know more records append them; floors of all nodes are merged.
//
// # Trust
//
// Members and nodes show a token, and with TLS a certificate of the same authority; Config without TLS is for loopback only, which
// package config checks. A node believes what the others say about settings, within the limits that single stores have.
//
// The build tag nocluster leaves the engine out of a program.
package cluster
