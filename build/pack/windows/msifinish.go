package windows

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// utf8Database is the table that sets the code page of a database. Windows Installer and Wine take UTF-8.
const utf8Database = "\r\n\r\n65001\t_ForceCodepage\r\n"

// sameVersion is the row of the table Upgrade that finds older versions, made to find the same version, too:
// msidbUpgradeAttributesVersionMinInclusive (256) and msidbUpgradeAttributesVersionMaxInclusive (512).
const (
	olderOnly = "\t256\t\tOLDER"
	olderSame = "\t768\t\tOLDER"
)

// finish puts texts and rows in that wixl can't write, and the package code and names into the summary information.
func (p *msiProduct) finish(ctx context.Context, s *stage, packageCode string) error {
	out, err := s.tool(ctx, "msitools", "msiinfo", "tables", made)
	if err != nil {
		return err
	}
	if err := s.writeFile("codepage.idt", []byte(utf8Database)); err != nil {
		return err
	}
	args := []string{made, "-i", "codepage.idt"}
	for _, table := range slices.Sorted(slices.Values(strings.Fields(string(out)))) {
		changed, err := p.table(ctx, s, table)
		if err != nil {
			return err
		}
		if changed {
			args = append(args, "-i", table+".idt")
		}
	}
	args = append(args, "-s", p.Display, p.Publisher, "x64;1033", "{"+packageCode+"}")
	_, err = s.tool(ctx, "msitools", "msibuild", args...)
	return err
}

// table writes <table>.idt if the table has to become another.
func (p *msiProduct) table(ctx context.Context, s *stage, table string) (changed bool, err error) {
	if strings.HasPrefix(table, "_") || table == "Icon" || table == "Binary" {
		return false, nil // of the system, or with bytes that have no text
	}
	out, err := s.tool(ctx, "msitools", "msiinfo", "export", made, table)
	if err != nil {
		return false, err
	}
	text, err := p.filled(table, string(out))
	if err != nil || text == string(out) {
		return false, err
	}
	return true, s.writeFile(table+".idt", []byte(text))
}

// filled is a table's text with all that it lacks.
func (p *msiProduct) filled(table, text string) (string, error) {
	switch table {
	case "Upgrade":
		if strings.Count(text, olderOnly) != 1 {
			return "", errors.New("wixl has written a table Upgrade of an unknown kind; version 0.101 is known to work")
		}
		text = strings.Replace(text, olderOnly, olderSame, 1)
	case "RemoveFile":
		text += p.removeRows()
	}
	var replace []string
	for i, t := range p.texts {
		if strings.ContainsAny(t, "\t\r\n\x00") {
			return "", fmt.Errorf("%q has characters that can't be seen", t)
		}
		replace = append(replace, "@"+strconv.Itoa(i)+"@", t)
	}
	return strings.NewReplacer(replace...).Replace(text), nil
}

// removeRows are rows of the table RemoveFile (key, component, file, folder, when): 2 is when the component goes.
func (p *msiProduct) removeRows() string {
	var rows strings.Builder
	installed := map[string]bool{}
	for _, e := range p.tree {
		installed[e.Path] = true
	}
	n := 0
	for _, r := range p.removals {
		dir, name := p.folderIDs[dirOf(r.path)], path.Base(r.path)
		switch {
		case installed[r.path]:
			continue // what was installed goes by itself
		case r.kind == empty:
			dir, name = p.folderIDs[r.path], ""
		}
		fmt.Fprintf(&rows, "r%d\tc_%s\t%s\t%s\t2\r\n", n, p.hostIdentifier, name, dir)
		n++
	}
	return rows.String()
}

func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
