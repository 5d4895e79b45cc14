package check

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"slices"

	"collet/netproto/product"
)

// HeadSize is how many bytes of a program TargetsOf needs. All linkers place the header of a PE file within them.
const HeadSize = 4096

// TargetsOf returns the targets that a program or library is built for, according to its first HeadSize bytes. It is empty for an unknown
// format. A universal program of macOS has two targets.
func TargetsOf(head []byte) []product.Target {
	if len(head) < 32 {
		return nil
	}
	little, big := binary.LittleEndian, binary.BigEndian
	switch {
	case string(head[:4]) == elf.ELFMAG && head[elf.EI_DATA] == byte(elf.ELFDATA2LSB):
		return named("linux", elfProcessor(elf.Machine(little.Uint16(head[18:]))))
	case string(head[:2]) == "MZ":
		return peFor(head)
	case little.Uint32(head) == macho.Magic64:
		return named("darwin", machoProcessor(little.Uint32(head[4:])))
	case big.Uint32(head) == macho.MagicFat:
		return fatFor(head)
	}
	return nil
}

func named(goos, goarch string) []product.Target {
	if goarch == "" {
		return nil
	}
	return []product.Target{product.TargetFor(goos, goarch)}
}

func elfProcessor(m elf.Machine) string {
	return map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm"}[m]
}

// peOffset is the position of the PE header's offset in the DOS header.
const peOffset = 0x3c

func peFor(head []byte) []product.Target {
	if len(head) < peOffset+4 {
		return nil
	}
	at := int64(binary.LittleEndian.Uint32(head[peOffset:]))
	if at+6 > int64(len(head)) || string(head[at:at+4]) != "PE\x00\x00" {
		return nil
	}
	switch binary.LittleEndian.Uint16(head[at+4:]) {
	case pe.IMAGE_FILE_MACHINE_AMD64:
		return named("windows", "amd64")
	case pe.IMAGE_FILE_MACHINE_I386:
		return named("windows", "386")
	case pe.IMAGE_FILE_MACHINE_ARM64:
		return named("windows", "arm64")
	}
	return nil
}

func machoProcessor(cpu uint32) string {
	return map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[macho.Cpu(cpu)]
}

// maxFat limits the processors of a universal program. Java class files begin alike but have "more".
const maxFat = 8

func fatFor(head []byte) (targets []product.Target) {
	n := binary.BigEndian.Uint32(head[4:])
	if n > maxFat {
		return nil
	}
	for i := range int(n) {
		at := 8 + 20*i // file header, then one entry for each processor
		if at+4 > len(head) {
			return nil
		}
		targets = append(targets, named("darwin", machoProcessor(binary.BigEndian.Uint32(head[at:])))...)
	}
	return slices.Clip(targets)
}

// Offsets in a PE file, from its signature (PE format, "Optional Header" and "Optional Header Data Directories"): the magic number of the
// optional header and its value for 64 bits, and the directory of the .NET runtime for both values.
const (
	peMagic    = 24
	pePlus     = 0x20b
	peDotNet32 = 24 + 96 + 14*8
	peDotNet64 = 24 + 112 + 14*8
)

// isManaged reports whether the head of a PE file is that of an assembly of .NET, whose processor says nothing.
func isManaged(head []byte) bool {
	if len(head) < peOffset+4 || string(head[:2]) != "MZ" {
		return false
	}
	from := int64(binary.LittleEndian.Uint32(head[peOffset:]))
	if from+peDotNet64+4 > int64(len(head)) {
		return false
	}
	head = head[from:]
	at := peDotNet32
	if binary.LittleEndian.Uint16(head[peMagic:]) == pePlus {
		at = peDotNet64
	}
	return binary.LittleEndian.Uint32(head[at:]) != 0
}

// IsX86 reports whether a program or library has machine code for x86 alone, according to its first HeadSize bytes.
func IsX86(head []byte) bool {
	is := TargetsOf(head)
	return len(is) == 1 && !isManaged(head) && slices.ContainsFunc([]string{"windows", "linux", "darwin"}, func(system string) bool {
		return is[0] == product.TargetFor(system, "amd64") || is[0] == product.TargetFor(system, "386")
	})
}

// Library returns what is wrong with a native library for a target, according to its first HeadSize bytes; nil if it fits. name is for the
// text.
func Library(name string, head []byte, target product.Target) *Fault {
	is := TargetsOf(head)
	switch {
	case !isKnown(target) || slices.Contains(is, target) || isManaged(head):
		return nil
	case len(is) == 0:
		return &Fault{What: name + " is no native library of " + string(target), Want: "name what the compiler made for " + string(target)}
	default:
		return wrongTarget(name, is[0], target)
	}
}

// Host returns what is wrong with a host or a server for a target, according to its first HeadSize bytes; nil if it fits, and if its format
// is unknown.
func Host(name string, head []byte, target product.Target) *Fault {
	is := TargetsOf(head)
	if !isKnown(target) || len(is) == 0 || slices.Contains(is, target) {
		return nil
	}
	return wrongTarget(name, is[0], target)
}

// Program is Host for a game's own program. Windows of 64 bits runs programs of 32, too.
func Program(name string, head []byte, target product.Target) *Fault {
	if target == "Windows-win64" && slices.Contains(TargetsOf(head), "Windows-win32") {
		return nil
	}
	return Host(name, head, target)
}

func wrongTarget(name string, is, target product.Target) *Fault {
	return &Fault{What: name + " was built for " + string(is), Want: "name the file that was built for " + string(target)}
}

// isKnown reports whether programs of a target can be recognized.
func isKnown(target product.Target) bool { return slices.Contains(Packable(), string(target)) }
