package pe

import (
	"encoding/binary"
	"errors"
	"io"
)

// Layout of a PDB (LLVM, "The MSF File Format", "The PDB Info Stream", "The PDB DBI Stream").
const (
	msfMagic       = "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00"
	infoStream     = 1
	dbiStream      = 3
	noStream       = 0xffffffff // size of a stream that was deleted
	minBlock       = 512
	maxBlock       = 1 << 16
	maxStreams     = 1 << 16 // numbers of streams have 16 bits
	minInfo        = 28      // version, signature, age, GUID
	minDBI         = 12      // signature, version, age
	dbiAgeAt       = 8
	infoAgeAt      = 8
	infoGUIDAt     = 12
	superBlockSize = len(msfMagic) + 24
)

// msf reads a PDB's streams where they are asked for. A file of any size costs the same few bytes of memory.
type msf struct {
	r         io.ReaderAt
	size      int64
	block     int64
	blocks    int64 // in the file
	directory int64 // bytes
	blockMap  int64 // offset of the list of the directory's blocks
}

// ReadPDB gives the identity of a PDB of size bytes. Its age is that of the debug information, which linkers copy into the
// program; tools that write into a PDB raise only the one of the info stream, which counts where there is no other.
func ReadPDB(r io.ReaderAt, size int64) (ID, error) {
	m, err := openMSF(r, size)
	if err != nil {
		return ID{}, err
	}
	info, err := m.stream(infoStream, minInfo)
	if err != nil {
		return ID{}, err
	}
	if info == nil {
		return ID{}, fault(Malformed, "the PDB has no info stream")
	}
	id := ID{GUID: [16]byte(info[infoGUIDAt:]), Age: binary.LittleEndian.Uint32(info[infoAgeAt:])}
	dbi, err := m.stream(dbiStream, minDBI)
	if err != nil {
		return ID{}, err
	}
	if dbi == nil {
		return id, nil
	}
	id.Age = binary.LittleEndian.Uint32(dbi[dbiAgeAt:])
	return id, nil
}

func openMSF(r io.ReaderAt, size int64) (*msf, error) {
	m := &msf{r: r, size: size}
	if size < int64(superBlockSize) {
		return nil, fault(NotPDB, "it has %d bytes", size)
	}
	super, err := m.readBytes(0, superBlockSize)
	if err != nil {
		return nil, err
	}
	if string(super[:len(msfMagic)]) != msfMagic {
		return nil, fault(NotPDB, "it begins with %q", super[:8])
	}
	field := func(i int) int64 { return int64(binary.LittleEndian.Uint32(super[len(msfMagic)+4*i:])) }
	m.block, m.blocks, m.directory, m.blockMap = field(0), field(2), field(3), field(5)*field(0)
	if m.block < minBlock || m.block > maxBlock || m.block&(m.block-1) != 0 {
		return nil, fault(Malformed, "blocks of %d bytes", m.block)
	}
	if m.blocks*m.block > size {
		return nil, fault(Truncated, "%d blocks of %d bytes don't fit a PDB of %d bytes", m.blocks, m.block, size)
	}
	return m, nil
}

// stream gives the first n bytes of a stream; nil for one that does not exist or is empty.
func (m *msf) stream(number, n int64) ([]byte, error) {
	count, err := m.entry(0)
	if err != nil {
		return nil, err
	}
	if count > maxStreams {
		return nil, fault(Malformed, "%d streams, the limit is %d", count, maxStreams)
	}
	if number >= count {
		return nil, nil
	}
	place := 1 + count // of the stream's list of blocks, in the directory
	for s := range number {
		size, err := m.streamSize(s)
		if err != nil {
			return nil, err
		}
		place += (size + m.block - 1) / m.block
	}
	size, err := m.streamSize(number)
	if err != nil || size == 0 {
		return nil, err
	}
	if size < n {
		return nil, fault(Malformed, "stream %d of the PDB has %d bytes, not %d", number, size, n)
	}
	block, err := m.entry(place)
	if err != nil {
		return nil, err
	}
	return m.inBlock(block, 0, int(n))
}

func (m *msf) streamSize(number int64) (int64, error) {
	size, err := m.entry(1 + number)
	if size == noStream {
		return 0, err
	}
	return size, err
}

// entry is one number of the stream directory: how many streams, their sizes, and their blocks.
func (m *msf) entry(i int64) (int64, error) {
	at := i * 4
	if at+4 > m.directory {
		return 0, fault(Malformed, "the PDB's stream directory ends after %d bytes", m.directory)
	}
	raw, err := m.readBytes(m.blockMap+at/m.block*4, 4)
	if err != nil {
		return 0, err
	}
	raw, err = m.inBlock(int64(binary.LittleEndian.Uint32(raw)), at%m.block, 4)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint32(raw)), nil
}

func (m *msf) inBlock(block, at int64, n int) ([]byte, error) {
	if block >= m.blocks {
		return nil, fault(Malformed, "block %d of %d in a PDB", block, m.blocks)
	}
	return m.readBytes(block*m.block+at, n)
}

func (m *msf) readBytes(at int64, n int) ([]byte, error) {
	data := make([]byte, n)
	read, err := m.r.ReadAt(data, at)
	if read == n {
		return data, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, fault(Truncated, "the PDB ends before offset %d", at+int64(n))
	}
	return nil, err
}
