package windows

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"text/template"

	"collet/assets"
	"collet/build/pack/bundle"
	"collet/build/pack/pe"
)

// MSI makes a Windows Installer package. It needs wixl, and msibuild and msiinfo (Debian: wixl, msitools). The scope Ask is
// Machine here.
func (i Installer) MSI(ctx context.Context, b bundle.Bundle, out string) (err error) {
	p, err := i.msiProduct(b)
	if err != nil {
		return fmt.Errorf("MSI of %s: %w", b.Name, err)
	}
	s, err := newStage(b.Product.Time)
	if err != nil {
		return err
	}
	defer s.remove(&err)
	if err := p.makePackage(ctx, s, b); err != nil {
		return fmt.Errorf("MSI of %s: %w", b.Name, err)
	}
	return s.deliver(made, out)
}

// made is the package on its way, in a stage.
const made = "made.msi"

func (p *msiProduct) makePackage(ctx context.Context, s *stage, b bundle.Bundle) error {
	script, err := p.script()
	if err != nil {
		return err
	}
	if err := errors.Join(s.files(ctx, p.tree), s.pictures(b.Product.Icon), s.writeFile("product.wxs", script)); err != nil {
		return err
	}
	if _, err := s.tool(ctx, "wixl", "wixl", "-a", "x64", "-o", made, "product.wxs"); err != nil {
		return err
	}
	icon, err := os.ReadFile(s.path("game.ico"))
	if err != nil {
		return err
	}
	if err := p.finish(ctx, s, p.packageCode(script, icon)); err != nil {
		return err
	}
	data, err := os.ReadFile(s.path(made))
	if err != nil {
		return err
	}
	if err := pinSummary(data, b.Product.Time); err != nil {
		return err
	}
	return os.WriteFile(s.path(made), data, 0o600)
}

// msiProduct is what a package is made of.
type msiProduct struct {
	wxs
	tree      bundle.Tree
	texts     []string // what placeholders stand for, by their numbers
	removals  []removal
	folderIDs map[string]string // of every folder, by its path with slashes; "" is the install folder
}

// wxs fills product.wxs.tmpl.
type wxs struct {
	ID, ProductCode, UpgradeCode, Version                 string
	Display, Publisher, Homepage, Summary, Newer          string
	Machine, Desktop                                      bool
	Folder                                                *wxsFolder
	Components                                            []string
	Link, Program, Scheme, Root, LinkArgs, hostIdentifier string
}

// msiProduct works out all codes and names. They depend on the bundle alone; a component's code depends on its path alone, so that
// versions agree about it.
func (i Installer) msiProduct(b bundle.Bundle) (*msiProduct, error) {
	tree, _, err := content(b)
	if err != nil {
		return nil, err
	}
	id, err := identify(b)
	if err != nil {
		return nil, err
	}
	scope, err := i.scope()
	if err != nil {
		return nil, err
	}
	version, err := msiVersion(b.Product.Version)
	if err != nil {
		return nil, err
	}
	sum, err := digest(tree)
	if err != nil {
		return nil, err
	}
	if scope == Ask {
		scope = Machine
	}
	root := map[Scope]string{User: "HKCU", Machine: "HKLM"}[scope]
	code := derived(id.upgrade, strings.Join([]string{"product", string(scope), b.Product.Version, sum}, "/"))
	p := &msiProduct{tree: tree, removals: removals(tree, b.Base),
		wxs: wxs{ID: b.Product.ID, ProductCode: code, UpgradeCode: id.upgrade, Version: version, Display: id.display,
			Publisher: b.Product.Publisher, Homepage: b.Product.Homepage, Summary: b.Product.Summary,
			Newer:   strings.NewReplacer("{game}", id.display, "{version}", b.Product.Version).Replace(assets.Setup(english)["newer.msi"]),
			Machine: scope == Machine, Desktop: i.DesktopShortcut, Link: id.link, Program: id.program,
			Scheme: b.Product.URIScheme, Root: root, LinkArgs: strings.Join(bundle.LinkArgs(), " ")}}
	p.lay(b.Base)
	return p, nil
}

// msiVersion is a version as Windows Installer compares them: three numbers, of which the first two go up to 255. A fourth one
// is not looked at, so packages that differ in nothing else replace each other.
func msiVersion(text string) (string, error) {
	n, err := pe.VersionNumbers(text)
	if err != nil {
		return "", err
	}
	if n[0] > 255 || n[1] > 255 {
		return "", fmt.Errorf("version %q: Windows Installer takes numbers up to 255.255.65535", text)
	}
	return fmt.Sprintf("%d.%d.%d", n[0], n[1], n[2]), nil
}

// packageCode is a name for everything that is in a package: two packages with one code have the same bytes.
func (p *msiProduct) packageCode(script, icon []byte) string {
	sum := sha256.New()
	for _, part := range [][]byte{script, icon, []byte(strings.Join(p.texts, "\x00"))} {
		fmt.Fprintf(sum, "%d\x00%s", len(part), part)
	}
	return derived(p.ProductCode, "package/"+hex.EncodeToString(sum.Sum(nil)))
}

// digest is a name for the paths and bytes of a tree.
func digest(tree bundle.Tree) (string, error) {
	sum := sha256.New()
	for _, e := range tree {
		if err := digestEntry(sum, e); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func digestEntry(sum hash.Hash, e bundle.Entry) error {
	f, size, err := e.Open()
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "%s\x00%d\x00", e.Path, size)
	_, err = io.Copy(sum, f)
	return errors.Join(err, f.Close())
}

// script writes product.wxs, with placeholders for texts.
func (p *msiProduct) script() ([]byte, error) {
	p.texts = nil
	t, err := template.New("product.wxs.tmpl").Funcs(template.FuncMap{
		"t": p.placeholder, "f": formatted, "x": template.HTMLEscapeString,
	}).ParseFS(templates, "installer/product.wxs.tmpl")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p.wxs); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// placeholder gives the word that stands for a text.
func (p *msiProduct) placeholder(text string) string {
	p.texts = append(p.texts, text)
	return fmt.Sprintf("@%d@", len(p.texts)-1)
}

// formatted is a text in fields where Windows Installer looks for the names of properties.
func formatted(text string) string {
	return strings.NewReplacer("[", `[\[]`, "]", `[\]]`, "{", `[\{]`, "}", `[\}]`).Replace(text)
}
