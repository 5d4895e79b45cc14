package release

// UnverifiedSuffix ends the name of every unverified file on disk.
const UnverifiedSuffix = ".unverified"

// Role is the purpose of a file. The numbers are those of the engine's descriptor; they
// are used on the wire and on disk.
type Role uint8

const (
	// Resource is a resource pack, the same for every target.
	Resource Role = 0
	// Binary is a native module or a companion of one, for one target.
	Binary Role = 1
)

// String is the word used in logs.
func (r Role) String() string {
	switch r {
	case Resource:
		return "resource"
	case Binary:
		return "binary"
	default:
		return "unknown"
	}
}

// File is one file that a server offers. Path is as the server named it: untrusted until it passed CheckPath.
type File struct {
	Path   string
	Size   int64 // bytes
	Digest Digest
	Role   Role
	Index  uint32 // the server's number for it, valid on the connection that listed it
}
