package dashboard

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"collet/netproto/compat"
	"collet/netproto/server/operator"
	"collet/platform/text"
)

// formTime is how a browser sends a date and a time; ours are in UTC.
const formTime = "2006-01-02T15:04"

// formReader takes settings out of a form, and notes what is no such thing.
type formReader struct {
	url.Values
	mistakes []compat.Mistake
}

// section is a form of the dashboard: the part of the settings that it changes.
type section struct {
	read func(*formReader, *compat.Settings) // replaces that part by what the form says
	keys []string                            // of the document, that it replaces
}

// sections are all forms by name; their titles are the texts "form.NAME".
func sections() map[string]section {
	return map[string]section{
		"range":       {(*formReader).ranges, []string{"active_min", "active_max", "auto_upgrade"}},
		"patch":       {(*formReader).patchRules, []string{"patch_rules"}},
		"redirect":    {(*formReader).redirect, []string{"redirect"}},
		"maintenance": {(*formReader).maintenance, []string{"maintenance"}},
		"policy":      {(*formReader).policy, []string{"components", "manifest"}},
		"stores":      {(*formReader).stores, []string{"store_urls"}},
		"messages":    {(*formReader).messages, []string{"messages"}},
		"developers":  {(*formReader).developers, []string{"developers"}},
	}
}

// proposal is what a form wants.
type proposal struct {
	section  string
	settings compat.Settings  // those for which the form was made, with what the form says in place of its part
	document string           // what of that part is new, so that it can be proposed again when the rest has changed
	mistakes []compat.Mistake // what could not be read
}

// readProposal reads a form. It fails if there is no such form.
func readProposal(form url.Values, base compat.Settings) (proposal, error) {
	p := proposal{section: form.Get("section"), settings: base}
	s, known := sections()[p.section]
	if !known {
		return p, &operator.InputError{Field: "section", Why: fmt.Sprintf("%s is no part of the settings", text.Quote(p.section))}
	}
	f := formReader{Values: form}
	s.read(&f, &p.settings)
	p.mistakes = f.mistakes
	p.document = documentOf(p.settings, changedOf(base, p.settings, s.keys))
	return p, nil
}

// changedOf are those of some keys of a document that two settings differ in.
func changedOf(before, after compat.Settings, keys []string) (changed []string) {
	all := compat.Diff(before, after)
	for _, key := range keys {
		if slices.ContainsFunc(all, func(k string) bool { outer, _, _ := strings.Cut(k, "."); return outer == key }) {
			changed = append(changed, key)
		}
	}
	return changed
}

// documentOf are some keys of settings.
func documentOf(s compat.Settings, keys []string) string {
	whole := decodeMembers(s.Encode())
	part := make(map[string]json.RawMessage, len(keys))
	for _, key := range keys {
		part[key] = whole[key]
	}
	text, err := json.Marshal(part)
	if err != nil { // what was decoded a moment ago
		panic(err)
	}
	return string(text)
}

// decodeMembers are the members of a document; nil if it is not one.
func decodeMembers(document []byte) (members map[string]json.RawMessage) {
	if json.Unmarshal(document, &members) != nil {
		return nil
	}
	return members
}

// number is a whole number of a form, for a field of the document.
func (f *formReader) number(digits, field string, bits int) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, bits)
	if err != nil || n < 0 {
		f.mistakes = append(f.mistakes, compat.Mistake{Field: field, Why: fmt.Sprintf("%s is no valid number", text.Quote(digits))})
		return 0
	}
	return n
}

// text is a line of a form.
func (f *formReader) text(name string) string { return strings.TrimSpace(f.Get(name)) }

// lines are those of a text area that are not empty.
func (f *formReader) lines(name string) []string {
	all := []string{}
	for line := range strings.Lines(f.Get(name)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// cell is what stands in line i of a column of a form.
func (f *formReader) cell(name string, i int) string {
	if column := f.Values[name]; i < len(column) {
		return strings.TrimSpace(column[i])
	}
	return ""
}

func (f *formReader) ranges(s *compat.Settings) {
	s.ActiveMin = int32(f.number(f.Get("active_min"), "active_min", 32))
	s.ActiveMax = int32(f.number(f.Get("active_max"), "active_max", 32))
	s.AutoUpgrade = f.Has("auto_upgrade")
}

// patchRules reads a table; lines without a logic version and a patch are left out.
func (f *formReader) patchRules(s *compat.Settings) {
	s.PatchRules = []compat.PatchRule{}
	for i := range f.Values["rule_logic"] {
		logic, patch, target := f.cell("rule_logic", i), f.cell("rule_patch", i), f.cell("rule_target", i)
		if logic == "" && patch == "" {
			continue
		}
		field := fmt.Sprintf("patch_rules[%d].", len(s.PatchRules))
		s.PatchRules = append(s.PatchRules, compat.PatchRule{
			Logic: int32(f.number(logic, field+"logic", 32)), Target: target, MinPatch: uint32(f.number(patch, field+"min_patch", 33)),
		})
	}
}

func (f *formReader) redirect(s *compat.Settings) {
	port := f.text("port")
	s.Redirect = compat.RedirectSettings{Enabled: f.Has("enabled"), Host: f.text("host"), TLS: f.Has("tls"), BaseURL: f.text("base_url")}
	if port != "" {
		s.Redirect.Port = uint16(f.number(port, "redirect.port", 17))
	}
}

func (f *formReader) maintenance(s *compat.Settings) {
	s.Maintenance = compat.MaintenanceSettings{Enabled: f.Has("enabled"), AllowDownload: f.Has("allow_download"), Targets: f.lines("targets")}
	if until := f.text("until"); until != "" {
		at, err := time.Parse(formTime, until)
		if err != nil {
			f.mistakes = append(f.mistakes, compat.Mistake{Field: "maintenance.until", Why: fmt.Sprintf("%s is no date and time", text.Quote(until))})
		}
		s.Maintenance.Until = at
	}
}

func (f *formReader) policy(s *compat.Settings) {
	s.Components, s.Manifest = compat.Policy(f.text("components")), compat.ManifestMode(f.text("manifest"))
}

func (f *formReader) stores(s *compat.Settings) {
	s.StoreURLs = map[string]string{}
	for i := range f.Values["store_target"] {
		target, link := f.cell("store_target", i), f.cell("store_url", i)
		if target == "" && link == "" {
			continue
		}
		if _, twice := s.StoreURLs[target]; twice {
			f.mistakes = append(f.mistakes, compat.Mistake{Field: "store_urls." + target, Why: "it is there twice"})
		}
		s.StoreURLs[target] = link
	}
}

func (f *formReader) messages(s *compat.Settings) {
	s.Messages = map[string]string{}
	for _, key := range compat.Popups() {
		if text := strings.ReplaceAll(f.text("message_"+key), "\r\n", "\n"); text != "" {
			s.Messages[key] = text
		}
	}
}

func (f *formReader) developers(s *compat.Settings) { s.Developers = f.lines("accounts") }
