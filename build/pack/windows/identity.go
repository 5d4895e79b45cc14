package windows

import (
	"crypto/sha1" // of RFC 9562, version 5; not used for security
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"collet/build/pack/bundle"
	"collet/netproto/release"
)

var guidForm = regexp.MustCompile(`^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$`)

// derived returns a name-based GUID (RFC 9562, version 5) in the namespace of another GUID. Both are in upper case without braces.
func derived(space, name string) string {
	raw, err := hex.DecodeString(strings.ReplaceAll(space, "-", ""))
	if err != nil {
		panic(err) // identify has validated it
	}
	sum := sha1.Sum(append(raw, name...))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	s := strings.ToUpper(hex.EncodeToString(sum[:16]))
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// identity holds the names and codes by which Windows identifies an installed game.
type identity struct {
	upgrade string // upgrade code
	key     string // name of the key among the installed programs
	display string // displayed name
	link    string // name of the shortcuts, without extension
	program string // the host's file name
}

// identify checks the installer-specific fields of a bundle.
func identify(b bundle.Bundle) (identity, error) {
	p := b.Product
	if !guidForm.MatchString(p.UpgradeCode) {
		return identity{}, fmt.Errorf("upgrade code %q: installers for Windows want a GUID in upper case without braces, the same for all versions for ever; "+
			"for a new game it may be %s", p.UpgradeCode, derived("6BA7B811-9DAD-11D1-80B4-00C04FD430C8", p.ID))
	}
	if p.ID == "" || strings.ContainsAny(p.ID, `\/`) {
		return identity{}, fmt.Errorf("id %q can't be the name of a registry key", p.ID)
	}
	id := identity{upgrade: p.UpgradeCode, key: p.ID, display: p.NiceName, program: b.Base + ".exe"}
	if variant := strings.TrimPrefix(b.Base, p.Name); b.Base != p.Name {
		id.upgrade = derived(p.UpgradeCode, b.Base)
		id.key += variant
		id.display += " (" + strings.TrimSpace(strings.ReplaceAll(variant, "_", " ")) + ")"
	}
	id.link = fileName(id.display, b.Base)
	if !has(b.Tree, id.program) {
		return id, fmt.Errorf("the package has no %s: that is what shortcuts start", id.program)
	}
	if has(b.Tree, uninstaller) {
		return id, fmt.Errorf("the package has a file %s, which is the name of what removes it; call yours otherwise", uninstaller)
	}
	return id, nil
}

func has(t bundle.Tree, path string) bool {
	for _, e := range t {
		if strings.EqualFold(e.Path, path) {
			return true
		}
	}
	return false
}

// fileName converts a text to a file name, or returns other if the result is empty.
func fileName(text, other string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<>:"/\|?*`, r) {
			return -1
		}
		return r
	}, text)
	name = strings.TrimRight(strings.Join(strings.Fields(name), " "), ". ")
	if release.CheckPath(name) != nil {
		return other
	}
	return name
}

// SetupName returns the file name of a bundle's setup program.
func SetupName(b bundle.Bundle) string {
	return fmt.Sprintf("%s-%s-64-setup.exe", b.Base, b.Product.Version)
}

// MSIName returns the file name of a bundle's Windows Installer package, in the scheme of the engine's packer.
func MSIName(b bundle.Bundle) string { return fmt.Sprintf("%s-%s-64.msi", b.Base, b.Product.Version) }
