package pack

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"io"
	"os"
	"slices"

	"collet/netproto/product"
)

// headRead is how many bytes of a program are read. All linkers place the header of a PE file within them.
const headRead = 4096

// builtFor returns the targets that a program or library is built for, according to its header. It is empty for an unknown format. A
// universal program of macOS has two targets.
func builtFor(file string) []product.Target {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, headRead)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 {
		return nil
	}
	return headFor(head[:n])
}

// headFor is builtFor for the first bytes of a file.
func headFor(head []byte) []product.Target {
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

// TargetsOf returns the targets that a program or library is built for, according to its first HeadSize bytes. It is empty for an unknown
// format. A universal program of macOS has two targets.
func TargetsOf(head []byte) []product.Target { return headFor(head) }

// HeadSize is how many bytes of a program TargetsOf needs.
const HeadSize = headRead
