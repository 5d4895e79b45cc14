package release

// PlainFolder is the folder of a release folder with the newest set of a channel as plain files, in the layout for
// servers of engine generations. It is replaced as a whole.
const PlainFolder = "plain"

// Folders of a game in that layout: packs, and binaries in a folder for each target. A game that is a program has a third one, with the
// resources of each target.
const (
	ResourcesFolder         = "Resources"
	BinariesFolder          = "PlatformBinaries"
	PlatformResourcesFolder = "PlatformResources"
)

// PlainPath is the path of a file of a target's set below PlainFolder.
func PlainPath(role Role, target, name string) string {
	if role == Resource {
		return ResourcesFolder + "/" + name
	}
	return BinariesFolder + "/" + target + "/" + name
}
