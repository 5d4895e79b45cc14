package linux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/files"

	"collet/build/pack/bundle"
)

// parcel is a package before it has a format: what it says of itself, and its files.
type parcel struct {
	info    *nfpm.Info
	files   []bundle.Entry    // paths from the root of the system, without the first slash
	config  map[string]bool   // which of them are an administrator's: kept and asked about when both sides changed them
	scripts map[string]string // by when they run: "postinst", "prerm", "postrm"
}

// client is the parcel of a client.
func (o Options) client(b bundle.Bundle, f family) (parcel, error) {
	n, err := namesOf(b)
	if err != nil {
		return parcel{}, err
	}
	info, err := about(b, n.pkg)
	if err != nil {
		return parcel{}, err
	}
	cpu, err := processorOf(b.Target)
	if err != nil {
		return parcel{}, err
	}
	wants, err := needsOf(b.Tree, cpu)
	if err != nil {
		return parcel{}, err
	}
	info.Depends, info.Recommends = f.requires(wants)
	if said := f.says(o); len(said) > 0 {
		info.Depends = said
	}
	if !f.synopsis {
		_, info.Description, _ = strings.Cut(info.Description, "\n")
	}
	tree, err := b.Tree.Installed()
	if err != nil {
		return parcel{}, err
	}
	around, err := surroundings(b, n, f, o.MIMETypes)
	if err != nil {
		return parcel{}, err
	}
	return parcel{info: info, files: append(tree.Below(n.home()), around...)}, nil
}

// surroundings are the files of a client outside of its folder.
func surroundings(b bundle.Bundle, n names, f family, opens []string) ([]bundle.Entry, error) {
	link := path.Join(f.links, n.pkg)
	desktop := entry{command: "/" + link, names: n, product: b.Product, opens: opens}
	all, err := desktop.files("usr")
	if err != nil {
		return nil, err
	}
	target := strings.Repeat("../", strings.Count(f.links, "/")+1) + n.home() + "/" + b.Base
	all = append(all, bundle.Entry{Path: link, Link: strings.Replace(target, "../../usr/", "../", 1)})
	return append(all, papers(b.Product, n.pkg, paper{n.pkg, summary(b.Product), gamesSection})...), nil
}

// about is what every package of a product says of itself.
func about(b bundle.Bundle, pkg string) (*nfpm.Info, error) {
	p := b.Product
	version, err := packageVersion(p.Version)
	if err != nil {
		return nil, err
	}
	cpu, err := processorOf(b.Target)
	if err != nil {
		return nil, err
	}
	info := &nfpm.Info{
		Name: pkg, Arch: cpu.nfpm, Platform: "linux", Version: version, VersionSchema: "none", Section: "games", Priority: "optional",
		Maintainer: p.Maintainer, Vendor: p.Publisher, Homepage: p.Homepage, License: p.License,
		Description: describe(p), MTime: p.Time.UTC(), DisableGlobbing: true,
	}
	info.RPM.Summary, info.RPM.BuildHost, info.RPM.Group = summary(p), "localhost", "Amusements/Games"
	// Every dpkg reads gzip, and policy wants no Zstandard; rpm reads that since 4.14. Packs are hardly smaller at level 9, which takes
	// three times as long.
	info.Deb.Compression, info.RPM.Compression = "gzip:6", "zstd"
	return info, nil
}

// summary is one line without a full stop, as both formats want it.
func summary(p bundle.Product) string { return strings.TrimRight(strings.TrimSpace(p.Summary), ".") }

// describe is the summary and the paragraphs below it, in lines of 79 columns.
func describe(p bundle.Product) string {
	lines, text := []string{summary(p)}, paragraphs(p)
	if len(text) == 1 && strings.TrimRight(text[0], ".") == summary(p) {
		// Policy wants no summary twice.
		text = []string{"This package has " + p.NiceName + ", which keeps itself current when it is started."}
	}
	for i, paragraph := range text {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, wrapped(paragraph, 79)...)
	}
	return strings.Join(lines, "\n")
}

