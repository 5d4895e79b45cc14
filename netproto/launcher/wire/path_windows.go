package wire

// portableOnly: Windows gives many names a second meaning, so only those that mean the same everywhere are taken.
const portableOnly = true
