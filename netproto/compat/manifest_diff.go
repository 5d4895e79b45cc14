package compat

import (
	"slices"
	"strings"
)

// Class says how a component differs between two ends. The words stand in logs and JSON.
type Class string

const (
	ClassAdded      Class = "added"      // on one end only, which is the newer one in this
	ClassRemoved    Class = "removed"    // on one end only, which is the older one in this
	ClassOneSided   Class = "one_sided"  // on one end only; which build is newer is unknown
	ClassModified   Class = "modified"   // on both, and declared differently
	ClassRenumbered Class = "renumbered" // on both, of the same shape, and with another id
)

// Side says where a component is. The words stand in logs and JSON.
type Side string

const (
	OnServer Side = "server"
	OnClient Side = "client"
	OnBoth   Side = "both"
)

// Difference is one component that differs. It is named from both ends, so that both say the same of it.
type Difference struct {
	Name   string // as logs show it: "#" and 16 hex digits where only the name's hash is known here
	Class  Class
	Side   Side
	Server Entry // zero unless it is there
	Client Entry // zero unless it is there
	Age    Age   // of ClassModified: whose declaration is older, by the commits that changed them; otherwise of the builds
}

// Differences are the differences of two manifests. The zero value has no differences.
type Differences struct {
	Server    Build
	Client    Build
	Age       Age          // of the client's build beside the server's
	Items     []Difference // by name
	Unchanged int          // components that are the same at both ends
	Untold    bool         // an end told no components, so that there is nothing to compare
}

// DiffManifests compares a server's manifest with a client's. It is total and takes any two, also unchecked ones; names that
// one end has only hashed are found by the hash. Either end gets the same classes in the same order, as long as it knows the
// names.
func DiffManifests(server, client *Manifest) Differences {
	d := Differences{Server: server.Build, Client: client.Build, Age: AgeOf(client.Build, server.Build)}
	if server.Mode == ManifestNone || client.Mode == ManifestNone {
		d.Untold = true
		return d
	}
	hashed := !server.named() || !client.named()
	there := make(map[string]Entry, len(client.Entries))
	for _, e := range client.Entries {
		there[e.key(hashed)] = e
	}
	for _, s := range server.Entries {
		c, both := there[s.key(hashed)]
		delete(there, s.key(hashed))
		switch {
		case !both:
			d.Items = append(d.Items, oneSided(s, OnServer, d))
		case c.Hash == s.Hash && c.WireID == s.WireID:
			d.Unchanged++
		default:
			d.Items = append(d.Items, twoSided(s, c, d))
		}
	}
	for _, c := range there {
		d.Items = append(d.Items, oneSided(c, OnClient, d))
	}
	slices.SortFunc(d.Items, func(a, b Difference) int { return strings.Compare(a.Name, b.Name) })
	return d
}

// key is what an entry is found by: its name, or where one of the ends hashes them, the hash of it.
func (e Entry) key(hashed bool) string {
	switch {
	case !hashed:
		return e.Name
	case e.Name != "":
		return Entry{NameHash: NameHash(e.Name)}.label()
	default:
		return e.label()
	}
}

// oneSided is the difference of a component that only one end has. It is new there if that build is the newer one, or if it
// came with a logic version above the other end's.
func oneSided(e Entry, side Side, d Differences) Difference {
	item := Difference{Name: e.label(), Class: ClassOneSided, Side: side, Age: d.Age}
	other, newer, older := d.Client.Logic, d.Age == ClientOlder, d.Age == ClientNewer
	if item.Server = e; side == OnClient {
		item.Server, item.Client = Entry{}, e
		other, newer, older = d.Server.Logic, older, newer
	}
	switch {
	case newer, other > NoLogic && e.Since > other:
		item.Class = ClassAdded
	case older:
		item.Class = ClassRemoved
	}
	return item
}

// twoSided is the difference of a component that both ends have.
func twoSided(s, c Entry, d Differences) Difference {
	item := Difference{Name: s.label(), Class: ClassRenumbered, Side: OnBoth, Server: s, Client: c, Age: d.Age}
	if s.Name == "" {
		item.Name = c.label()
	}
	if s.Hash != c.Hash {
		item.Class, item.Age = ClassModified, changed(c.ChangedAt, s.ChangedAt)
	}
	return item
}

// changed says whose declaration is older by the times when they changed, where both are known.
func changed(client, server int64) Age {
	if client == 0 || server == 0 || client == server {
		return AgeUnknown
	}
	return ageBy(client < server, client > server, AgeUnknown)
}

// Equal reports whether both ends told their components, and they are the same.
func (d Differences) Equal() bool { return !d.Untold && len(d.Items) == 0 }

// Names are the names of the differences that a filter wants, in order.
func (d Differences) Names(want func(Difference) bool) (names []string) {
	for _, item := range d.Items {
		if want(item) {
			names = append(names, item.Name)
		}
	}
	return names
}

// The four lists of logs and popups.
func onlyServer(item Difference) bool { return item.Side == OnServer }
func onlyClient(item Difference) bool { return item.Side == OnClient }
func modified(item Difference) bool   { return item.Class == ClassModified }
func renumbered(item Difference) bool { return item.Class == ClassRenumbered }