// wrapped is a text in lines of so many characters, or of one longer word.
func wrapped(text string, columns int) (lines []string) {
	line, width := "", 0
	for _, word := range strings.Fields(text) {
		size := utf8.RuneCountInString(word)
		if line != "" && width+1+size > columns {
			lines, line, width = append(lines, line), "", 0
		}
		if line != "" {
			line, width = line+" ", width+1
		}
		line, width = line+word, width+size
	}
	return append(lines, line)
}

// writePackage makes the file, whole or not at all.
func (p parcel) writePackage(ctx context.Context, f family, out string) (err error) {
	if _, err := bundle.NewTree(p.files...); err != nil {
		return err
	}
	stage, err := os.MkdirTemp(filepath.Dir(out), ".package-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	if err := p.stage(ctx, stage, f.max); err != nil {
		return err
	}
	made := filepath.Join(stage, "made")
	file, err := os.Create(made)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Package(p.info, cancelled{ctx, file}), file.Close()); err != nil {
		return err
	}
	return os.Rename(made, out)
}

// cancelled ends a package at its next write after the context has ended.
type cancelled struct {
	ctx context.Context
	to  io.Writer
}

func (c cancelled) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.to.Write(p)
}

// stage gives nfpm its list. It reads files by name, so what is only in memory goes into a folder first.
func (p parcel) stage(ctx context.Context, folder string, most int64) error {
	var total int64
	for i, e := range p.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		content := &files.Content{Source: e.From, Destination: "/" + e.Path, FileInfo: &files.ContentFileInfo{Mode: e.Mode, MTime: p.info.MTime, Owner: "root", Group: "root"}}
		switch {
		case e.Link != "":
			content.Type, content.Source, content.FileInfo.Mode = files.TypeSymlink, e.Link, fs.ModeSymlink|0o777
		case p.config[e.Path]:
			content.Type = files.TypeConfigNoReplace
		}
		if e.Link == "" && e.From == "" {
			content.Source = filepath.Join(folder, strconv.Itoa(i))
			if err := os.WriteFile(content.Source, e.Data, 0o600); err != nil {
				return err
			}
		}
		size, err := sizeOf(e)
		if total += size; err == nil && total > most {
			err = fmt.Errorf("the files have more than %d bytes, which this format can't hold; deliver packs by the first update instead, or as an archive", most)
		}
		if err != nil {
			return err
		}
		p.info.Contents = append(p.info.Contents, content)
	}
	p.info.Contents = append(p.info.Contents, p.folders()...)
	return p.stageScripts(folder)
}

func sizeOf(e bundle.Entry) (int64, error) {
	if e.Link != "" {
		return 0, nil
	}
	in, size, err := e.Open()
	if err != nil {
		return 0, err
	}
	return size, in.Close()
}

// folders are those that belong to the package, which an .rpm has to say, so that they go with it.
func (p parcel) folders() (own files.Contents) {
	seen := map[string]bool{}
	for _, e := range p.files {
		for folder := path.Dir(e.Path); strings.Contains("/"+folder+"/", "/"+p.info.Name+"/") && !seen[folder]; folder = path.Dir(folder) {
			seen[folder] = true
			own = append(own, &files.Content{Destination: "/" + folder, Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: p.info.MTime, Owner: "root", Group: "root"}})
		}
	}
	return own
}

// stageScripts writes what runs around an installation to files.
func (p parcel) stageScripts(folder string) error {
	for name, where := range map[string]*string{"postinst": &p.info.Scripts.PostInstall, "prerm": &p.info.Scripts.PreRemove, "postrm": &p.info.Scripts.PostRemove} {
		text, there := p.scripts[name]
		if !there {
			continue
		}
		*where = filepath.Join(folder, name)
		if err := os.WriteFile(*where, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
