package pkcs11

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MaxURI is the length of the longest URI in bytes: room for a path and a few names of 32 bytes, each byte written as %XX.
const MaxURI = 2048

// URI names one key in a token. What is empty matches everything.
type URI struct {
	Token, Manufacturer, Model, Serial string // of the token
	Slot                               *uint64
	Object                             string // the key's label
	ID                                 []byte // CKA_ID
	Module                             string // absolute path of the library
	PINSource                          string // absolute path of a file with the PIN in its first line
}

// ParseURI reads a PKCS#11 URI. Of the path token, manufacturer, model, serial, slot-id, object, id and type=private count, of the query
// module-path, which is needed, and pin-source. Other attributes are errors: one that was ignored could select another key. So is
// pin-value: a PIN is no part of a command line or a file of keys.
func ParseURI(text string) (u URI, err error) {
	rest, is := strings.CutPrefix(text, "pkcs11:")
	switch {
	case len(text) > MaxURI:
		return u, fmt.Errorf("PKCS#11 URI: it has more than %d bytes", MaxURI)
	case !is:
		return u, errors.New("PKCS#11 URI: it has to begin with pkcs11: (RFC 7512)")
	}
	path, query, _ := strings.Cut(rest, "?")
	seen := map[string]bool{}
	if err = each(path, ";", seen, u.pathAttribute); err == nil {
		err = each(query, "&", seen, u.queryAttribute)
	}
	switch {
	case err != nil:
		return URI{}, fmt.Errorf("PKCS#11 URI: %w", err)
	case u.Module == "":
		return URI{}, errors.New("PKCS#11 URI: it names no module; add ?module-path= and the path of the library that came with the token, such as /usr/lib/x86_64-linux-gnu/opensc-pkcs11.so")
	case u.Object == "" && len(u.ID) == 0:
		return URI{}, errors.New("PKCS#11 URI: it names no key; add object= with its label, or id= with its id as %XX")
	}
	return u, nil
}

// each passes the attributes of a part to set, decoded.
func each(part, separator string, seen map[string]bool, set func(name, value string) error) error {
	if part == "" {
		return nil
	}
	for attribute := range strings.SplitSeq(part, separator) {
		name, raw, is := strings.Cut(attribute, "=")
		if name == "pin-value" { // not repeated in an error
			return errors.New("pin-value is not accepted, because others see it: name a file with pin-source, set COLLET_PIN, or type the PIN")
		}
		value, err := url.PathUnescape(raw)
		switch {
		case !is || err != nil:
			return fmt.Errorf("%q is no attribute: want name=value, with other characters than letters and digits as %%XX", attribute)
		case seen[name]:
			return fmt.Errorf("%s is there twice", name)
		case strings.ContainsRune(value, 0) && name != "id":
			return fmt.Errorf("%s has a zero byte", name)
		}
		seen[name] = true
		if err := set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (u *URI) pathAttribute(name, value string) error {
	switch name {
	case "token":
		u.Token = value
	case "manufacturer":
		u.Manufacturer = value
	case "model":
		u.Model = value
	case "serial":
		u.Serial = value
	case "object":
		u.Object = value
	case "id":
		u.ID = append(u.ID, value...) // nil if it is empty
	case "slot-id":
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("slot-id %q is no number", value)
		}
		u.Slot = &n
	case "type":
		if value != "private" {
			return fmt.Errorf("type %q can't sign: want type=private, or leave it out", value)
		}
	default:
		return fmt.Errorf("%q selects nothing here: want token, manufacturer, model, serial, slot-id, object, id or type", name)
	}
	return nil
}

func (u *URI) queryAttribute(name, value string) error {
	switch name {
	case "module-path":
		u.Module = value
	case "pin-source":
		if strings.HasPrefix(value, "|") {
			return errors.New("pin-source: a command is not run; name a file")
		}
		value = strings.TrimPrefix(strings.TrimPrefix(value, "file:"), "//")
		u.PINSource = value
	default:
		return fmt.Errorf("%q is not known: want module-path or pin-source", name)
	}
	if !filepath.IsAbs(value) {
		return fmt.Errorf("%s %q: want an absolute path", name, value)
	}
	return nil
}

// String writes the URI in one form, on one line: what ParseURI reads again.
func (u URI) String() string {
	var slot, id string
	if u.Slot != nil {
		slot = strconv.FormatUint(*u.Slot, 10)
	}
	for _, b := range u.ID {
		id += fmt.Sprintf("%%%02X", b)
	}
	path := join(";", "token", escape(u.Token), "manufacturer", escape(u.Manufacturer), "model", escape(u.Model), "serial", escape(u.Serial),
		"slot-id", slot, "object", escape(u.Object), "id", id)
	return "pkcs11:" + path + "?" + join("&", "module-path", escape(u.Module), "pin-source", escape(u.PINSource))
}

// escape keeps letters, digits and what has no meaning in a PKCS#11 URI.
func escape(value string) string {
	return strings.NewReplacer("%2F", "/", "&", "%26").Replace(url.PathEscape(value))
}

// join writes the attributes that have a value: pairs holds name, value, name, value.
func join(separator string, pairs ...string) string {
	var out []string
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			out = append(out, pair[0]+"="+pair[1])
		}
	}
	return strings.Join(out, separator)
}
