package macos

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"

	"collet/build/pack/bundle"
)

// minimumSystem is the oldest macOS that Go 1.26 makes programs for.
const minimumSystem = "12.0"

var (
	// identifier is what CFBundleIdentifier may be.
	identifier = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
	// numbers is the beginning of a version that Apple takes.
	numbers = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*`)
)

// infoPlist is what the system wants to know of an .app (Information Property List Key Reference).
func infoPlist(b bundle.Bundle, o Options) ([]byte, error) {
	p := b.Product
	id := strings.ReplaceAll(strings.Join(append([]string{cmp.Or(o.BundleID, p.ID)}, variant(b)...), "."), "_", "-")
	if !identifier.MatchString(id) {
		return nil, fmt.Errorf("%q can't be the identifier of an .app: want letters, digits and - with dots between", id)
	}
	version := numbers.FindString(p.Version)
	if version == "" {
		return nil, fmt.Errorf("version %q does not begin with numbers", p.Version)
	}
	keys := []any{
		"CFBundleDevelopmentRegion", "en",
		"CFBundleDisplayName", title(b),
		"CFBundleExecutable", b.Base,
		"CFBundleIconFile", b.Base + ".icns",
		"CFBundleIdentifier", id,
		"CFBundleInfoDictionaryVersion", "6.0",
		"CFBundleName", title(b),
		"CFBundlePackageType", "APPL",
		"CFBundleShortVersionString", firstThree(version),
		"CFBundleSupportedPlatforms", []any{"MacOSX"},
	}
	if p.URIScheme != "" {
		keys = append(keys, "CFBundleURLTypes", []any{dict{
			"CFBundleTypeRole", "Viewer", "CFBundleURLName", id, "CFBundleURLSchemes", []any{p.URIScheme},
		}})
	}
	keys = append(keys,
		"CFBundleVersion", version,
		"LSApplicationCategoryType", cmp.Or(o.Category, "public.app-category.games"),
		"LSMinimumSystemVersion", cmp.Or(o.MinimumSystem, minimumSystem),
		"NSHighResolutionCapable", true,
		"NSHumanReadableCopyright", fmt.Sprintf("© %d %s", p.Time.UTC().Year(), p.Publisher),
	)
	return plist(keys), nil
}

// firstThree cuts what Apple does not take off a version.
func firstThree(version string) string {
	parts := strings.Split(version, ".")
	return strings.Join(parts[:min(len(parts), 3)], ".")
}

// dict is a dictionary: keys and values in turn.
type dict []any

// plist writes a property list of texts, lists, dictionaries and yes or no.
func plist(root dict) []byte {
	var out bytes.Buffer
	out.WriteString(xml.Header)
	out.WriteString(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\">\n")
	value(&out, root, "")
	out.WriteString("</plist>\n")
	return out.Bytes()
}

// value writes one value on lines of its own.
func value(out *bytes.Buffer, v any, indent string) {
	switch v := v.(type) {
	case string:
		leaf(out, "string", v, indent)
	case bool:
		fmt.Fprintf(out, "%s<%t/>\n", indent, v)
	case []any:
		out.WriteString(indent + "<array>\n")
		for _, one := range v {
			value(out, one, indent+"\t")
		}
		out.WriteString(indent + "</array>\n")
	case dict:
		out.WriteString(indent + "<dict>\n")
		for i := 0; i < len(v); i += 2 {
			leaf(out, "key", v[i].(string), indent+"\t")
			value(out, v[i+1], indent+"\t")
		}
		out.WriteString(indent + "</dict>\n")
	}
}

func leaf(out *bytes.Buffer, name, text, indent string) {
	fmt.Fprintf(out, "%s<%s>", indent, name)
	// A buffer refuses nothing.
	_ = xml.EscapeText(out, []byte(text))
	fmt.Fprintf(out, "</%s>\n", name)
}

// element is a part of an .icns.
func element(kind string, body []byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte(kind), uint32(8+len(body)))
	return append(head, body...)
}
