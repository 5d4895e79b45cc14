package pack

import (
	"strconv"
	"strings"

	"collet/platform/tomllines"
)

// places maps keys to their lines: game.version, target[0].companions[2].
type places map[string]int

// of returns the line of a key, or of its nearest table; 1 if unknown.
func (p places) of(key string) int {
	for key != "" {
		if line, known := p[key]; known {
			return line
		}
		cut := strings.LastIndexAny(key, ".[")
		if cut < 0 {
			break
		}
		key = key[:cut]
	}
	return 1
}

// join adds a name to a key, quoted where TOML requires it.
func join(key, name string) string {
	if !isBare(name) {
		name = strconv.Quote(name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

func isBare(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// element is the key of one element of an array.
func element(key string, i int) string { return tomllines.Element(key, i) }
