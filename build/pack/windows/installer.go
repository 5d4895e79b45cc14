package windows

import (
	"context"
	"fmt"
	"slices"

	"collet/build/pack/bundle"
	"collet/netproto/product"
)

// Scope is the set of users an installer installs for. The words stand in descriptions of packages.
type Scope string

// Scopes.
const (
	User    Scope = "user"
	Machine Scope = "machine"
	Ask     Scope = "ask"
)

// uninstaller is the file that a setup leaves beside the game.
const uninstaller = "uninstall.exe"

// maxContent limits the total size of an installer's files in bytes. NSIS stores archive sizes in 31 bits, as do cabinets and MSI tables.
// The rest is reserved for headers.
const maxContent = 2<<30 - 64<<20

// Installer makes installers. The zero value asks for the scope and puts no shortcut on the desktop.
type Installer struct {
	Scope           Scope // empty is Ask
	DesktopShortcut bool  // the setup's default, and the MSI's behaviour
	// Sign signs a program in place: the uninstaller in a setup. nil skips signing. The caller signs the finished installer.
	Sign func(ctx context.Context, program string) error
}

func (i Installer) scope() (Scope, error) {
	if i.Scope == "" {
		return Ask, nil
	}
	if !slices.Contains([]Scope{User, Machine, Ask}, i.Scope) {
		return "", fmt.Errorf("scope %q: want %s, %s or %s", i.Scope, User, Machine, Ask)
	}
	return i.Scope, nil
}

// content returns the checked tree of a bundle with its marker, and its size in bytes.
func content(b bundle.Bundle) (bundle.Tree, int64, error) {
	if want := product.TargetFor("windows", "amd64"); b.Target != want {
		return nil, 0, fmt.Errorf("%s is for %s; installers are made for %s only", b.Name, b.Target, want)
	}
	tree, err := b.Tree.Installed()
	if err != nil {
		return nil, 0, err
	}
	var total int64
	for _, e := range tree {
		if e.Link != "" {
			return nil, 0, fmt.Errorf("%s is a link; installers for Windows have none", e.Path)
		}
		f, size, err := e.Open()
		if err != nil {
			return nil, 0, err
		}
		if err := f.Close(); err != nil {
			return nil, 0, err
		}
		if total += size; total > maxContent {
			return nil, 0, fmt.Errorf("the files have more than %d bytes, which neither NSIS nor MSI can hold: leave large packs out, the client fetches them; or offer a zip", int64(maxContent))
		}
	}
	return tree, total, nil
}
