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

// headRead is how much of a program is looked at: the header of a PE file lies within it in all that linkers write.
const headRead = 4096

// builtFor are the targets that a program or library is for by its header; none for a file that tells nothing. A universal
// program of macOS is for two.
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

// headFor is builtFor for the beginning of a file.
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

// peOffset is where the old header of a PE file says where the new one begins.
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

// maxFat is how many processors a universal program is read for; files of Java begin alike and have "more".
const maxFat = 8

func fatFor(head []byte) (targets []product.Target) {
	n := binary.BigEndian.Uint32(head[4:])
	if n > maxFat {
		return nil
	}
	for i := range int(n) {
		at := 8 + 20*i // the header of the file, and one for each processor
		if at+4 > len(head) {
			return nil
		}
		targets = append(targets, named("darwin", machoProcessor(binary.BigEndian.Uint32(head[at:])))...)
	}
	return slices.Clip(targets)
}
