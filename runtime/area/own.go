package area

// The three areas of the host, a Go program. The linker keeps them in programs that call ReadOwn, once each. They are strings that the
// compiler concatenates, so each is one run of bytes in the program's read-only data, in ELF, PE and Mach-O; a test checks all three. The
// strings are variables, so that the compiler can't fold their text into the code that reads them.

// row is one period of the unfilled resources: bytes (i+42) mod 200.
const row = "" +
	"\x2a\x2b\x2c\x2d\x2e\x2f\x30\x31\x32\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\x3e\x3f\x40\x41\x42" +
	"\x43\x44\x45\x46\x47\x48\x49\x4a\x4b\x4c\x4d\x4e\x4f\x50\x51\x52\x53\x54\x55\x56\x57\x58\x59\x5a\x5b" +
	"\x5c\x5d\x5e\x5f\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f\x70\x71\x72\x73\x74" +
	"\x75\x76\x77\x78\x79\x7a\x7b\x7c\x7d\x7e\x7f\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d" +
	"\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9d\x9e\x9f\xa0\xa1\xa2\xa3\xa4\xa5\xa6" +
	"\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8\xb9\xba\xbb\xbc\xbd\xbe\xbf" +
	"\xc0\xc1\xc2\xc3\xc4\xc5\xc6\xc7\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10" +
	"\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20\x21\x22\x23\x24\x25\x26\x27\x28\x29"

const (
	rows5  = row + row + row + row + row
	rows50 = rows5 + rows5 + rows5 + rows5 + rows5 + rows5 + rows5 + rows5 + rows5 + rows5
	digits = "56789012345678901234567890123456789012345678901234" // fifty; they continue the 1234 of the marker
	twenty = digits + digits + digits + digits + digits + digits + digits + digits + digits + digits +
		digits + digits + digits + digits + digits + digits + digits + digits + digits + digits
)

// The areas, in their default sizes: 1000 rows; 9953 digits between 24 and 23 bytes of markers; 128 bytes.
var (
	ownResources = rows50 + rows50 + rows50 + rows50 + rows50 + rows50 + rows50 + rows50 + rows50 + rows50 +
		rows50 + rows50 + rows50 + rows50 + rows50 + rows50 + rows50 + rows50 + rows50 + rows50
	ownConfig = "###InternalConfig###1234" +
		twenty + twenty + twenty + twenty + twenty + twenty + twenty + twenty + twenty +
		digits + digits + digits + digits + digits + digits + digits + digits + digits + digits +
		digits + digits + digits + digits + digits + digits + digits + digits + digits +
		"567" + "###InternalConfigEnd###"
	ownName = "###NotPackaged###" + zeros + zeros + zeros + "\x00\x00\x00"
)

// zeros are 36 zero bytes.
const zeros = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// ReadOwn returns the package of this program. The program must have been linked by Go: a module has its areas in C.
func ReadOwn() (c Contents, packaged bool, err error) {
	return Set{Resources: []byte(ownResources), Config: []byte(ownConfig), Name: []byte(ownName)}.Read() // copies: the bytes must not be written
}
