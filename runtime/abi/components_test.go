package abi_test

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"collet/runtime/abi"
)

// table is what a right module fills in; its memory is pinned until the test ends.
type table struct {
	abi.RawComponents
	entries []abi.RawComponent
	pins    runtime.Pinner
}

// text is the address of a zero-ended string.
func (m *table) text(s string) uintptr {
	data := append([]byte(s), 0)
	m.pins.Pin(&data[0])
	return uintptr(unsafe.Pointer(&data[0]))
}

func newTable(t *testing.T) *table {
	m := &table{entries: make([]abi.RawComponent, 2)}
	t.Cleanup(m.pins.Unpin)
	m.pins.Pin(&m.entries[0])
	m.entries[0] = abi.RawComponent{Hash: 5, ChangedAt: -6, SinceLogic: 7, WireId: 8, Name: m.text("Camera")}
	m.entries[1] = abi.RawComponent{Hash: 1<<64 - 1, WireId: 1<<16 - 1, Name: m.text(strings.Repeat("n", abi.MaxComponentName))}
	m.RawComponents = abi.RawComponents{
		StructSize: abi.ComponentsSize, EntrySize: abi.ComponentSize, Count: 2, LogicVersion: 7, SetHash: 9, BuildTime: 10, BuildSeq: 11, Patch: 12,
		Flags: abi.FlagDevelopment, Entries: uintptr(unsafe.Pointer(&m.entries[0])), BuildId: m.text(strings.Repeat("i", abi.MaxBuildID)), Branch: m.text(strings.Repeat("b", abi.MaxBranch)),
	}
	return m
}

func TestComponentsAreCopied(t *testing.T) {
	m := newTable(t)
	got, err := m.Copy()
	want := &abi.Components{
		Logic: 7, Patch: 12, Set: 9, BuildTime: 10, BuildSeq: 11, Flags: 1, BuildID: strings.Repeat("i", 64), Branch: strings.Repeat("b", 32),
		Entries: []abi.Component{
			{Name: "Camera", WireID: 8, Hash: 5, ChangedAt: -6, Since: 7},
			{Name: strings.Repeat("n", 128), WireID: 1<<16 - 1, Hash: 1<<64 - 1},
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v, want %+v", err, got, want)
	}
	m.BuildId, m.Branch, m.Count, m.Entries = 0, 0, 0, 0
	if got, err := m.Copy(); err != nil || got.BuildID != "" || got.Branch != "" || len(got.Entries) != 0 {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestComponentsAreChecked is the table of what breaks the contract.
func TestComponentsAreChecked(t *testing.T) {
	for name, row := range map[string]struct {
		spoil func(m *table)
		want  error
	}{
		"shorter struct":  {func(m *table) { m.StructSize -= 8 }, abi.ErrStructSize},
		"longer struct":   {func(m *table) { m.StructSize += 8 }, abi.ErrStructSize},
		"no size":         {func(m *table) { m.StructSize = 0 }, abi.ErrStructSize},
		"shorter entries": {func(m *table) { m.EntrySize -= 8 }, abi.ErrStructSize},
		"longer entries":  {func(m *table) { m.EntrySize += 8 }, abi.ErrStructSize},
		"too many":        {func(m *table) { m.Count = abi.MaxComponents + 1 }, abi.ErrComponents},
		"endless":         {func(m *table) { m.Count = 1<<32 - 1 }, abi.ErrComponents},
		"no address":      {func(m *table) { m.Entries = 0 }, abi.ErrComponents},
		"no set":          {func(m *table) { m.SetHash = 0 }, abi.ErrComponents},
		"no logic":        {func(m *table) { m.LogicVersion = -1 }, abi.ErrComponents},
		"null name":       {func(m *table) { m.entries[1].Name = 0 }, abi.ErrNullString},
		"empty name":      {func(m *table) { m.entries[1].Name = m.text("") }, abi.ErrComponents},
		"long name":       {func(m *table) { m.entries[0].Name = m.text(strings.Repeat("n", 129)) }, abi.ErrComponents},
		"no hash":         {func(m *table) { m.entries[1].Hash = 0 }, abi.ErrComponents},
		"long build id":   {func(m *table) { m.BuildId = m.text(strings.Repeat("i", 65)) }, abi.ErrComponents},
		"long branch":     {func(m *table) { m.Branch = m.text(strings.Repeat("b", 33)) }, abi.ErrComponents},
	} {
		m := newTable(t)
		row.spoil(m)
		if got, err := m.Copy(); got != nil || !errors.Is(err, row.want) {
			t.Errorf("%s: %+v, %v, want %v", name, got, err, row.want)
		}
	}
}

// TestAskComponents checks the conversation: a fresh table with its size and room behind it, a module that has nothing to say,
// and one that writes more than there is.
func TestAskComponents(t *testing.T) {
	m := newTable(t)
	got, err := abi.AskComponents(func(asked *abi.RawComponents) bool {
		if *asked != (abi.RawComponents{StructSize: abi.ComponentsSize}) {
			t.Errorf("it is asked with %+v", asked)
		}
		behind := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(asked), abi.ComponentsSize)), abi.Spare)
		for i := range behind {
			behind[i] = 0xEE
		}
		*asked = m.RawComponents
		return true
	})
	if err != nil || got == nil || got.Set != 9 {
		t.Errorf("%v: %+v", err, got)
	}
	got, err = abi.AskComponents(func(asked *abi.RawComponents) bool {
		asked.Count = 1 << 31
		return false
	})
	if got != nil || err != nil {
		t.Errorf("a module that declares nothing: %+v, %v", got, err)
	}
	if got, err = abi.AskComponents(func(*abi.RawComponents) bool { return true }); got != nil || !errors.Is(err, abi.ErrStructSize) {
		t.Errorf("a module that fills nothing: %+v, %v", got, err)
	}
}
