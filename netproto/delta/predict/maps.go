package predict

import (
	"encoding/binary"
	"errors"
	"io"
)

var errImages = errors.New("more areas or bases than the cap, or places outside of the contents")

// Encode is the stream of address maps of a patch.
func (s *Modules) Encode() []byte {
	var b []byte
	for _, areas := range [][]Area{s.Old, s.New} {
		b = binary.AppendUvarint(b, uint64(len(areas)))
		end, address := uint32(0), uint64(0)
		for _, a := range areas {
			b = binary.AppendVarint(b, int64(a.At)-int64(end))
			code := uint64(0)
			if a.Code {
				code = 1
			}
			b = binary.AppendUvarint(b, uint64(a.Size)<<1|code)
			b = binary.AppendUvarint(b, uint64(a.Memory-a.Size))
			b = binary.AppendVarint(b, int64(a.Address-address))
			end, address = a.At+a.Size, a.Address+uint64(a.Size)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.bases)))
	at := base{}
	for _, x := range s.bases {
		b = binary.AppendVarint(b, int64(x.old-at.old))
		b = binary.AppendVarint(b, int64(x.new-x.old))
		at = x
	}
	return b
}

// ReadModules decodes the result of Modules.Encode. The areas lie within old and new contents of the given sizes.
func ReadModules(from io.ByteReader, old, fresh int64) (*Modules, error) {
	r := &numberReader{from: from}
	s := &Modules{Old: r.areas(old), New: r.areas(fresh)}
	count := r.next()
	if count > MaxBases {
		return nil, errImages
	}
	at := base{}
	for range count {
		at.old += uint64(r.signed())
		at.new = at.old + uint64(r.signed())
		s.bases = append(s.bases, at)
	}
	return s, r.err
}

// numberReader reads numbers and records the first error.
type numberReader struct {
	from io.ByteReader
	err  error
}

func (r *numberReader) next() uint64 {
	if r.err != nil {
		return 0
	}
	v, err := binary.ReadUvarint(r.from)
	if r.err = err; err == io.EOF {
		r.err = io.ErrUnexpectedEOF
	}
	return v
}

// signed decodes a number that binary.AppendVarint wrote.
func (r *numberReader) signed() int64 {
	v := r.next()
	return int64(v>>1) ^ -int64(v&1)
}

// areas decodes a list of areas that lie within contents of the given size.
func (r *numberReader) areas(size int64) []Area {
	count := r.next()
	if count > MaxAreas {
		r.err = errImages
		return nil
	}
	var list []Area
	end, address := int64(0), uint64(0)
	for range count {
		at := end + r.signed()
		bytes := r.next()
		memory := r.next()
		address += uint64(r.signed())
		n := int64(bytes >> 1)
		if r.err == nil && (at < 0 || at > size || n > size-at || memory >= 1<<31) {
			r.err = errImages
		}
		if r.err != nil {
			return nil
		}
		list = append(list, Area{At: uint32(at), Size: uint32(n), Memory: uint32(n) + uint32(memory), Address: address, Code: bytes&1 != 0})
		end, address = at+n, address+uint64(n)
	}
	return list
}
