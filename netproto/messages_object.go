package netproto

import "strings"

// MaxObjectName is the length of the longest name of a file in a release folder, in bytes: an object's has 75; the rest
// is for later kinds of names.
const MaxObjectName = 128

// GetObject requests a part of a file of the server's release folder, by its name. Only servers with CapObjects accept it.
type GetObject struct {
	Request uint32 // the client's number for it, unique among outstanding ones
	Name    string // see IsObjectName; at most MaxObjectName bytes
	Offset  uint64 // bytes
	Length  uint32 // bytes, at least 1
}

// NoObject answers one GetObject: the server has no such file, or does not serve it.
type NoObject struct {
	Request uint32
}

// ID is the number of the message.
func (*GetObject) ID() MessageID { return IDGetObject }

// ID is the number of the message.
func (*NoObject) ID() MessageID { return IDNoObject }

func (m *GetObject) code(c *coder) {
	c.U32("request", &m.Request)
	c.Text("name", &m.Name, 4, MaxObjectName)
	c.U64("offset", &m.Offset)
	c.U32("length", &m.Length)
}

func (m *NoObject) code(c *coder) { c.U32("request", &m.Request) }

// IsObjectName reports whether name is a valid name of a public file in a release folder:
//
//	metadata/timestamp.json
//	metadata/<number>.root.json, .targets.json, .snapshot.json    a number from 1 on, at most maxVersionDigits long
//	releases/<64 hex>.release
//	objects/<2 hex>/<64 hex>                                      which begin with these two
//	sequels/<64 hex>.sequel
//
// Hex is in lower case. All other names are rejected, so a valid name needs no further check before it is opened below the folder.
func IsObjectName(name string) bool {
	folder, rest, _ := strings.Cut(name, "/")
	switch folder {
	case "metadata":
		return isMetadataName(rest)
	case "releases":
		sum, isHead := strings.CutSuffix(rest, ".release")
		return isHead && isSum(sum)
	case "sequels":
		sum, isSequel := strings.CutSuffix(rest, ".sequel")
		return isSequel && isSum(sum)
	case "objects":
		prefix, sum, _ := strings.Cut(rest, "/")
		return isSum(sum) && sum[:2] == prefix
	default:
		return false
	}
}

// maxVersionDigits is the largest number of digits in a metadata version: that of 2^53 - 1, the largest number.
const maxVersionDigits = 16

func isMetadataName(name string) bool {
	if name == "timestamp.json" {
		return true
	}
	number, role, _ := strings.Cut(name, ".")
	if number == "" || len(number) > maxVersionDigits || number[0] == '0' || strings.Trim(number, "0123456789") != "" {
		return false
	}
	return role == "root.json" || role == "targets.json" || role == "snapshot.json"
}

// isSum reports whether s is a SHA-256 in hex.
func isSum(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
