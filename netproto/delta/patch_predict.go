package delta

import (
	"cmp"
	"context"
	"io"
	"slices"

	"collet/netproto/delta/predict"
)

// encodePrediction fills the streams that control an applier's prediction, and returns the predictor with the same state.
func (m *maker) encodePrediction(ctx context.Context, f *frame, fresh []byte, s *predict.Modules) (*predict.Predictor, error) {
	if s == nil {
		return nil, nil
	}
	f.flags |= flagPredicted
	offsets := predict.NewOffsetMap(f.matches, int64(len(m.old)))
	modes, err := m.chooseModes(ctx, s, offsets, f, fresh)
	if err != nil {
		return nil, err
	}
	f.streams[streamImages], f.streams[streamModes] = s.Encode(), modes
	return predict.NewPredictor(s, offsets, modes), nil
}

// chooseModes tries the modes on each block of a frame and selects the best for each.
func (m *maker) chooseModes(ctx context.Context, s *predict.Modules, offsets *predict.OffsetMap, f *frame, fresh []byte) ([]byte, error) {
	modes := make([]byte, (len(fresh)-1)>>predict.BlockBits+1)
	parts := len(fresh)/partSize + 1
	err := m.parallel(ctx, parts, func(k int) {
		t := predict.NewTrial(m.old, s, offsets, fresh)
		from, to := len(modes)*k/parts, len(modes)*(k+1)/parts
		first, _ := slices.BinarySearchFunc(f.matches, uint32(from)<<predict.BlockBits, func(x predict.Match, at uint32) int { return cmp.Compare(x.End(), at) })
		rest := f.matches[first:]
		for i := from; i < to && ctx.Err() == nil; i++ {
			for len(rest) > 0 && rest[0].End() <= uint32(i)<<predict.BlockBits {
				rest = rest[1:]
			}
			modes[i] = t.Best(i, rest)
		}
	})
	return modes, err
}

// readPredictor makes the predictor for a frame, or none.
func (a *applier) readPredictor(f *appliedFrame) (*predict.Predictor, error) {
	if f.flags&flagPredicted == 0 {
		return nil, nil
	}
	if f.raw[streamImages] > maxImages || f.raw[streamModes] > f.size>>predict.BlockBits+1 {
		return nil, a.src.wrong("the address maps are too large", nil)
	}
	s, err := predict.ReadModules(newNumbers(f.streams[streamImages]), a.old.size(), int64(f.size))
	if err != nil {
		return nil, a.src.wrong("the address maps are damaged", err)
	}
	modes := make([]byte, f.raw[streamModes])
	if _, err := io.ReadFull(f.streams[streamModes], modes); err != nil && len(modes) > 0 {
		return nil, a.src.wrong("the modes are damaged", err)
	}
	return predict.NewPredictor(s, predict.NewOffsetMap(f.matches, a.old.size()), modes), nil
}
