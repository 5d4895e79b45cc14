package publish

import (
	"context"
	"slices"

	"collet/build/publish/check"
	"collet/build/publish/game"
)

// Review is what a check of a game found, before anything was made of it.
type Review struct {
	Findings []check.Finding
	Ignored  []string // what is left out of the release, see Summary.Ignored
}

// review checks what is about to be published for these targets, and shows the findings to the caller, who may end the publication.
func (p *publication) review(ctx context.Context, targets []string) error {
	if p.request.Review == nil {
		return nil
	}
	r := check.Release{Channel: p.request.Channel, Channels: p.releases.channels()}
	for _, t := range targets {
		s := check.Set{Target: t, Files: p.listings[t], IsProgram: p.game.IsProgram(t), Programs: p.game.Programs[t]}
		if o, there := p.before[t]; there {
			s.Before, s.Old = o.entry.Number, o.listing
		}
		s.Open = func(path string) (check.File, error) {
			files := p.game.Files(t)
			at := slices.IndexFunc(files, func(f *game.File) bool { return f.Path == path })
			return openFile(p.game.FS, files[at].Name)
		}
		r.Sets = append(r.Sets, s)
	}
	p.addHistory(&r)
	findings, err := check.Find(r)
	if err != nil {
		return err
	}
	return p.request.Review(ctx, Review{findings, p.game.Ignored})
}

// addHistory adds the targets of the channel's newest release.
func (p *publication) addHistory(r *check.Release) {
	var newest []string
	for _, e := range p.repo.Entries() {
		if e.Product != p.settings.Product || e.Channel != r.Channel || e.Number >= p.request.Number {
			continue
		}
		if e.Number > r.Previous {
			r.Previous, newest = e.Number, nil
		}
		if e.Number == r.Previous {
			newest = append(newest, e.Target)
		}
	}
	if p.request.Target == "" && len(r.Sets) > 0 {
		r.Lacking = slices.DeleteFunc(newest, func(t string) bool { return slices.Contains(p.game.Targets(), t) })
	}
}

// noteBefore keeps the release before the one to publish, unless it is damaged.
func (p *publication) noteBefore(target string, from []releaseLists) {
	earlier := p.releases.earlier(p.entryFor(target))
	if len(from) > 0 && from[0].entry == earlier[0] {
		p.before[target] = from[0]
	}
}
