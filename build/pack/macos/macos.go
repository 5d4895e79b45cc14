// Package macos makes the .app of a client: a folder that a Mac shows as one program.
//
//	The Lathe.app/Contents/
//	  Info.plist            what the system wants to know: name, version, icon, links
//	  PkgInfo               "APPL????"
//	  INSTALLED             what the game writes goes to the player's Application Support
//	  MacOS/Lathe           the host
//	  Lathe.dylib           its module, and what else lies beside the host in a portable client
//	  Resources/Core.zip    the packs, and Lathe.icns
//
// A signed .app must never change: the first byte that is written into it makes the system refuse it. So a client in an .app
// is an installed client. Its install folder is Contents, not MacOS as for another host: codesign takes everything in MacOS
// for code and refuses to seal a pack there, while packs in Contents/Resources are where Apple wants data, under the very name
// that portable clients have it by. A module lies in Contents itself, for the same reason that it lies beside the host
// elsewhere: an update's module has that name. It is sealed as a file there and has a signature of its own.
//
// # Signing
//
// Signing needs a Mac. ApplyHook writes the tree to a folder, runs a hook on it, and reads it again. A hook signs
// from the inside to the outside, and what is notarised is stapled:
//
//	codesign --sign "$IDENTITY" --timestamp --options runtime "$APP/Contents/Lathe.dylib"
//	codesign --sign "$IDENTITY" --timestamp --options runtime --entitlements host.plist "$APP"
//	ditto -c -k --keepParent "$APP" app.zip && xcrun notarytool submit app.zip --keychain-profile "$PROFILE" --wait
//	xcrun stapler staple "$APP"
//
// With the hardened runtime a host loads only modules that the same team signed, those of updates too, unless its entitlements
// have com.apple.security.cs.disable-library-validation. A module is signed once, before it is published: an installed module
// that differs from the server's is fetched.
package macos

import (
	"fmt"
	"path"
	"strings"

	"collet/build/pack/bundle"
	"collet/build/pack/icon"
	"collet/netproto/release"
)

// Options are what a game may decide about its .app beyond its Product.
type Options struct {
	BundleID      string // identifier; Product.ID if empty
	MinimumSystem string // oldest macOS; that of the Go that builds hosts if empty
	Category      string // LSApplicationCategoryType; that of games if empty
}

// App is the App of no Options.
func App(b bundle.Bundle) (bundle.Tree, error) { return Options{}.App(b) }

// App is the tree of a client's .app; the folder itself is the first element of every path. The tree of the bundle is the
// portable layout, without INSTALLED.
func (o Options) App(b bundle.Bundle) (bundle.Tree, error) {
	fail := func(err error) (bundle.Tree, error) { return nil, fmt.Errorf("make the .app of %s: %w", b.Base, err) }
	if !strings.HasPrefix(string(b.Target), "macOS-") {
		return fail(fmt.Errorf("target %q is no macOS; want macOS-arm64 or macOS-x64", b.Target))
	}
	plist, err := infoPlist(b, o)
	if err != nil {
		return fail(err)
	}
	pictures, err := icns(b.Product.Icon)
	if err != nil {
		return fail(err)
	}
	entries := []bundle.Entry{
		{Path: "Info.plist", Mode: bundle.Plain, Data: plist},
		{Path: "PkgInfo", Mode: bundle.Plain, Data: []byte("APPL????")},
		{Path: "Resources/" + b.Base + ".icns", Mode: bundle.Plain, Data: pictures},
	}
	host := false
	for _, e := range b.Tree {
		if e.Path == b.Base {
			e.Path, host = "MacOS/"+e.Path, true
		} else if first, _, _ := strings.Cut(e.Path, "/"); strings.EqualFold(first, "MacOS") || strings.EqualFold(first, "_CodeSignature") {
			return fail(fmt.Errorf("%s: this folder of an .app is not for files of a game; choose another name", e.Path))
		}
		entries = append(entries, e)
	}
	if !host {
		return fail(fmt.Errorf("the files have no host %q", b.Base))
	}
	tree, err := bundle.NewTree(entries...)
	if err == nil {
		tree, err = tree.Installed()
	}
	if err != nil {
		return fail(err)
	}
	return bundle.NewTree(tree.Below(path.Join(Folder(b), "Contents"))...)
}

// Folder is the name of the .app: what people read where every system can write that, else the base name.
func Folder(b bundle.Bundle) string {
	if name := title(b) + ".app"; release.CheckPath(name) == nil && !strings.Contains(name, "/") {
		return name
	}
	return b.Base + ".app"
}

// title is what people read, with what sets a variant apart.
func title(b bundle.Bundle) string {
	if rest := variant(b); len(rest) > 0 {
		return b.Product.NiceName + " (" + strings.Join(rest, ", ") + ")"
	}
	return b.Product.NiceName
}

// variant is what a base name has behind the product's name.
func variant(b bundle.Bundle) []string {
	rest := strings.TrimPrefix(b.Base, b.Product.Name)
	return strings.FieldsFunc(rest, func(r rune) bool { return r == '_' || r == ' ' })
}

// iconTypes are the elements of an .icns that have a PNG in them, by their sizes in pixels: those of 10.7, where "@2x" ones
// have twice the pixels of what they are shown as.
var iconTypes = map[int][]string{
	32: {"ic11"}, 64: {"ic12"}, 128: {"ic07"}, 256: {"ic08", "ic13"}, 512: {"ic09", "ic14"}, 1024: {"ic10"},
}

// icns is an icon file: the magic, the length of all, and elements of type, length and PNG. Lengths include their heads.
func icns(name string) ([]byte, error) {
	pictures, err := icon.Scale(name, 32, 64, 128, 256, 512, 1024)
	if err != nil {
		return nil, err
	}
	var body []byte
	for _, p := range pictures {
		for _, kind := range iconTypes[p.Side] {
			body = append(body, element(kind, p.PNG)...)
		}
	}
	return element("icns", body), nil
}
