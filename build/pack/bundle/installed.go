package bundle

// Marker is the file that installers put beside the host, and nothing else does: a host that finds it writes into the player's
// own data folder instead of the one it was installed into.
const Marker = "INSTALLED"

// Installed is the tree as an installer puts it on a disk: with the Marker.
func (t Tree) Installed() (Tree, error) {
	return t.With(Entry{Path: Marker, Mode: Plain, Data: []byte("Put here by an installer. Updates go to your own data folder.\n")})
}

// LinkArgs stand before a link of the game's scheme on the host's command line. "--" ends the host's own flags, so that
// nothing in a link that comes from anywhere can become one; the game gets the rest, in the words of the engine's installers.
func LinkArgs() []string { return []string{"--", "--DeepLinkUri"} }
