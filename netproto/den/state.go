package den

import (
	"fmt"
	"slices"
	"sync"
)

// State is a fixed list of values, shared by both ends of its links. One State may have several links, on several
// connections. All methods are safe for concurrent use.
type State struct {
	mu      sync.Mutex
	values  []Value
	links   []*Link
	changed func(i int)
}

// NewState makes a state of these values; their types never change.
func NewState(values ...Value) *State { return &State{values: slices.Clone(values)} }

// Len is the number of values.
func (s *State) Len() int { return len(s.values) }

// Get is the value at index i. It panics where a slice would.
func (s *State) Get(i int) Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[i]
}

// Set changes the value at index i and notifies the peers, unless v is the same; a floating component counts as the same
// up to a difference of 1e-15. v must have the value's type.
func (s *State) Set(i int, v Value) error {
	if i < 0 || i >= len(s.values) {
		return fmt.Errorf("value %d of a state that has %d; set one that it has", i, len(s.values))
	}
	s.mu.Lock()
	old := s.values[i]
	if old.kind != v.kind {
		s.mu.Unlock()
		return fmt.Errorf("value %d is a %v, not a %v; give it one", i, old.kind, v.kind)
	}
	if old.same(v) {
		s.mu.Unlock()
		return nil
	}
	s.values[i] = v
	links := slices.Clone(s.links)
	s.mu.Unlock()
	spread(links, i, nil)
	return nil
}

// Resend sends the value at index i to all peers, changed or not.
func (s *State) Resend(i int) {
	s.mu.Lock()
	links := slices.Clone(s.links)
	s.mu.Unlock()
	spread(links, i, nil)
}

// OnChange sets the callback for changes by a peer; i is the value's index. changed runs on a socket's goroutine and
// must not block; it may use the state and the connection.
func (s *State) OnChange(changed func(i int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
}

// spread marks value i as changed for the peers of links, except that of except.
func spread(links []*Link, i int, except *Link) {
	for _, l := range links {
		if l != except {
			l.mark(i)
		}
	}
}

// receive sets value i from the peer of from. No connection may be locked.
func (s *State) receive(from *Link, i int, v Value) {
	s.mu.Lock()
	if s.values[i] == v {
		s.mu.Unlock()
		return
	}
	s.values[i] = v
	links, changed := slices.Clone(s.links), s.changed
	s.mu.Unlock()
	spread(links, i, from)
	if changed != nil {
		changed(i)
	}
}

// types are those of the values, in order.
func (s *State) types() []ValueType {
	types := make([]ValueType, len(s.values))
	for i, v := range s.snapshot() {
		types[i] = v.kind
	}
	return types
}

// snapshot copies the values.
func (s *State) snapshot() []Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values)
}

// fits reports whether values have the state's types.
func (s *State) fits(values []Value) bool {
	return slices.EqualFunc(s.snapshot(), values, func(a, b Value) bool { return a.kind == b.kind })
}

func (s *State) attach(l *Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.links, l) {
		s.links = append(s.links, l)
	}
}

func (s *State) detach(l *Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = slices.DeleteFunc(s.links, func(o *Link) bool { return o == l })
}
