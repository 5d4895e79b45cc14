package release

// SequelDictionary is sequelDictionary.
const SequelDictionary = sequelDictionary
