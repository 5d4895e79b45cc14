package release

// SequelDictionary is sequelDictionary.
const SequelDictionary = sequelDictionary

// Text is the text of a base.
func (b SequelBase) Text() string { return string(b.text) }
