package predict

// Match says that new[At:At+Size] is an exact or approximate copy of the old bytes at Old.
type Match struct {
	At, Size, Old uint32
}

// End is the offset behind the new bytes.
func (m Match) End() uint32 { return m.At + m.Size }

// OldEnd is the offset behind the old bytes.
func (m Match) OldEnd() uint32 { return m.Old + m.Size }

// Shift is the old offset minus the new one.
func (m Match) Shift() int { return int(m.Old) - int(m.At) }
