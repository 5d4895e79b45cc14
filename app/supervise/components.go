package supervise

import (
	"fmt"

	"collet/runtime/abi"
)

// components is abi.Components in a message.
type components struct {
	Logic     int32       `json:"logic"`
	Patch     uint32      `json:"patch,omitempty"`
	Set       uint64      `json:"set"`
	BuildTime int64       `json:"time,omitempty"`
	BuildSeq  uint64      `json:"seq,omitempty"`
	BuildID   rawString   `json:"id,omitempty"`
	Branch    rawString   `json:"branch,omitempty"`
	Flags     uint32      `json:"flags,omitempty"`
	Entries   []component `json:"entries,omitempty"`
}

type component struct {
	Name      rawString `json:"n"`
	WireID    uint16    `json:"i"`
	Hash      uint64    `json:"h"`
	ChangedAt int64     `json:"c,omitempty"`
	Since     int32     `json:"s,omitempty"`
}

// componentsOf converts a module's components for a message; nil stays nil.
func componentsOf(c *abi.Components) *components {
	if c == nil {
		return nil
	}
	m := &components{
		Logic: c.Logic, Patch: c.Patch, Set: c.Set, BuildTime: c.BuildTime, BuildSeq: c.BuildSeq,
		BuildID: rawString(c.BuildID), Branch: rawString(c.Branch), Flags: c.Flags,
	}
	for _, e := range c.Entries {
		m.Entries = append(m.Entries, component{rawString(e.Name), e.WireID, e.Hash, e.ChangedAt, e.Since})
	}
	return m
}

// abi converts m to the type of package abi; nil stays nil.
func (m *components) abi() *abi.Components {
	if m == nil {
		return nil
	}
	c := &abi.Components{
		Logic: m.Logic, Patch: m.Patch, Set: m.Set, BuildTime: m.BuildTime, BuildSeq: m.BuildSeq,
		BuildID: string(m.BuildID), Branch: string(m.Branch), Flags: m.Flags, Entries: make([]abi.Component, 0, len(m.Entries)),
	}
	for _, e := range m.Entries {
		c.Entries = append(c.Entries, abi.Component{Name: string(e.Name), WireID: e.WireID, Hash: e.Hash, ChangedAt: e.ChangedAt, Since: e.Since})
	}
	return c
}

// validate validates a message against the module contract. The child runs a module's code, so its messages are untrusted.
func (m *components) validate() error {
	switch {
	case len(m.Entries) > abi.MaxComponents:
		return fmt.Errorf("%w: %d components are more than %d", abi.ErrComponents, len(m.Entries), abi.MaxComponents)
	case len(m.BuildID) > abi.MaxBuildID || len(m.Branch) > abi.MaxBranch:
		return fmt.Errorf("%w: its build has too long a name", abi.ErrComponents)
	case m.Logic < 0 || m.Set == 0:
		return fmt.Errorf("%w: logic version %d, set hash %016x", abi.ErrComponents, m.Logic, m.Set)
	}
	for _, e := range m.Entries {
		if e.Name == "" || len(e.Name) > abi.MaxComponentName || e.Hash == 0 {
			return fmt.Errorf("%w: name %.40q, hash %016x", abi.ErrComponents, string(e.Name), e.Hash)
		}
	}
	return nil
}
