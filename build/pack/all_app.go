package pack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"collet/build/pack/archive"
	"collet/build/pack/bundle"
	"collet/build/pack/macos"
)

// app packs the folder that a Mac shows as one program, signed where there is a Mac to do it. Elsewhere it is told what is
// left to do.
func (m *making) app(ctx context.Context, b bundle.Bundle, out string) error {
	k := m.project.MacOS
	tree, err := macos.Options{BundleID: k.BundleID, MinimumSystem: k.MinimumSystem, Category: k.Category}.App(b)
	if err != nil {
		return err
	}
	o := archive.Options{Time: b.Product.Time, Deflate: true}
	if m.sign.apple == nil {
		return archive.Zip(ctx, tree, out, o)
	}
	if !m.sign.mac {
		for _, line := range m.sign.apple.Plan(macos.Folder(b), filepath.Base(out)) {
			m.note(fmt.Sprintf("%s is not signed, which needs a Mac: %s", filepath.Base(out), line))
		}
		return archive.Zip(ctx, tree, out, o)
	}
	if tree, err = m.through(ctx, tree, m.sign.apple.Sign); err != nil {
		return err
	}
	if err := archive.Zip(ctx, tree, out, o); err != nil || len(m.project.Signing.MacOS.NotarizeCommand) == 0 {
		return err
	}
	if err := m.sign.apple.Notarize(ctx, out); err != nil {
		return err
	}
	if tree, err = m.through(ctx, tree, m.sign.apple.Staple); err != nil {
		return err
	}
	return archive.Zip(ctx, tree, out, o)
}

// through lets a tool have its way with an .app, in a folder that stays until everything is made.
func (m *making) through(ctx context.Context, app bundle.Tree, tool func(context.Context, string) error) (bundle.Tree, error) {
	dir, err := os.MkdirTemp(m.work, "app-*")
	if err != nil {
		return nil, err
	}
	return macos.Through(ctx, app, dir, tool)
}

// note tells of something that has to be done by hand.
func (m *making) note(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notes != nil {
		m.notes(text)
	}
}
