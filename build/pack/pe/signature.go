package pe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// Caps and layout of the attribute certificate table (PE format specification, "The Attribute Certificate Table").
const (
	maxHeaders        = 1 << 20  // bytes that headers are looked for in; linkers write 1024
	maxSignature      = 16 << 20 // bytes; page hashes take 36 for every 4096 of the program
	certificateHeader = 8
	certificatePKCS7  = 2 // WIN_CERT_TYPE_PKCS_SIGNED_DATA
	certificateAlign  = 8
	compared          = 1 << 16 // bytes that are compared at a time
)

// ReadSignature returns the Authenticode signature of a program of size bytes: PKCS #7 in DER, possibly followed by zeros. The fault is
// Unsigned for an unsigned program. The signature and its signer are not verified.
func ReadSignature(r io.ReaderAt, size int64) ([]byte, error) {
	h, err := headersOf(r, size)
	if err != nil {
		return nil, err
	}
	return h.signature(r, size)
}

func (h *header) signature(r io.ReaderAt, size int64) ([]byte, error) {
	at, n := int64(h.security.VirtualAddress), int64(h.security.Size)
	if n == 0 {
		return nil, fault(Unsigned, "")
	}
	if n < certificateHeader || n > maxSignature {
		return nil, fault(Malformed, "signatures of %d bytes", n)
	}
	if at < int64(h.size) || at+n > size {
		return nil, fault(Malformed, "signatures at %d to %d, in a file of %d bytes with headers of %d", at, at+n, size, h.size)
	}
	table := make([]byte, n)
	if _, err := r.ReadAt(table, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(table)
	if length < certificateHeader || int64(length) > n || binary.LittleEndian.Uint16(table[6:]) != certificatePKCS7 {
		return nil, fault(Malformed, "the first signature has %d of %d bytes", length, n)
	}
	return table[certificateHeader:length], nil
}

// CheckSigned compares a signed program with its unsigned original. It must have a signature at its end, and otherwise be equal byte for
// byte, except for the two header fields that signing changes. The fault is Changed if it differs.
func CheckSigned(before io.ReaderAt, sizeBefore int64, after io.ReaderAt, size int64) error {
	h, err := headersOf(before, sizeBefore)
	if err != nil {
		return err
	}
	signed, err := headersOf(after, size)
	if err != nil {
		return err
	}
	if _, err := signed.signature(after, size); err != nil {
		return err
	}
	at := int64(signed.security.VirtualAddress)
	if at < sizeBefore || at-sizeBefore >= certificateAlign || at+int64(signed.security.Size) != size {
		return fault(Changed, "the program had %d bytes, its signature is at %d of now %d", sizeBefore, at, size)
	}
	if h.checksum != signed.checksum || h.securityAt != signed.securityAt || h.securityAt == 0 {
		return fault(Changed, "its headers are others")
	}
	from := int64(0)
	for _, hole := range [][2]int64{{int64(h.checksum), 4}, {int64(h.securityAt), 8}, {sizeBefore, 0}} {
		if err := same(before, after, from, hole[0]); err != nil {
			return err
		}
		from = hole[0] + hole[1]
	}
	return nil
}

// headersOf reads as much of a file as headers can have.
func headersOf(r io.ReaderAt, size int64) (header, error) {
	data := make([]byte, min(size, maxHeaders))
	if n, err := r.ReadAt(data, 0); n < len(data) {
		if err == nil || errors.Is(err, io.EOF) {
			return header{}, fault(Truncated, "it has %d bytes, not %d", n, size)
		}
		return header{}, err
	}
	return parse(data)
}

// same compares two files from an offset to another.
func same(a, b io.ReaderAt, from, to int64) error {
	if from >= to {
		return nil
	}
	x, y := make([]byte, min(to-from, compared)), make([]byte, min(to-from, compared))
	for from < to {
		n := min(to-from, int64(len(x)))
		if _, err := io.ReadFull(io.NewSectionReader(a, from, n), x[:n]); err != nil {
			return err
		}
		if _, err := io.ReadFull(io.NewSectionReader(b, from, n), y[:n]); err != nil {
			return err
		}
		if !bytes.Equal(x[:n], y[:n]) {
			return fault(Changed, "something between %d and %d", from, from+n)
		}
		from += n
	}
	return nil
}
