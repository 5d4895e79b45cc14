package release

// PlainFolder is the folder of a release folder that holds the newest set of a channel as plain files, laid out as servers of engine
// generations want it. It changes as a whole.
const PlainFolder = "plain"

// Folders of a game as servers of engine generations want it: packs, and binaries in a folder for each target.
const (
	ResourcesFolder = "Resources"
	BinariesFolder  = "PlatformBinaries"
)

// PlainPath is where a file of a target's set lies below PlainFolder.
func PlainPath(role Role, target, name string) string {
	if role == Resource {
		return ResourcesFolder + "/" + name
	}
	return BinariesFolder + "/" + target + "/" + name
}
