package sign

import (
	"bytes"
	stdpe "debug/pe"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"collet/build/pack/pe"
)

// withFile opens a file for reading at any offset.
func withFile(name string, do func(r io.ReaderAt, size int64) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return do(f, info.Size())
}

// readProgram gives the signature inside a program.
func readProgram(name string) (content []byte, err error) {
	err = withFile(name, func(r io.ReaderAt, size int64) (err error) {
		content, err = pe.ReadSignature(r, size)
		return err
	})
	return content, err
}

// comparePrograms wants a program to be the same with a signature as without.
func comparePrograms(before, after string) error {
	return withFile(before, func(r io.ReaderAt, size int64) error {
		return withFile(after, func(again io.ReaderAt, sizeAgain int64) error {
			return pe.CheckSigned(r, size, again, sizeAgain)
		})
	})
}

// IsSigned reports whether a program or library for Windows has a signature, whosever: those of others come signed.
func IsSigned(program string) (bool, error) {
	_, err := readProgram(program)
	if errors.Is(err, pe.Unsigned) {
		return false, nil
	}
	return err == nil, err
}

// probe is the smallest program that can be signed: headers, and a section with nothing to run.
func probe() []byte {
	const headers, section = 0x200, 0x200
	var b bytes.Buffer
	dos := make([]byte, 0x80)
	copy(dos, "MZ")
	dos[0x3c] = byte(len(dos))
	b.Write(dos)
	b.WriteString("PE\x00\x00")
	optional := stdpe.OptionalHeader64{
		Magic: 0x20b, ImageBase: 0x140000000, SectionAlignment: 0x1000, FileAlignment: 0x200, MajorSubsystemVersion: 6,
		SizeOfImage: 0x2000, SizeOfHeaders: headers, Subsystem: stdpe.IMAGE_SUBSYSTEM_WINDOWS_CUI, NumberOfRvaAndSizes: 16,
	}
	for _, part := range []any{
		stdpe.FileHeader{
			Machine: stdpe.IMAGE_FILE_MACHINE_AMD64, NumberOfSections: 1, SizeOfOptionalHeader: uint16(binary.Size(optional)),
			Characteristics: stdpe.IMAGE_FILE_EXECUTABLE_IMAGE,
		},
		optional,
		stdpe.SectionHeader32{
			Name: [8]uint8([]byte(".rdata\x00\x00")), VirtualSize: section, VirtualAddress: 0x1000, SizeOfRawData: section, PointerToRawData: headers,
			Characteristics: stdpe.IMAGE_SCN_CNT_INITIALIZED_DATA | stdpe.IMAGE_SCN_MEM_READ,
		},
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err) // structures of fixed size always have bytes
		}
	}
	return append(b.Bytes(), make([]byte, headers+section-b.Len())...)
}
