package solid

import "collet/netproto/release"

const (
	// keptShare is the share of a group, in percent of its bytes, that a set must still have for the group to be kept.
	keptShare = 75
	// smallGroup is the size of a small group in bytes, and maxSmall the largest number of them: with more, all are made anew together.
	smallGroup = 16 << 20
	maxSmall   = 8
)

// Plan is the groups of a set's contents. Resources have groups of their own, which targets can share. old is the form of an earlier release,
// or the zero value. Kept groups have their parts, new ones have none. change decides how a content that is in no kept group goes into one: it
// gets the content's stretch as it is, and may make it a form of at most MaxGroup bytes, or set Calls. Its errors are returned.
func Plan(contents []Content, old Form, change func(c Content, stretch *Member) error) ([]Group, error) {
	at := make(map[release.Digest]int, len(contents))
	for i, c := range contents {
		at[c.Sum] = i
	}
	taken := make([]bool, len(contents))
	groups := keep(at, old)
	for _, g := range groups {
		for _, m := range g.Members {
			if m.Content != Gone {
				taken[m.Content] = true
			}
		}
	}
	var open Group
	size := int64(0)
	end := func() {
		if size > 0 {
			groups = append(groups, open)
		}
		open, size = Group{}, 0
	}
	for i, c := range contents {
		m := Member{Content: i, Size: c.Size}
		if !taken[i] {
			if err := change(c, &m); err != nil {
				return nil, err
			}
		}
		if i > 0 && c.Resource != contents[i-1].Resource || size+m.Size > MaxGroup {
			end()
		}
		if !taken[i] {
			open.Members = append(open.Members, m)
			size += m.Size
		}
	}
	end()
	return groups, nil
}

// keep selects the groups of an earlier release that are kept.
func keep(at map[release.Digest]int, old Form) (kept []Group) {
	small := 0
	for _, g := range old.Groups {
		now := Group{Parts: g.Parts}
		for _, m := range g.Members {
			kept := Member{Content: Gone, Size: m.Size}
			if m.Content != Gone {
				if i, stays := at[old.Contents[m.Content].Sum]; stays {
					kept.Content, kept.Recipe, kept.Calls = i, m.Recipe, m.Calls
				}
			}
			now.Members = append(now.Members, kept)
		}
		if now.Live()*100 < now.Size()*keptShare {
			continue
		}
		kept = append(kept, now)
		if now.Size() < smallGroup {
			small++
		}
	}
	if small <= maxSmall {
		return kept
	}
	large := kept[:0]
	for _, g := range kept {
		if g.Size() >= smallGroup {
			large = append(large, g)
		}
	}
	return large
}
