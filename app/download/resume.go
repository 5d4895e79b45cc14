package download

import (
	"context"

	"collet/platform/span"
)

// stretch is a part of the wanted ranges of a file that is either kept or missing.
type stretch struct {
	Range
	of   int // index of the wanted range
	from int // index of the missing range; below 0: the stretch is kept
}

// stretches splits wanted ranges into kept and missing stretches.
func stretches(wanted []Range, kept span.Set[int64]) (list []stretch, missing []Range) {
	for i, r := range wanted {
		at := r.Start
		for _, m := range kept.Gaps(r) {
			if m.Start > at {
				list = append(list, stretch{span.Of(at, m.Start), i, -1})
			}
			list = append(list, stretch{m, i, len(missing)})
			missing, at = append(missing, m), m.End
		}
		if at < r.End {
			list = append(list, stretch{span.Of(at, r.End), i, -1})
		}
	}
	return list, missing
}

// RangesKept is Ranges that survives a stop of the process: kept bytes are not fetched again, and received bytes are kept.
func (f *Fetcher) RangesKept(ctx context.Context, o Object, wanted []Range, kept *Pieces, deliver func(i int, offset int64, data []byte) error) error {
	if err := checkRanges(o, wanted); err != nil {
		return err
	}
	list, missing := stretches(wanted, kept.ranges(o.Name))
	page := []byte(nil)
	pass := func() error { // delivers the first stretch if it is kept
		first := list[0]
		list = list[1:]
		for at := first.Start; first.from < 0 && at < first.End; {
			if page == nil {
				page = make([]byte, hashPage)
			}
			n, err := kept.read(o.Name, at, page[:min(int64(len(page)), first.End-at)])
			if err == nil {
				err = ctx.Err()
			}
			if err == nil {
				err = deliver(first.of, at, page[:n])
			}
			if err != nil {
				return err
			}
			at += int64(n)
		}
		return nil
	}
	if len(missing) > 0 {
		err := f.rangesAs(ctx, o, missing, func(i int, offset int64, data []byte) error {
			for list[0].from != i {
				if err := pass(); err != nil {
					return err
				}
			}
			return deliver(list[0].of, offset, data)
		}, func(at int64, data []byte) { kept.Add(o.Name, o.Size, at, data) })
		if err != nil {
			return err
		}
	}
	for len(list) > 0 {
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

// SmallKept is Small that survives a stop of the process. If no mirror delivers the rest of a partly kept file, the whole file is
// fetched again.
func (f *Fetcher) SmallKept(ctx context.Context, name string, limit int64, kept *Pieces) ([]byte, error) {
	here, whole := kept.Prefix(name, limit)
	if whole {
		return here, nil
	}
	keep := func(at int64, data []byte) { kept.Add(name, -1, at, data) }
	data, err := f.rest(ctx, name, limit, here, keep)
	if err != nil && len(here) > 0 && ctx.Err() == nil {
		kept.Drop(name)
		data, err = f.rest(ctx, name, limit, nil, keep)
	}
	return data, err
}
