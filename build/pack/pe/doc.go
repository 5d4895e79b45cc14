// Package pe links Windows programs to their debug symbols, and removes the build machine's paths from them.
//
// A program made by clang-cl, lld-link or Microsoft's linker carries a CodeView record of the kind RSDS: a GUID, an age, and the
// path of the PDB file as the linker wrote it, often an absolute one. The PDB carries the same GUID and age. Debuggers and crash
// collectors look for the path's file name beside the program, so a program that is renamed for a game must say the new name of
// its PDB: "Lathe.dll" says "Lathe.dll.pdb", "Lathe.exe" says "Lathe.pdb". PatchPDB writes it over the old path:
//
//	data directory 6 -> debug directory, entries of 28 bytes (type 2 is CodeView; /Brepro adds one of type 16, and so on)
//	CodeView record:  "RSDS" | GUID, 16 bytes | age, 4 bytes | path in UTF-8, NUL
//
// The size of the file and of the record stay, so the new name needs to fit the record; what is left of it is filled with NUL.
// GUID and age stay. The first RSDS record counts. A signed file is refused: patch first, then sign.
//
// The PE checksum is written anew where the linker has set one, and left at 0 where it has not. Windows verifies it for drivers
// and libraries of its own processes only, but some scanners take a wrong one for a sign of tampering, while 0 means "not set"
// and is never looked at. Everything else that changes bytes of a program calls FixChecksum for the same reason.
//
// Go's own linker writes no RSDS record, and GNU ld one without a path unless it is given --pdb. So symbols of a host are
// optional, but only as long as the description of the packages names none: what is named has to be there, to be patched, and to
// belong to its program (CheckPair), or packaging stops.
//
// Files of all kinds may be given: sizes and counts are capped, nothing is written unless everything was found good, and memory
// use does not depend on what a file says.
package pe

import "fmt"

// Fault is a reason for which a file is refused; errors.Is tells which one is behind an error.
type Fault string

func (f Fault) Error() string { return string(f) }

// The reasons.
const (
	NotPE      Fault = "not a PE32 or PE32+ file"
	NotPDB     Fault = "not a PDB file (MSF 7.00)"
	Truncated  Fault = "the file ends too early"
	Malformed  Fault = "the file contradicts itself"
	Signed     Fault = "the file is signed already"
	NoDebug    Fault = "no debug directory"
	NoCodeView Fault = "no CodeView entry in the debug directory"
	NoRSDS     Fault = "no CodeView record of the kind RSDS"
	Overlap    Fault = "the CodeView record lies where something else is"
	BadName    Fault = "not a plain file name"
	TooLong    Fault = "the name does not fit the CodeView record"
	Foreign    Fault = "the symbols are those of another build"
	NoRoom     Fault = "there is no room for resources"
	Unsigned   Fault = "there is no signature"
	Changed    Fault = "signing has changed more than it may"
)

// remedy says what to do about a fault; what can only be a damaged file is to be built again.
func (f Fault) remedy() string {
	switch f {
	case Signed:
		return "give the file as it was before signing"
	case NoDebug, NoCodeView, NoRSDS:
		return "link it with debug information for PDB files (-gcodeview and --pdb=…, or /debug), or name no PDB for it"
	case TooLong:
		return "link it with a longer name for the PDB (/pdbaltpath:…)"
	case Foreign:
		return "give the program and the PDB of one and the same link"
	case NoRoom:
		return "link a resource script into it, such as one with a version, so that there is a section for them already; and no debug sections"
	case Unsigned, Changed:
		return "see what the tool does that signs it"
	case BadName:
		return "give a name without folders"
	}
	return "build it again"
}

// Error is what every function of the package returns: the fault, where, and what to do.
type Error struct {
	Fault  Fault
	Detail string // may be empty
}

func (e *Error) Error() string {
	text := string(e.Fault)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text + "; " + e.Fault.remedy()
}

// Unwrap gives the Fault.
func (e *Error) Unwrap() error { return e.Fault }

func fault(f Fault, detail string, args ...any) error {
	return &Error{Fault: f, Detail: fmt.Sprintf(detail, args...)}
}

// ID is what a program and its PDB have in common. The zero value belongs to nothing.
type ID struct {
	GUID [16]byte // in the order of the file: the first three fields are little-endian
	Age  uint32
}

// String is the key under which symbol stores file a PDB: GUID in upper case without dashes, then the age in hexadecimal.
func (id ID) String() string {
	g := id.GUID
	return fmt.Sprintf("%02X%02X%02X%02X%02X%02X%02X%02X%X%X",
		g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6], g[8:], id.Age)
}

// Symbols is what a program says about its PDB.
type Symbols struct {
	ID
	Path string // as the linker or PatchPDB wrote it
	Room int    // bytes that a name can have
}
