package delta

import (
	"errors"
	"io"
)

var errImages = errors.New("more areas or bases than the cap, or places outside of the contents")

// predictor makes the predictor for a frame, or none.
func (a *applier) predictor(f *reading) (*predictor, error) {
	if f.flags&flagPredicted == 0 {
		return nil, nil
	}
	if f.raw[streamImages] > maxImages || f.raw[streamModes] > f.size>>blockBits+1 {
		return nil, a.src.wrong("the address maps are too large", nil)
	}
	s, err := readModules(newNumbers(f.streams[streamImages]), a.old.size(), int64(f.size))
	if err != nil {
		return nil, a.src.wrong("the address maps are damaged", err)
	}
	p := newPredictor(s, newMoves(f.matches, a.old.size()), learnBits)
	p.modes = make([]byte, f.raw[streamModes])
	if _, err := io.ReadFull(f.streams[streamModes], p.modes); err != nil && len(p.modes) > 0 {
		return nil, a.src.wrong("the modes are damaged", err)
	}
	return p, nil
}

// readModules decodes the result of modules.encode.
func readModules(n *numbers, old, fresh int64) (*modules, error) {
	r := &strictNumbers{n: n}
	s := &modules{old: r.areas(old), new: r.areas(fresh)}
	count := r.next()
	if count > maxBases {
		return nil, errImages
	}
	at := base{}
	for range count {
		at.old += uint64(unsigned(r.next()))
		at.new = at.old + uint64(unsigned(r.next()))
		s.bases = append(s.bases, at)
	}
	return s, r.err
}

// strictNumbers records the first error.
type strictNumbers struct {
	n   *numbers
	err error
}

func (r *strictNumbers) next() uint64 {
	if r.err != nil {
		return 0
	}
	v, err := r.n.next()
	if r.err = err; err == io.EOF {
		r.err = io.ErrUnexpectedEOF
	}
	return v
}

// areas decodes a list of areas that lie within contents of the given size.
func (r *strictNumbers) areas(size int64) []area {
	count := r.next()
	if count > maxAreas {
		r.err = errImages
		return nil
	}
	var list []area
	end, address := int64(0), uint64(0)
	for range count {
		at := end + unsigned(r.next())
		bytes := r.next()
		memory := r.next()
		address += uint64(unsigned(r.next()))
		n := int64(bytes >> 1)
		if r.err == nil && (at < 0 || at > size || n > size-at || memory >= 1<<31) {
			r.err = errImages
		}
		if r.err != nil {
			return nil
		}
		list = append(list, area{at: uint32(at), size: uint32(n), memory: uint32(n) + uint32(memory), address: address, code: bytes&1 != 0})
		end, address = at+n, address+uint64(n)
	}
	return list
}
