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

// app packs a macOS application bundle. On a Mac it is signed; elsewhere it notes the steps that remain.
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
			m.printNote(fmt.Sprintf("%s is not signed, which needs a Mac: %s", filepath.Base(out), line))
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

// through runs a tool on an .app in a temporary folder, which stays until Make ends.
func (m *making) through(ctx context.Context, app bundle.Tree, tool func(context.Context, string) error) (bundle.Tree, error) {
	dir, err := os.MkdirTemp(m.work, "app-*")
	if err != nil {
		return nil, err
	}
	return macos.ApplyHook(ctx, app, dir, tool)
}

// printNote reports a manual step.
func (m *making) printNote(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notes != nil {
		m.notes(text)
	}
}
