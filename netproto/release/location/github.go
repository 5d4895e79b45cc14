package location

import "strings"

// Limits of GitHub for the assets of a release.
const (
	MaxAssets    = 1000
	MaxAssetSize = 2<<30 - 1 // bytes
)

// Temporary ends the name of a file that is to replace another one.
const Temporary = ".new"

// replaced is the file that a publisher replaces on GitHub and that clients can't do without. Sequels are replaced, too.
const replaced = "metadata/timestamp.json"

// AssetName is the name of the asset of a file. GitHub keeps letters, digits, ".", "-" and "_".
func AssetName(name string) string { return strings.ReplaceAll(name, "/", ".") }

// assetForm is the form of our assets. The suffix is that of a file under its temporary name.
var assetForm = onDemand(`^(?:objects\.[0-9a-f]{2}\.[0-9a-f]{64}|releases\.[0-9a-f]{64}\.release|sequels\.[0-9a-f]{64}\.sequel|metadata\.(?:timestamp|[0-9]+\.(?:root|targets|snapshot))\.json)(?:\.new)?$`)

// AssetFile is the file of an asset. found is false for assets that are not ours, which are left alone.
func AssetFile(asset string) (name string, found bool) {
	if !assetForm().MatchString(asset) {
		return "", false
	}
	folder, rest, _ := strings.Cut(asset, ".")
	if folder == "objects" {
		rest = strings.Replace(rest, ".", "/", 1)
	}
	return folder + "/" + rest, true
}
