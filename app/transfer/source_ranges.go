package transfer

import (
	"context"

	"collet/platform/span"
)

// stretch is a part of what is wanted of a file, which is kept from before a stop or has to come.
type stretch struct {
	Range
	of   int // which of the wanted ranges
	from int // which of those that have to come; below 0: it is kept
}

// stretches cuts wanted ranges into what is kept and what has to come.
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

// ranges is Fetcher.Ranges for what a stop must not cost: what came before is not asked for again, and what comes is kept.
func (s *Source) ranges(ctx context.Context, o Object, wanted []Range, deliver func(i int, offset int64, data []byte) error) error {
	if err := checkRanges(o, wanted); err != nil {
		return err
	}
	list, missing := stretches(wanted, s.small.has(o.Name))
	page := []byte(nil)
	pass := func() error { // hands over the first stretch if it is kept
		first := list[0]
		list = list[1:]
		for at := first.Start; first.from < 0 && at < first.End; {
			if page == nil {
				page = make([]byte, hashPage)
			}
			n, err := s.small.read(o.Name, at, page[:min(int64(len(page)), first.End-at)])
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
		err := s.fetcher.rangesAs(ctx, o, missing, func(i int, offset int64, data []byte) error {
			for list[0].from != i {
				if err := pass(); err != nil {
					return err
				}
			}
			return deliver(list[0].of, offset, data)
		}, func(at int64, data []byte) { s.small.add(o.Name, o.Size, at, data) })
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
