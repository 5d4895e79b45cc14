package wire

// The codes of the messages about files (docs/PROTOCOL.md, "Two dialects").
const (
	CodeRequestFileLayout       uint8 = 3
	CodeResponseFileLayout      uint8 = 4
	CodeRequestFileBlockHashes  uint8 = 5
	CodeResponseFileBlockHashes uint8 = 6
	CodeRequestDeleteFile       uint8 = 7
	CodeResponseDeleteFile      uint8 = 8
	CodeRequestWriteFile        uint8 = 9
	CodeResponseWriteFile       uint8 = 10
	CodeSendFileData            uint8 = 11
	CodeFileDataReceived        uint8 = 12
	CodeRequestFinishWriteFile  uint8 = 13
	CodeResponseFinishWriteFile uint8 = 14
)

// RequestFileLayout requests the files of the device.
type RequestFileLayout struct{}

// Code implements Message.
func (m *RequestFileLayout) Code() uint8 { return CodeRequestFileLayout }
func (m *RequestFileLayout) code(*coder) {}

// File is one file of a layout.
type File struct {
	Path string
	Size uint64 // bytes
	Hash Hash   // of the whole file
}

// leastFile is the shortest File in a message, in bytes.
const leastFile = 2 + 8 + 1

func (f *File) code(c *coder) {
	c.text16("Path", &f.Path)
	c.U64("Size", &f.Size)
	c.hash("Hash", &f.Hash)
}

// ResponseFileLayout is the Released answer to RequestFileLayout: all files, in any order.
type ResponseFileLayout struct {
	Files []File // at most MaxFiles
}

// Code implements Message.
func (m *ResponseFileLayout) Code() uint8 { return CodeResponseFileLayout }
func (m *ResponseFileLayout) code(c *coder) {
	list(c, "Count", &m.Files, MaxFiles, leastFile, func(f *File) { f.code(c) })
}

// DraftFileLayout is one file of the Draft answer to RequestFileLayout. With DraftEmpty the device has no files, and
// File is zero; the last message has DraftLast.
type DraftFileLayout struct {
	Flags uint8
	File  File
}

// Code implements Message.
func (m *DraftFileLayout) Code() uint8 { return CodeResponseFileLayout }
func (m *DraftFileLayout) code(c *coder) {
	c.U8("Flags", &m.Flags)
	m.File.code(c)
}

// RequestFileBlockHashes requests the hashes of the blocks of one file.
type RequestFileBlockHashes struct {
	Path      string
	BlockSize uint32 // bytes; 0 makes released devices crash and is never sent
}

// Code implements Message.
func (m *RequestFileBlockHashes) Code() uint8 { return CodeRequestFileBlockHashes }
func (m *RequestFileBlockHashes) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U32("BlockSize", &m.BlockSize)
}

// ResponseFileBlockHashes is the Released answer to RequestFileBlockHashes. An empty list means that the device can't read the file.
type ResponseFileBlockHashes struct {
	Path   string
	Hashes []Hash // of the blocks in order, the last of which may be shorter; at most MaxBlocks
}

// Code implements Message.
func (m *ResponseFileBlockHashes) Code() uint8 { return CodeResponseFileBlockHashes }
func (m *ResponseFileBlockHashes) code(c *coder) {
	c.text16("Path", &m.Path)
	list(c, "Count", &m.Hashes, MaxBlocks, 1, func(h *Hash) { c.hash("Hash", h) })
}

// DraftFileBlockHash is one block of the Draft answer to RequestFileBlockHashes. With DraftEmpty the device can't read
// the file; the last message has DraftLast.
type DraftFileBlockHash struct {
	Path  string
	Flags uint8
	Index uint32
	Hash  Hash
}

// Code implements Message.
func (m *DraftFileBlockHash) Code() uint8 { return CodeResponseFileBlockHashes }
func (m *DraftFileBlockHash) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U8("Flags", &m.Flags)
	c.U32("Index", &m.Index)
	c.hash("Hash", &m.Hash)
}

// RequestDeleteFile requests deletion. A missing file counts as deleted.
type RequestDeleteFile struct {
	Path string
}

// Code implements Message.
func (m *RequestDeleteFile) Code() uint8   { return CodeRequestDeleteFile }
func (m *RequestDeleteFile) code(c *coder) { c.text16("Path", &m.Path) }

// ResponseDeleteFile answers RequestDeleteFile.
type ResponseDeleteFile struct {
	Path   string
	Result Result
}

// Code implements Message.
func (m *ResponseDeleteFile) Code() uint8 { return CodeResponseDeleteFile }
func (m *ResponseDeleteFile) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U8("Result", (*uint8)(&m.Result))
}

// RequestWriteFile begins the writing of a file, which SendFileData and RequestFinishWriteFile continue. Blocks that are
// not sent keep the bytes of the present file.
type RequestWriteFile struct {
	Path       string
	FileSize   uint64 // bytes
	BlockSize  uint64 // bytes; the last block is shorter
	BlockCount uint32 // 1 for an empty file
}

// Code implements Message.
func (m *RequestWriteFile) Code() uint8 { return CodeRequestWriteFile }
func (m *RequestWriteFile) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U64("FileSize", &m.FileSize)
	c.U64("BlockSize", &m.BlockSize)
	c.U32("BlockCount", &m.BlockCount)
}

// ResponseWriteFile answers RequestWriteFile. After a failure a released desk stops writing for the rest of the connection.
type ResponseWriteFile struct {
	Path   string
	Result Result
}

// Code implements Message.
func (m *ResponseWriteFile) Code() uint8 { return CodeResponseWriteFile }
func (m *ResponseWriteFile) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U8("Result", (*uint8)(&m.Result))
}

// SendFileData carries one block, or in Draft one part of a block. An empty file has one block without data.
type SendFileData struct {
	Path  string
	Block uint32
	Part  uint32 // Draft: the part begins Part × PartSize bytes into the block
	Flags uint8  // Draft: PartFinish, PartBatch
	Data  []byte // reading: a slice of the payload
}

// Code implements Message.
func (m *SendFileData) Code() uint8 { return CodeSendFileData }
func (m *SendFileData) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U32("Block", &m.Block)
	if c.dialect == Draft {
		c.U32("Part", &m.Part)
		c.U8("Flags", &m.Flags)
	}
	c.Rest("Data", &m.Data)
}

// FileDataReceived answers SendFileData: once for each block, and in Draft with BatchDone once for each batch within a block.
type FileDataReceived struct {
	Path   string
	Block  uint32
	Result Result
}

// Code implements Message.
func (m *FileDataReceived) Code() uint8 { return CodeFileDataReceived }
func (m *FileDataReceived) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U32("Block", &m.Block)
	c.U8("Result", (*uint8)(&m.Result))
}

// RequestFinishWriteFile ends the writing of a file. The device compares the hash.
type RequestFinishWriteFile struct {
	Path string
	Hash Hash // of the whole file
}

// Code implements Message.
func (m *RequestFinishWriteFile) Code() uint8 { return CodeRequestFinishWriteFile }
func (m *RequestFinishWriteFile) code(c *coder) {
	c.text16("Path", &m.Path)
	c.hash("Hash", &m.Hash)
}

// ResponseFinishWriteFile answers RequestFinishWriteFile; HashMismatch in Released only.
type ResponseFinishWriteFile struct {
	Path   string
	Result Result
}

// Code implements Message.
func (m *ResponseFinishWriteFile) Code() uint8 { return CodeResponseFinishWriteFile }
func (m *ResponseFinishWriteFile) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U8("Result", (*uint8)(&m.Result))
}
