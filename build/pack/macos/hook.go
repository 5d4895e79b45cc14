package macos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"collet/build/pack/bundle"
)

// ApplyHook writes a tree to a folder, which must be empty, hands the .app's path to a hook that signs it, and gives what is
// there then: files that the hook changed and added, by their paths in that folder. So the folder has to stay as long as the
// tree is used.
func ApplyHook(ctx context.Context, app bundle.Tree, folder string, hook func(ctx context.Context, app string) error) (bundle.Tree, error) {
	fail := func(err error) (bundle.Tree, error) { return nil, fmt.Errorf("sign an .app in %s: %w", folder, err) }
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		return fail(errors.Join(err, fmt.Errorf("%d files are there already; give an empty folder", len(left))))
	}
	if err := app.Lay(ctx, folder); err != nil {
		return fail(err)
	}
	top, err := os.ReadDir(folder)
	if err == nil && len(top) != 1 {
		err = fmt.Errorf("want one .app, got %d folders", len(top))
	}
	if err == nil {
		err = hook(ctx, filepath.Join(folder, top[0].Name()))
	}
	if err != nil {
		return fail(err)
	}
	tree, err := bundle.Gather(folder)
	if err != nil {
		return fail(err)
	}
	return tree, nil
}
