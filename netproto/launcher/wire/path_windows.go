package wire

// portableOnly: Windows gives many names a second meaning, so only names with the same meaning on every system are accepted.
const portableOnly = true
