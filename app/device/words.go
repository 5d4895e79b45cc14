package device

import "errors"

// errQuote says that a closing quotation mark is missing.
var errQuote = errors.New("a quotation mark has no partner; put one behind the quoted words")

// splitWords splits a command line at blanks, except between single or double quotation marks. A backslash escapes a quotation mark.
// Any other backslash is an ordinary character, for paths of Windows.
func splitWords(line string) (words []string, err error) {
	var word []rune
	var quote rune
	inside := false // a word, which may be empty
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '\\' && i+1 < len(runes) && (runes[i+1] == '"' || runes[i+1] == '\''):
			i++
			word, inside = append(word, runes[i]), true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inside = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if inside {
				words, word, inside = append(words, string(word)), nil, false
			}
		default:
			word, inside = append(word, c), true
		}
	}
	if quote != 0 {
		return nil, errQuote
	}
	if inside {
		words = append(words, string(word))
	}
	return words, nil
}
