// Package upload writes files of a release folder to services: an S3 bucket, the assets of a GitHub release, an OCI registry. Their types have
// the methods of places.Place, which says what these promise. Package location says where services keep the files.
//
// # Old or new, never both
//
// S3 replaces an object atomically, and a registry replaces a tag atomically. GitHub can't replace an asset: the new one is uploaded under a
// temporary name, then the old one is removed, then the new one gets its name. timestamp.json is the only file on GitHub that changes, and
// clients that miss it ask for the temporary name. So they see the old one or the new one, also if the publisher ends in between; the next
// publication completes it. A client that misses both, because the name changes between its requests, tries again.
//
// # Rate limits
//
// GitHub answers 403 or 429 to too many requests, with the time when it accepts more. The upload waits until then, at most maxRateWait at once, and
// says so. GitHub allows some hundreds of uploads an hour, so a first publication with more files takes hours.
package upload

// keptSequels is how many earlier releases have sequels at GitHub and in a registry: a relative and a packed one each. Publishing replaces each
// file with three requests, and GitHub counts these. Patches are made from as many releases.
const keptSequels = 5

// Limits are the limits of a service. Zero values are no limits.
type Limits struct {
	Files      int   // largest number of files
	FileSize   int64 // largest size of a file in bytes
	Uploads    int   // uploads at once
	Sequels    int   // how many earlier releases of a channel and target have a relative and a packed sequel here
	SequelSize int64 // largest size of a sequel in bytes, with Sequels
}
