package windows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"text/template"

	"collet/assets"
	"collet/build/pack/bundle"
	"collet/build/pack/pe"
)

// NSIS makes a setup program. It needs makensis 3 with the target amd64-unicode (Debian: nsis).
func (i Installer) NSIS(ctx context.Context, b bundle.Bundle, out string) (err error) {
	script, tree, err := i.script(b)
	if err != nil {
		return fmt.Errorf("setup of %s: %w", b.Name, err)
	}
	s, err := newStage(b.Product.Time)
	if err != nil {
		return err
	}
	defer s.remove(&err)
	if err = s.fillSetup(b, script); err == nil {
		err = i.makeSetup(ctx, s, tree)
	}
	if err != nil {
		return fmt.Errorf("setup of %s: %w", b.Name, err)
	}
	return s.deliver(madeSetup, out)
}

// madeSetup is the setup on its way, in a stage.
const madeSetup = "made.exe"

// makeSetup has makensis make the setup. Where programs are signed, it is first made of empty files, only for its uninstaller,
// which is signed and put into the real one: later it can't be reached.
func (i Installer) makeSetup(ctx context.Context, s *stage, tree bundle.Tree) error {
	var options []string
	if i.Sign != nil {
		if err := s.signedUninstaller(ctx, tree, i.Sign); err != nil {
			return err
		}
		options = []string{`-X!uninstfinalize 'cp ` + uninstaller + ` "%1"'`}
	}
	if err := s.files(ctx, tree); err != nil {
		return err
	}
	return s.makensis(ctx, options...)
}

// signedUninstaller makes and signs the uninstaller, and leaves nothing else.
func (s *stage) signedUninstaller(ctx context.Context, tree bundle.Tree, sign func(context.Context, string) error) error {
	for n := range tree {
		if err := s.writeFile(stagedName(n), nil); err != nil {
			return err
		}
	}
	if err := s.makensis(ctx, `-X!uninstfinalize 'cp "%1" `+uninstaller+`'`); err != nil {
		return err
	}
	if err := sign(ctx, s.path(uninstaller)); err != nil {
		return err
	}
	err := os.Remove(s.path(madeSetup))
	for n := range tree {
		err = errors.Join(err, os.Remove(s.path(stagedName(n))))
	}
	return err
}

func (s *stage) makensis(ctx context.Context, options ...string) error {
	args := append([]string{"-NOCONFIG", "-V2", "-WX", "-INPUTCHARSET", "UTF8"}, options...)
	_, err := s.tool(ctx, "nsis", "makensis", append(args, "setup.nsi")...)
	return err
}

func (s *stage) fillSetup(b bundle.Bundle, script []byte) error {
	if err := s.pictures(b.Product.Icon); err != nil {
		return err
	}
	if e, found := license(b.Tree); found {
		text, err := licenseText(e)
		if err != nil {
			return err
		}
		if err := s.writeFile("license.txt", text); err != nil {
			return err
		}
	}
	return s.writeFile("setup.nsi", script)
}

// setupData fills setup.nsi.tmpl. Texts are as people read them; the template has them escaped.
type setupData struct {
	ID, Key, Display, Branding, Version, FourNumbers string
	Publisher, Homepage, Summary, Scheme, LinkArgs   string
	Program, Uninstaller, Link                       string
	UserFolder, MachineFolder                        nsis
	Scope                                            string
	Desktop, License                                 bool
	KiB                                              int64
	Properties                                       []property
	Languages                                        []language
	Folders                                          []setupFolder
	Removed                                          []removed
}

// nsis is a text that is an NSIS string's inside already.
type nsis string

type property struct{ Name, Value string }

type language struct {
	Name, ID string
	Texts    []languageText
}

// languageText has a whole NSIS string as its value.
type languageText struct{ Name, Value string }

// setupFolder is a folder below the install folder: nothing, or a path that begins with a backslash.
type setupFolder struct {
	Path  string
	Files []setupFile
}

type setupFile struct{ Name, Staged string }

// removed is an instruction with a path that begins with a backslash.
type removed struct{ Verb, Path string }

