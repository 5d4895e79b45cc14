package linux

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"strings"
	"time"

	"collet/build/pack/bundle"
)

// paper is a manual page: of what, in a few words, and in which section.
type paper struct {
	name, words string
	section     int
}

// papers are what a package has to be read: whose it is, what changed, and a manual page.
func papers(p bundle.Product, pkg string, page paper) []bundle.Entry {
	plain := func(name string, data []byte) bundle.Entry {
		return bundle.Entry{Path: path.Join("usr/share", name), Mode: bundle.Plain, Data: data}
	}
	return []bundle.Entry{
		plain("doc/"+pkg+"/copyright", copyright(p)),
		plain("doc/"+pkg+"/changelog.gz", squeezed(changelog(p, pkg))),
		plain(fmt.Sprintf("man/man%d/%s.%d.gz", page.section, page.name, page.section), squeezed(page.text(p))),
	}
}

// copyright is in the machine-readable form of Debian's policy.
func copyright(p bundle.Product) []byte {
	var text strings.Builder
	text.WriteString("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n")
	fmt.Fprintf(&text, "Upstream-Name: %s\nUpstream-Contact: %s\n", p.NiceName, p.Maintainer)
	if p.Homepage != "" {
		fmt.Fprintf(&text, "Source: %s\n", p.Homepage)
	}
	fmt.Fprintf(&text, "\nFiles: *\nCopyright: %d %s\nLicense: %s\n", p.Time.UTC().Year(), p.Publisher, p.License)
	text.WriteString(" The terms are those that the publisher gives with the game. Where they name a common\n" +
		" free licence, its text is in /usr/share/common-licenses on Debian systems.\n")
	return []byte(text.String())
}

// changelog has one entry in the form of Debian's policy, section 4.4. What changed in the game is for its own pages.
func changelog(p bundle.Product, pkg string) []byte {
	version, err := packageVersion(p.Version)
	if err != nil {
		version = p.Version // refused where the package is made
	}
	return fmt.Appendf(nil, "%s (%s) stable; urgency=medium\n\n  * Version %s of %s.\n\n -- %s  %s\n",
		pkg, version, p.Version, p.NiceName, p.Maintainer, p.Time.UTC().Format(time.RFC1123Z))
}

// text is the page for man.
func (m paper) text(p bundle.Product) []byte {
	var text strings.Builder
	name := roff(m.name)
	fmt.Fprintf(&text, ".TH %s %d %s \"%s %s\"\n", roff(strings.ToUpper(m.name)), m.section, p.Time.UTC().Format("2006-01-02"), roff(p.NiceName), p.Version)
	fmt.Fprintf(&text, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n[\\fIoption\\fR ...]\n.SH DESCRIPTION\n", name, roff(m.words), name)
	if m.section == gamesSection {
		for _, paragraph := range paragraphs(p) {
			text.WriteString(roff(paragraph) + "\n.PP\n")
		}
	}
	fmt.Fprintf(&text, "\\fB%s \\-\\-help\\fR lists all options.\n", name)
	if p.Homepage != "" {
		fmt.Fprintf(&text, ".SH SEE ALSO\n%s\n", roff(p.Homepage))
	}
	return []byte(text.String())
}

// gamesSection is the manual's section of games.
const gamesSection = 6

// roff is a text that troff takes for nothing else: no requests, no escapes, and dashes that can be copied.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\(rs`, "-", `\-`, "\n", " ", `"`, `\(dq`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// squeezed is gzip at its best without name and time, as "gzip -9n".
func squeezed(data []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // memory refuses nothing
	}
	return out.Bytes()
}
