package device

import (
	"errors"

	"collet/netproto/launcher/wire"
	"collet/platform/span"
)

// draftBlock is a block of which parts have arrived. Parts may be sent unreliably, so any may be
// missing or duplicated.
type draftBlock struct {
	came span.Set[uint64] // bytes of the block
}

var errLostParts = errors.New("parts of a block did not arrive: push again")

// takePart writes one Draft part. The last part of a batch and of a block is answered, with success only if everything
// before it in the block has arrived.
func (f *fileWriting) takePart(m *wire.SendFileData) (answer bool, err error) {
	answer = m.Flags&(wire.PartFinish|wire.PartBatch) != 0
	if f.part.failed != nil {
		return answer, f.part.failed
	}
	length, off := uint64(0), uint64(m.Part)*wire.PartSize
	if m.Block < f.count && f.part.size > 0 {
		length = f.length(m.Block)
	}
	if off > length || uint64(len(m.Data)) > length-off {
		return true, f.part.fail(errBeyond)
	}
	if err := f.part.write(uint64(m.Block)*f.blockSize+off, m.Data, uint64(len(m.Data))); err != nil {
		return true, err
	}
	block := f.block(m.Block)
	end := off + uint64(len(m.Data))
	block.came.AddLimited(span.Of(off, end), maxSpans)
	if !answer {
		return false, nil
	}
	if m.Flags&wire.PartFinish != 0 {
		end = length
		defer delete(f.parts, m.Block)
	}
	if !block.came.Contains(span.Of(0, end)) {
		return true, errLostParts
	}
	return true, nil
}

// block returns the record of a block.
func (f *fileWriting) block(index uint32) *draftBlock {
	if f.parts == nil {
		f.parts = map[uint32]*draftBlock{}
	}
	if f.parts[index] == nil {
		f.parts[index] = &draftBlock{}
	}
	return f.parts[index]
}
