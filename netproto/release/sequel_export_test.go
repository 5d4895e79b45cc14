package release

// SequelDictionary is sequelDictionary.
const SequelDictionary = sequelDictionary

// Text is the text of known data.
func (k KnownData) Text() string { return string(k.text) }
