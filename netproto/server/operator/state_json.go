package operator

import (
	"encoding/json"

	"collet/netproto/compat"
)

// rangeless are settings in JSON without the active range, which a server without logic versions does not have.
type rangeless struct {
	compat.Settings
	Min *int32 `json:"active_min,omitempty"` // always nil
	Max *int32 `json:"active_max,omitempty"` // always nil
}

// MarshalJSON implements json.Marshaler. Without logic versions there are no ranges.
func (s State) MarshalJSON() ([]byte, error) {
	type plain State
	if s.Versioned {
		return json.Marshal(plain(s))
	}
	return json.Marshal(struct {
		Settings rangeless `json:"settings"`
		plain
		Supported *compat.Range `json:"supported,omitempty"`
	}{Settings: rangeless{Settings: s.Settings}, plain: plain(s)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *State) UnmarshalJSON(data []byte) error {
	type plain State
	s.Settings.ActiveMin, s.Settings.ActiveMax = compat.NoLogic, compat.NoLogic
	return json.Unmarshal(data, (*plain)(s))
}

// MarshalJSON implements json.Marshaler. Without logic versions there is no range.
func (o Outcome) MarshalJSON() ([]byte, error) {
	type plain Outcome
	if o.Settings.ActiveMax != compat.NoLogic {
		return json.Marshal(plain(o))
	}
	return json.Marshal(struct {
		Settings rangeless `json:"settings"`
		plain
	}{rangeless{Settings: o.Settings}, plain(o)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Outcome) UnmarshalJSON(data []byte) error {
	type plain Outcome
	o.Settings.ActiveMin, o.Settings.ActiveMax = compat.NoLogic, compat.NoLogic
	return json.Unmarshal(data, (*plain)(o))
}
