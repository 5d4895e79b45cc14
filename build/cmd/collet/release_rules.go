package main

import (
	"context"

	"collet/build/cmd/collet/compat"
	"collet/build/cmd/collet/console"
	"collet/netproto/release/trust"
)

// releaseRulesCommand is `collet release rules`.
type releaseRulesCommand struct {
	folderFlags
	keyFlags
	allowFlags
	outputFlags
	compat.RulesFlags
}

// Run signs rules, withdraws them, or shows them.
func (r releaseRulesCommand) Run(ctx context.Context, c console.Console) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.Show {
		return unsigned(ctx, c, r.folderFlags, r.allowFlags, func(w *workshop, _ []*trust.PrivateKey) error { return compat.PrintRules(c.Out, w.Rules()) })
	}
	rules, err := r.Document(ctx)
	if err != nil {
		return err
	}
	return changingWith(ctx, c, r.folderFlags, r.allowFlags, r.outputFlags, func(w *workshop) ([]*trust.PrivateKey, error) {
		return w.signers(r.keyFlags, trust.RoleTimestamp)
	}, func(w *workshop, keys []*trust.PrivateKey) error {
		if err := w.SetRules(ctx, r.Channel, rules, r.Valid.Duration(), keys); err != nil {
			return err
		}
		return compat.PrintRules(c.Out, w.Rules())
	})
}