// script writes setup.nsi for a bundle, and says which files it names, in the order of their numbers.
func (i Installer) script(b bundle.Bundle) ([]byte, bundle.Tree, error) {
	tree, size, err := content(b)
	if err != nil {
		return nil, nil, err
	}
	data, err := i.setupData(b, size)
	if err != nil {
		return nil, nil, err
	}
	data.Folders, data.Removed = foldersOf(tree), removedOf(removals(tree, b.Base))
	t, err := template.New("setup.nsi.tmpl").Funcs(template.FuncMap{
		"q": func(text any, variables ...string) string {
			if ready, is := text.(nsis); is {
				return `"` + string(ready) + `"`
			}
			return quoted(fmt.Sprint(text), variables...)
		},
		"e": escaped, "amp": ampersands,
	}).ParseFS(templates, "installer/setup.nsi.tmpl")
	if err != nil {
		return nil, nil, err
	}
	out := bytes.NewBufferString("\ufeff") // without it makensis would read the file in the code page of its user
	if err := t.Execute(out, data); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), tree, nil
}

func (i Installer) setupData(b bundle.Bundle, size int64) (d setupData, err error) {
	id, err := identify(b)
	if err != nil {
		return d, err
	}
	scope, err := i.scope()
	if err != nil {
		return d, err
	}
	numbers, err := pe.VersionNumbers(b.Product.Version)
	if err != nil {
		return d, err
	}
	p := b.Product
	_, licensed := license(b.Tree)
	d = setupData{
		ID: p.ID, Key: `Software\Microsoft\Windows\CurrentVersion\Uninstall\` + id.key, Display: id.display, Branding: id.display + " " + p.Version,
		Version: p.Version, FourNumbers: fmt.Sprintf("%d.%d.%d.%d", numbers[0], numbers[1], numbers[2], numbers[3]),
		Publisher: p.Publisher, Homepage: p.Homepage, Summary: p.Summary, Scheme: p.URIScheme, LinkArgs: strings.Join(bundle.LinkArgs(), " "),
		Program: id.program, Uninstaller: uninstaller, Link: id.link,
		UserFolder: nsis(`$LOCALAPPDATA\Programs\` + escaped(b.Base)), MachineFolder: nsis(`$PROGRAMFILES64\` + escaped(b.Base)),
		Scope: string(scope), Desktop: i.DesktopShortcut, License: licensed, KiB: (size + 1023) / 1024,
		Properties: []property{{"ProductName", id.display}, {"ProductVersion", p.Version}, {"FileVersion", p.Version},
			{"CompanyName", p.Publisher}, {"FileDescription", id.display + " Setup"}, {"LegalCopyright", p.Publisher}},
	}
	d.Languages = languagesOf(id.display, p.Version)
	return d, nil
}

// languagesOf gives every text of every language as an NSIS string.
func languagesOf(game, version string) (list []language) {
	keys := sortedKeys(assets.Setup(english))
	for _, tag := range languages() {
		w, about := assets.Setup(tag), assets.AboutOf(tag)
		l := language{Name: about.NSIS, ID: about.LCID}
		for _, key := range keys {
			if strings.HasSuffix(key, ".msi") {
				continue
			}
			l.Texts = append(l.Texts, languageText{strings.ReplaceAll(key, ".", "_"), nsisText(key, w[key], game, version)})
		}
		list = append(list, l)
	}
	return list
}

// foldersOf groups files by folder, as a script names them.
func foldersOf(tree bundle.Tree) (list []setupFolder) {
	at := map[string]int{}
	for i, e := range tree {
		dir := windowsPath(path.Dir("/" + e.Path))
		n, known := at[dir]
		if !known {
			n = len(list)
			at[dir], list = n, append(list, setupFolder{Path: strings.TrimSuffix(dir, `\`)})
		}
		list[n].Files = append(list[n].Files, setupFile{path.Base(e.Path), stagedName(i)})
	}
	return list
}

func removedOf(list []removal) (out []removed) {
	verbs := map[kindOf]string{file: "Delete", empty: "RMDir", folder: "RMDir /r"}
	for _, r := range list {
		out = append(out, removed{verbs[r.kind], windowsPath("/" + r.path)})
	}
	return out
}

func windowsPath(slashes string) string { return strings.ReplaceAll(slashes, "/", `\`) }
