package publish

import (
	"context"

	"collet/build/advice"
)

// addDescriptions adds the descriptions that follow from the other files, and checks all descriptions.
func (p *publication) addDescriptions(ctx context.Context) error {
	for _, target := range p.game.Targets() {
		if p.request.Describe != nil {
			if err := p.describe(ctx, target); err != nil {
				return err
			}
		}
		if err := p.game.CheckDescriptions(target); err != nil {
			return err
		}
	}
	return nil
}

// describe adds the descriptions of one target.
func (p *publication) describe(ctx context.Context, target string) error {
	set, err := p.game.Set(target)
	if err != nil {
		return err
	}
	names, err := p.request.Describe(target, set)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := p.game.AddDescription(target, name)
		if err == nil {
			f.Sum, err = p.digester.digestOf(ctx, p.game.FS, f)
		}
		if err != nil {
			return advice.Because(err, "", "description %s", name)
		}
	}
	return nil
}
