// Package cluster has tests of several real collet-server processes that share a store: what happens when some of them are killed or
// stopped, or the store moves, and how soon a change is everywhere. They run on loopback, at level all only.
package cluster
