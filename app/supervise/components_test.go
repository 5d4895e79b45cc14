package supervise

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"collet/runtime/abi"
)

// mostComponents is the largest allowed list of components, each with the longest fields.
func mostComponents() *abi.Components {
	c := &abi.Components{
		Logic: math.MaxInt32, Patch: math.MaxUint32, Set: math.MaxUint64, BuildTime: math.MinInt64, BuildSeq: math.MaxUint64,
		BuildID: strings.Repeat("i", abi.MaxBuildID), Branch: strings.Repeat("b", abi.MaxBranch), Flags: math.MaxUint32,
	}
	for range abi.MaxComponents {
		c.Entries = append(c.Entries, abi.Component{
			Name: strings.Repeat("n", abi.MaxComponentName), WireID: math.MaxUint16, Hash: math.MaxUint64, ChangedAt: math.MinInt64, Since: math.MinInt32,
		})
	}
	return c
}

// TestComponentsTravel checks that all components arrive unchanged, including the largest list.
func TestComponentsTravel(t *testing.T) {
	for name, want := range map[string]*abi.Components{
		"nothing told":  nil,
		"no components": {Logic: 0, Set: 1, Entries: []abi.Component{}},
		"odd names":     {Logic: 7, Set: 5, Entries: []abi.Component{{Name: "a\xff\"\n", Hash: 1}}},
		"the most":      mostComponents(),
	} {
		t.Run(name, func(t *testing.T) {
			line, err := encode(message{Metadata: &metadata{ABI: 3, Components: componentsOf(want)}})
			if err != nil {
				t.Fatal(err)
			}
			m, err := decode(line[:len(line)-1])
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Metadata.Components.abi(); !reflect.DeepEqual(got, want) {
				t.Errorf("%.200v came as %.200v", want, got)
			}
		})
	}
}

// TestComponentsAreChecked lists components that violate the contract; a correct child never sends them.
func TestComponentsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(c *abi.Components){
		"one more":     func(c *abi.Components) { c.Entries = append(c.Entries, c.Entries[0]) },
		"long name":    func(c *abi.Components) { c.Entries[7].Name += "n" },
		"no name":      func(c *abi.Components) { c.Entries[7].Name = "" },
		"no hash":      func(c *abi.Components) { c.Entries[4095].Hash = 0 },
		"no set":       func(c *abi.Components) { c.Set = 0 },
		"no logic":     func(c *abi.Components) { c.Logic = -1 },
		"long build":   func(c *abi.Components) { c.BuildID += "i" },
		"long branch":  func(c *abi.Components) { c.Branch += "b" },
		"nothing else": func(*abi.Components) {},
	} {
		c := mostComponents()
		spoil(c)
		err := (&message{Metadata: &metadata{Components: componentsOf(c)}}).validate()
		if wanted := name != "nothing else"; wanted != errors.Is(err, abi.ErrComponents) || !wanted && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
