package platform

import "strings"

// SetVariable returns env, a list of "name=value", with name set to value exactly once. With duplicate entries programs would read the
// first, older one. env itself is not changed.
func SetVariable(env []string, name, value string) []string {
	return append(DropVariable(env, name), name+"="+value)
}

// DropVariable returns env without any entry of name. env itself is not changed.
func DropVariable(env []string, name string) []string {
	kept := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !sameVariable(variableName(entry), name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// variableName is the text before the first "=" that is not the first character: Windows keeps the current folder of each drive in
// entries such as "=C:=C:\games".
func variableName(entry string) string {
	if entry == "" {
		return ""
	}
	if end := strings.IndexByte(entry[1:], '='); end >= 0 {
		return entry[:end+1]
	}
	return entry
}
