package device

import "errors"

// errQuote says that a quotation has no end.
var errQuote = errors.New("a quotation mark has no partner; put one behind the quoted words")

// splitWords takes a command line apart: at blanks, but for those between single or double quotation marks. A backslash before
// a quotation mark makes it an ordinary character; every other backslash is one, because paths have them.
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
