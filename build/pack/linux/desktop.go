package linux

import (
	"encoding/xml"
	"fmt"
	"path"
	"strings"

	"collet/build/pack/bundle"
	"collet/build/pack/icon"
)

// iconSizes are those that the hicolor theme has folders for and that menus ask for, in pixels.
var iconSizes = []int{16, 24, 32, 48, 64, 128, 256, 512}

// entry is a client as a desktop shows and starts it.
type entry struct {
	names
	command string // how it is started: an absolute path, or a name on the path
	product bundle.Product
	opens   []string // MIME types of files that the game opens
}

// files are everything that desktops look for below a prefix like "usr".
func (e entry) files(prefix string) ([]bundle.Entry, error) {
	text := func(name string, data []byte) bundle.Entry {
		return bundle.Entry{Path: path.Join(prefix, "share", name), Mode: bundle.Plain, Data: data}
	}
	about, err := e.metainfo()
	if err != nil {
		return nil, err
	}
	all := []bundle.Entry{
		text("applications/"+e.id+".desktop", e.desktop()),
		text("metainfo/"+e.id+".metainfo.xml", about),
	}
	if e.product.URIScheme != "" {
		all = append(all, text("applications/"+e.id+".link.desktop", e.linkDesktop()))
	}
	pictures, err := icon.Scale(e.product.Icon, iconSizes...)
	if err != nil {
		return nil, err
	}
	for _, p := range pictures {
		all = append(all, text(fmt.Sprintf("icons/hicolor/%dx%d/apps/%s.png", p.Side, p.Side, e.id), p.PNG))
	}
	return all, nil
}

// desktop is the menu's entry (Desktop Entry Specification 1.0; nothing newer is needed).
func (e entry) desktop() []byte {
	command, types := e.command, ""
	if len(e.opens) > 0 {
		command, types = command+" -- %f", list(e.opens)
	}
	return e.group(
		"Categories", list(e.product.Categories),
		"StartupNotify", "true",
		"MimeType", types,
		"Exec", command)
}

// linkDesktop is what opens links to the game. It is one of its own, because a link goes behind arguments: Exec can't have
// them only where there is a link.
func (e entry) linkDesktop() []byte {
	return e.group(
		"NoDisplay", "true",
		"StartupNotify", "true",
		"MimeType", "x-scheme-handler/"+e.product.URIScheme+";",
		"Exec", e.command+" "+strings.Join(bundle.LinkArgs(), " ")+" %u")
}

func (e entry) group(more ...string) []byte {
	pairs := append([]string{"Type", "Application", "Version", "1.0", "Name", e.title, "Comment", summary(e.product), "Icon", e.id, "Terminal", "false"}, more...)
	var text strings.Builder
	text.WriteString("[Desktop Entry]\n")
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(&text, "%s=%s\n", pairs[i], desktopValue(pairs[i+1]))
		}
	}
	return []byte(text.String())
}

// desktopValue is a text as the value of a key: one line, backslashes doubled.
func desktopValue(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, `\`, `\\`)), " ")
}

// list is a value of several.
func list(values []string) string {
	if len(values) == 0 {
		return "Game;"
	}
	return strings.Join(values, ";") + ";"
}

// metainfo is what software centres show (AppStream 0.16 and 1.0).
func (e entry) metainfo() ([]byte, error) {
	type launchable struct {
		Type string `xml:"type,attr"`
		ID   string `xml:",chardata"`
	}
	type release struct {
		Version string `xml:"version,attr"`
		Date    string `xml:"date,attr"`
	}
	type page struct {
		Type string `xml:"type,attr"`
		URL  string `xml:",chardata"`
	}
	type developer struct {
		ID   string `xml:"id,attr"`
		Name string `xml:"name"`
	}
	type rating struct {
		Type string `xml:"type,attr"`
	}
	p := e.product
	id := strings.Split(p.ID, ".")
	component := struct {
		XMLName     xml.Name   `xml:"component"`
		Type        string     `xml:"type,attr"`
		ID          string     `xml:"id"`
		Metadata    string     `xml:"metadata_license"`
		License     string     `xml:"project_license"`
		Name        string     `xml:"name"`
		Summary     string     `xml:"summary"`
		DevName     string     `xml:"developer_name"`
		Developer   developer  `xml:"developer"`
		Description []string   `xml:"description>p"`
		Launchable  launchable `xml:"launchable"`
		Homepage    *page      `xml:"url"`
		Mediatypes  []string   `xml:"provides>mediatype,omitempty"`
		Rating      rating     `xml:"content_rating"`
		Releases    []release  `xml:"releases>release"`
	}{
		Type: "desktop-application", ID: e.id, Metadata: "FSFAP", License: p.License, Name: e.title, Summary: summary(p),
		DevName: p.Publisher, Developer: developer{strings.ToLower(strings.Join(id[:len(id)-1], ".")), p.Publisher},
		Description: paragraphs(p), Launchable: launchable{"desktop-id", e.id + ".desktop"},
		Rating: rating{"oars-1.1"}, Releases: []release{{p.Version, p.Time.UTC().Format("2006-01-02")}},
	}
	if p.Homepage != "" {
		component.Homepage = &page{"homepage", p.Homepage}
	}
	component.Mediatypes = append(component.Mediatypes, e.opens...)
	if p.URIScheme != "" {
		component.Mediatypes = append(component.Mediatypes, "x-scheme-handler/"+p.URIScheme)
	}
	text, err := xml.MarshalIndent(component, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

// paragraphs are those of the description, each on one line; the summary where there are none.
func paragraphs(p bundle.Product) (all []string) {
	for part := range strings.SplitSeq(p.Description, "\n\n") {
		if words := strings.Fields(part); len(words) > 0 {
			all = append(all, strings.Join(words, " "))
		}
	}
	if len(all) == 0 {
		all = []string{summary(p) + "."}
	}
	return all
}
