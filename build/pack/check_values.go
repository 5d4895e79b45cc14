package pack

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"collet/build/advice"
)

// valueChecker checks single values and lists of them, without a look at the disk. Every method takes the key that a mistake names.
type valueChecker struct{ *ledger }

// addMissing reports a missing required key.
func (c *valueChecker) addMissing(key, want string) { c.add(key, want, "is missing") }

// Limits of texts in bytes: one line of a system's dialog, and one page of text.
const (
	maxLine = 200
	maxPage = 20_000
)

// checkLine checks a text of one line. It reports whether the text is present and usable.
func (c *valueChecker) checkLine(key, value string) bool {
	switch {
	case value == "":
		return false
	case len(value) > maxLine:
		c.add(key, "", "is longer than %d bytes", maxLine)
	case strings.TrimSpace(value) != value:
		c.add(key, "take them away", "begins or ends with spaces")
	case strings.IndexFunc(value, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) >= 0:
		c.add(key, "want one line of text", "has line breaks or control characters")
	}
	return !c.isBroken(key)
}

// checkRequired checks a required text against a form.
func (c *valueChecker) checkRequired(key, value string, form *regexp.Regexp, want string) {
	if value == "" {
		c.addMissing(key, want)
	} else if c.checkLine(key, value) && !form.MatchString(value) {
		c.add(key, want, "%q can't be used", value)
	}
}

// checkOptional checks an optional text against a form.
func (c *valueChecker) checkOptional(key, value string, form *regexp.Regexp, want string) {
	if value != "" {
		c.checkRequired(key, value, form, want)
	}
}

// checkWebAddress checks the address of a page or folder on a web server.
func (c *valueChecker) checkWebAddress(key, value string) {
	if !c.checkLine(key, value) {
		return
	}
	u, err := url.Parse(value)
	switch {
	case err == nil && u.User != nil:
		c.add(key, "take them out: everybody who has the package can read them", "has a user name or password")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		c.add(key, "want https://host/path", "%q is no web address", value)
	}
}

// checkWords checks that a list has known words only, without duplicates.
func (c *valueChecker) checkWords(key string, values, known []string) {
	for i, v := range values {
		switch {
		case !slices.Contains(known, v):
			c.add(element(key, i), advice.DidYouMean(v, known), "%q is unknown", v)
		case slices.Contains(values[:i], v):
			c.add(element(key, i), "once is enough", "%q is there twice", v)
		}
	}
}

// checkCount refuses a list that exceeds its limit.
func (c *valueChecker) checkCount(key string, n, most int) {
	if n > most {
		c.add(key, "", "has %d elements, of which at most %d are allowed", n, most)
	}
}

// checkTexts checks a list of texts.
func (c *valueChecker) checkTexts(key string, list []string) {
	c.checkCount(key, len(list), maxCompanions)
	for i, text := range list {
		c.checkRequired(element(key, i), text, anyForm, "take it out")
	}
}
