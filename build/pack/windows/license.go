package windows

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"collet/build/pack/bundle"
)

// maxLicense is the largest licence that a page of a setup shows, in bytes.
const maxLicense = 1 << 20

// license finds the text that players agree to: a file beside the host with one of the usual names.
func license(t bundle.Tree) (bundle.Entry, bool) {
	for _, name := range []string{"EULA.txt", "EULA", "LICENSE.txt", "LICENCE.txt", "LICENSE", "LICENCE"} {
		for _, e := range t {
			if strings.EqualFold(e.Path, name) && e.Link == "" {
				return e, true
			}
		}
	}
	return bundle.Entry{}, false
}

// licenseText reads a licence as the page wants it: UTF-8 that says so, with the line ends of Windows.
func licenseText(e bundle.Entry) ([]byte, error) {
	f, size, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLicense+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	case size > maxLicense:
		return nil, fmt.Errorf("%s has %d bytes; the page of a setup takes %d", e.Path, size, maxLicense)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("%s is not in UTF-8", e.Path)
	}
	const mark = "\ufeff"
	text = bytes.TrimPrefix(text, []byte(mark))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return append([]byte(mark), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))...), nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
