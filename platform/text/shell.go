package text

import (
	"path/filepath"
	"strings"
)

// plain are characters that no shell interprets.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-:@+"

// ShellWord is a word of a command that a person copies into a shell, in single quotes where it needs them. The separator of paths needs none,
// on Windows, too. It does not sanitize.
func ShellWord(s string) string {
	if s != "" && strings.Trim(filepath.ToSlash(s), plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
