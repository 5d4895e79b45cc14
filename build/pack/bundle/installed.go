package bundle

// Marker is the file that only installers put beside the host. A host that finds it writes into the player's own data folder instead of its
// install folder.
const Marker = "INSTALLED"

// Installed returns the tree as an installer writes it: with the Marker.
func (t Tree) Installed() (Tree, error) {
	return t.With(Entry{Path: Marker, Mode: Plain, Data: []byte("Put here by an installer. Updates go to your own data folder.\n")})
}

// LinkArgs precede a game link on the host's command line. "--" ends the host's own flags, so that an untrusted link can't be parsed as a
// flag. The game gets the other words, which are those of the engine's installers.
func LinkArgs() []string { return []string{"--", "--DeepLinkUri"} }
