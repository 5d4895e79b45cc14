package pe

import "encoding/binary"

// FixChecksum writes the PE checksum anew where there is one, after other bytes of a program were changed. The fault is Signed
// where there is a signature: whatever was changed has broken it.
func FixChecksum(image []byte) error {
	h, err := parse(image)
	if err != nil {
		return err
	}
	if h.security.Size != 0 {
		return fault(Signed, "signatures of %d bytes", h.security.Size)
	}
	h.fixChecksum(image)
	return nil
}

func (h *header) fixChecksum(image []byte) {
	field := image[h.checksum : h.checksum+4]
	if binary.LittleEndian.Uint32(field) == 0 {
		return
	}
	clear(field)
	binary.LittleEndian.PutUint32(field, checksum(image))
}

// checksum is what Windows' CheckSumMappedFile computes: the 16-bit words added with their carries, plus the length. The field
// itself counts as 0, and so does a byte that is missing to the last word.
func checksum(image []byte) uint32 {
	var sum uint64 // 64 bits take the carries of any file
	for i := 0; i+1 < len(image); i += 2 {
		sum += uint64(binary.LittleEndian.Uint16(image[i:]))
	}
	if len(image)%2 != 0 {
		sum += uint64(image[len(image)-1])
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint32(sum) + uint32(len(image))
}
