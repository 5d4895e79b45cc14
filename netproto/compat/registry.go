package compat

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Component is one line of the table that compatgen writes into compat_gen.go: what a program registers at its start.
type Component struct {
	Entry

	Form       string // the canonical form that Entry.Hash is made of; empty where the declaration is not at hand
	ServerOnly bool   // clients don't know it: it is in no manifest and in no hash over all
}

// ErrUnsealed is the error of a Registry before Seal: a handshake must not see an incomplete set of components.
var ErrUnsealed = errors.New("the components are not registered completely yet: call Seal after the last one")

// Registry collects the components of a program while it starts. It is the guard against a handshake that is judged while half
// of the modules have registered: before Seal there is no manifest to compare. The zero value is empty and ready; all methods
// may be called by several goroutines at once.
type Registry struct {
	mu      sync.Mutex
	shared  []Entry
	names   map[string]bool
	ids     map[uint16]string
	sealed  bool
	set     uint64
	waiting chan struct{} // closed by Seal; nil until the first call of Sealed
}

// Register adds a component. Mistakes of the program panic: a name or an id that is taken, a name that is none, a hash that is
// not that of the form, more than MaxEntries, and a component after Seal.
func (r *Registry) Register(c Component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.refuses(c); why != "" {
		panic(fmt.Sprintf("register component %q: %s", c.Name, why))
	}
	if r.names == nil {
		r.names, r.ids = make(map[string]bool), make(map[uint16]string)
	}
	r.names[c.Name], r.ids[c.WireID] = true, c.Name
	if !c.ServerOnly {
		r.shared = append(r.shared, c.Entry)
	}
}

func (r *Registry) refuses(c Component) string {
	other, taken := r.ids[c.WireID]
	switch err := CheckName(c.Name); {
	case r.sealed:
		return "the registry is sealed: register everything before the first handshake"
	case err != nil:
		return err.Error()
	case r.names[c.Name]:
		return "a component of this name is registered"
	case taken:
		return fmt.Sprintf("its id %d is that of %q", c.WireID, other)
	case len(r.names) >= MaxEntries:
		return fmt.Sprintf("there are %d already, which is as many as there may be", MaxEntries)
	case c.Hash == 0 || c.NameHash != 0:
		return "it needs a hash of its form and a name, and no hash of the name"
	case c.Form != "" && ComponentHash(c.Form) != c.Hash:
		return fmt.Sprintf("its hash %016x is not that of its form, %016x: run go generate", c.Hash, ComponentHash(c.Form))
	default:
		return ""
	}
}

// Seal closes the registry, computes the hash over the shared components, and compares it with the one that was generated;
// 0 compares nothing. If they differ, a component was left out or does not belong here, and the registry stays unsealed.
// Sealing twice with the same hash does nothing.
func (r *Registry) Seal(generated uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	set := SetHash(r.shared)
	if generated != 0 && set != generated {
		return fmt.Errorf("seal components: %d shared ones have the hash %016x, and %016x was generated: one was not registered, or go generate did not run", len(r.shared), set, generated)
	}
	if !r.sealed {
		r.sealed, r.set = true, set
		if r.waiting != nil {
			close(r.waiting)
		}
	}
	return nil
}

// Sealed is closed once the registry is sealed. Work that needs all components waits for it.
func (r *Registry) Sealed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = make(chan struct{})
		if r.sealed {
			close(r.waiting)
		}
	}
	return r.waiting
}

// Manifest is this program's manifest, with build completed by the hash of its components. The error is ErrUnsealed before Seal.
// The caller owns what it gets.
func (r *Registry) Manifest(build Build) (Manifest, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sealed {
		return Manifest{}, ErrUnsealed
	}
	m := Manifest{Mode: ManifestFull, Build: build, Entries: slices.Clone(r.shared)}
	return m, m.Seal()
}
