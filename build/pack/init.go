package pack

import (
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// initText is a new description. Prose begins with "# ", and a key that is left out with "#" alone: without it the line is
// good. A test holds it to the types.
//
//go:embed init.toml
var initText string

// start holds the values for the template.
type start struct {
	Survey
	Lower       string // the name in lower case
	UpgradeCode string
	Time        string
}

// Text returns a new description with the survey's results; every other key is explained and commented out. random supplies the upgrade
// code, and now the date of the packages.
func (s Survey) Text(random io.Reader, now time.Time) (string, error) {
	code, err := NewGUID(random)
	if err != nil {
		return "", err
	}
	tmpl, err := template.New("").Funcs(template.FuncMap{"q": quote, "list": quoteAll}).Parse(initText)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = tmpl.Execute(&text, start{
		Survey: s, Lower: strings.ToLower(s.Name), UpgradeCode: code,
		Time: now.UTC().Truncate(24 * time.Hour).Format(time.RFC3339),
	})
	return text.String(), err
}

// quote formats a text as a basic TOML string.
func quote(text string) string {
	quoted := strconv.Quote(text)
	for _, foreign := range []string{`\x`, `\a`, `\v`} {
		if strings.Contains(quoted, foreign) {
			return valueText(text) // TOML spells these escapes differently
		}
	}
	return quoted
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// NewGUID returns a random GUID: version 4 of RFC 9562.
func NewGUID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("make an upgrade code: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%X-%X-%X-%X-%X", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
