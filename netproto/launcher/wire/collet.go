package wire

// The codes of our own mode, which FeatureCollet on both sides enables. The protocol's own codes count upwards and have reached 20.
const (
	CodeRequestTree    uint8 = 192
	CodeResponseTree   uint8 = 193
	CodePutFiles       uint8 = 194
	CodeBatchReport    uint8 = 195
	CodeDeleteFiles    uint8 = 196
	CodeRequestBlocks  uint8 = 198
	CodeResponseBlocks uint8 = 199
	CodeOpenFile       uint8 = 200
	CodeFileBlock      uint8 = 201
	CodeBlocksWritten  uint8 = 202
	CodeCloseFile      uint8 = 203
	CodeFileClosed     uint8 = 204
	CodeRunReport      uint8 = 205
	CodeLogLines       uint8 = 206
	CodePushPlan       uint8 = 207
)

// colletKinds is our part of the table.
func colletKinds(code uint8) []kind {
	switch code {
	case CodeRequestTree:
		return released(FromDesk, func() Message { return new(RequestTree) })
	case CodeResponseTree:
		return released(FromDevice, func() Message { return new(ResponseTree) })
	case CodePutFiles:
		return released(FromDesk, func() Message { return new(PutFiles) })
	case CodeBatchReport:
		return released(FromDevice, func() Message { return new(BatchReport) })
	case CodeDeleteFiles:
		return released(FromDesk, func() Message { return new(DeleteFiles) })
	case CodeRequestBlocks:
		return released(FromDesk, func() Message { return new(RequestBlocks) })
	case CodeResponseBlocks:
		return released(FromDevice, func() Message { return new(ResponseBlocks) })
	case CodeOpenFile:
		return released(FromDesk, func() Message { return new(OpenFile) })
	case CodeFileBlock:
		return released(FromDesk, func() Message { return new(FileBlock) })
	case CodeBlocksWritten:
		return released(FromDevice, func() Message { return new(BlocksWritten) })
	case CodeCloseFile:
		return released(FromDesk, func() Message { return new(CloseFile) })
	case CodeFileClosed:
		return released(FromDevice, func() Message { return new(FileClosed) })
	case CodeRunReport:
		return released(FromDevice, func() Message { return new(RunReport) })
	case CodeLogLines:
		return released(FromDevice, func() Message { return new(LogLines) })
	case CodePushPlan:
		return released(FromDesk, func() Message { return new(PushPlan) })
	}
	return nil
}

// RequestTree requests the layout, as a difference from one that the desk knows.
type RequestTree struct {
	Known []Hash // digests of layouts, the likeliest first; at most MaxDigests
}

// Code implements Message.
func (m *RequestTree) Code() uint8 { return CodeRequestTree }
func (m *RequestTree) code(c *coder) {
	list(c, "Known", &m.Known, MaxDigests, len(Hash{}), func(h *Hash) { c.Array("Digest", h[:]) })
}

// TreeLast is the flag of the last message of an answer to RequestTree.
const TreeLast uint8 = 1

// ResponseTree answers RequestTree, in one message or several of at most MaxBulk bytes. The layout is the one with digest
// Base, without Removed, with Files added or in place of those of the same path. Removed and Files are sorted by path over
// all messages of the answer.
type ResponseTree struct {
	Flags   uint8 // TreeLast
	Base    Hash  // one of RequestTree.Known; zero for the empty layout
	Digest  Hash  // of the layout, see Layout.Digest
	Removed []string
	Files   []File
	Parts   []FilePart // left by an interrupted push, in the last message only
}

// FilePart is the beginning of an interrupted file, see OpenFile.Start.
type FilePart struct {
	Hash Hash   // of the whole file
	Size uint64 // of the whole file, in bytes
	Have uint64 // bytes on the device
}

// Code implements Message.
func (m *ResponseTree) Code() uint8 { return CodeResponseTree }
func (m *ResponseTree) code(c *coder) {
	c.U8("Flags", &m.Flags)
	c.Array("Base", m.Base[:])
	c.Array("Digest", m.Digest[:])
	list(c, "Removed", &m.Removed, MaxList, 2, func(p *string) { c.text16("Path", p) })
	list(c, "Files", &m.Files, MaxList, 2+8+len(Hash{}), func(f *File) {
		c.text16("Path", &f.Path)
		c.U64("Size", &f.Size)
		c.Array("Hash", f.Hash[:])
	})
	list(c, "Parts", &m.Parts, MaxList, len(Hash{})+16, func(p *FilePart) {
		c.Array("Hash", p.Hash[:])
		c.U64("Size", &p.Size)
		c.U64("Have", &p.Have)
	})
}

// PutFiles carries whole small files, MaxBulk bytes in all. Each is written and verified separately.
type PutFiles struct {
	Batch uint32 // chosen by the desk
	Files []PutFile
}

// PutFile is one file of PutFiles.
type PutFile struct {
	Path string
	Hash Hash
	Data []byte // reading: a slice of the payload
}

// Code implements Message.
func (m *PutFiles) Code() uint8 { return CodePutFiles }
func (m *PutFiles) code(c *coder) {
	c.U32("Batch", &m.Batch)
	list(c, "Files", &m.Files, MaxList, 2+len(Hash{})+4, func(f *PutFile) {
		c.text16("Path", &f.Path)
		c.Array("Hash", f.Hash[:])
		c.Blob("Data", &f.Data, 4, MaxBulk)
	})
}

// DeleteFiles requests deletion. A missing file counts as deleted.
type DeleteFiles struct {
	Batch uint32 // chosen by the desk, from the numbers of PutFiles
	Paths []string
}

// Code implements Message.
func (m *DeleteFiles) Code() uint8 { return CodeDeleteFiles }
func (m *DeleteFiles) code(c *coder) {
	c.U32("Batch", &m.Batch)
	list(c, "Paths", &m.Paths, MaxList, 2, func(p *string) { c.text16("Path", p) })
}

// BatchReport answers PutFiles and DeleteFiles, once everything of the batch was done or given up.
type BatchReport struct {
	Batch    uint32
	Failures []BatchFailure // in order of Index; what is not listed succeeded
}

// BatchFailure is the failure of one entry of a batch.
type BatchFailure struct {
	Index  uint32 // in the batch, from 0
	Result Result // Failure or HashMismatch
	Text   string // why, for people
}

// Code implements Message.
func (m *BatchReport) Code() uint8 { return CodeBatchReport }
func (m *BatchReport) code(c *coder) {
	c.U32("Batch", &m.Batch)
	list(c, "Failures", &m.Failures, MaxList, 4+1+2, func(f *BatchFailure) {
		c.U32("Index", &f.Index)
		c.U8("Result", (*uint8)(&f.Result))
		c.text16("Text", &f.Text)
	})
}

// RequestBlocks requests the hashes of the blocks of one file.
type RequestBlocks struct {
	Path      string
	BlockSize uint32 // bytes, not 0
}

// Code implements Message.
func (m *RequestBlocks) Code() uint8 { return CodeRequestBlocks }
func (m *RequestBlocks) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U32("BlockSize", &m.BlockSize)
}

// Flags of ResponseBlocks.
const (
	BlocksLast   uint8 = 1 // the last message of the answer
	BlocksFailed uint8 = 2 // the device can't read the file
)

// ResponseBlocks answers RequestBlocks, in one message or several of at most MaxBulk bytes.
type ResponseBlocks struct {
	Path      string
	BlockSize uint32
	Size      uint64 // of the file on the device, in bytes
	First     uint32 // index of the first of Hashes
	Flags     uint8  // BlocksLast, BlocksFailed
	Hashes    []Hash
}

// Code implements Message.
func (m *ResponseBlocks) Code() uint8 { return CodeResponseBlocks }
func (m *ResponseBlocks) code(c *coder) {
	c.text16("Path", &m.Path)
	c.U32("BlockSize", &m.BlockSize)
	c.U64("Size", &m.Size)
	c.U32("First", &m.First)
	c.U8("Flags", &m.Flags)
	list(c, "Hashes", &m.Hashes, MaxList, len(Hash{}), func(h *Hash) { c.Array("Hash", h[:]) })
}

// OpenFile begins the writing of a file, which FileBlock and CloseFile continue; FileClosed answers. At most
// MaxOpenFiles are open at once.
type OpenFile struct {
	File      uint32 // handle, chosen by the desk among the unused ones
	Path      string
	Size      uint64 // bytes
	BlockSize uint32 // bytes, 1 to MaxBlock
	Hash      Hash   // of the whole file
	Base      string // path of a file on the device that provides the blocks not sent; empty for none
	Start     uint64 // bytes of a FilePart with this Hash and Size that are not sent again; a multiple of BlockSize
}

// Code implements Message.
func (m *OpenFile) Code() uint8 { return CodeOpenFile }
func (m *OpenFile) code(c *coder) {
	c.U32("File", &m.File)
	c.text16("Path", &m.Path)
	c.U64("Size", &m.Size)
	c.U32("BlockSize", &m.BlockSize)
	c.Array("Hash", m.Hash[:])
	c.text16("Base", &m.Base)
	c.U64("Start", &m.Start)
}

// FileBlock carries one block of an open file. Blocks for a handle that is not open are ignored: FileClosed was sent, or will be.
type FileBlock struct {
	File  uint32
	Index uint32
	Data  []byte // reading: a slice of the payload
}

// Code implements Message.
func (m *FileBlock) Code() uint8 { return CodeFileBlock }
func (m *FileBlock) code(c *coder) {
	c.U32("File", &m.File)
	c.U32("Index", &m.Index)
	c.Rest("Data", &m.Data)
}

// BlocksWritten reports how many blocks of an open file were written since it was opened. It comes at least every 8
// blocks or 1 MiB, whichever is first, and is the desk's flow control.
type BlocksWritten struct {
	File  uint32
	Count uint32
}

// Code implements Message.
func (m *BlocksWritten) Code() uint8 { return CodeBlocksWritten }
func (m *BlocksWritten) code(c *coder) {
	c.U32("File", &m.File)
	c.U32("Count", &m.Count)
}

// CloseFile ends the writing of a file. It may be sent without waiting for any answer.
type CloseFile struct {
	File uint32
}

// Code implements Message.
func (m *CloseFile) Code() uint8   { return CodeCloseFile }
func (m *CloseFile) code(c *coder) { c.U32("File", &m.File) }

// FileClosed reports how the writing of a file ended: after CloseFile, or earlier after a failure. It frees the handle.
type FileClosed struct {
	File   uint32
	Result Result
	Text   string // why it failed, for people
}

// Code implements Message.
func (m *FileClosed) Code() uint8 { return CodeFileClosed }
func (m *FileClosed) code(c *coder) {
	c.U32("File", &m.File)
	c.U8("Result", (*uint8)(&m.Result))
	c.text16("Text", &m.Text)
}

// RunEvent is the kind of a RunReport.
type RunEvent uint8

// The events. Receivers ignore others.
const (
	RunStarted RunEvent = 0
	RunRefused RunEvent = 1 // it did not start
	RunEnded   RunEvent = 2
)

// RunReport reports the outcome of StartApplication, and how the application ended.
type RunReport struct {
	Event RunEvent
	Exit  int32  // of RunEnded: exit code, -1 if it has none
	Text  string // for people
}

// Code implements Message.
func (m *RunReport) Code() uint8 { return CodeRunReport }
func (m *RunReport) code(c *coder) {
	c.U8("Event", (*uint8)(&m.Event))
	c.I32("Exit", &m.Exit)
	c.text16("Text", &m.Text)
}

// LogLines carries lines of a log, MaxBulk bytes in all.
type LogLines struct {
	Lines []TimedLine
}

// TimedLine is one line of LogLines.
type TimedLine struct {
	Time    int64 // of the device's clock, milliseconds since 1970 UTC
	Level   LogLevel
	Source  string // at most MaxName bytes
	Message string // at most MaxText bytes
}

// Code implements Message.
func (m *LogLines) Code() uint8 { return CodeLogLines }
func (m *LogLines) code(c *coder) {
	list(c, "Lines", &m.Lines, MaxList, 8+1+1+2, func(l *TimedLine) {
		c.I64("Time", &l.Time)
		c.U8("Level", (*uint8)(&l.Level))
		c.text8("Source", &l.Source)
		c.text16("Message", &l.Message)
	})
}

// PushPlan announces the amount of a push, so that the device can show progress. It is sent before the first change and
// whenever the plan changes; all zero means that the push ended.
type PushPlan struct {
	Files   uint32 // to write
	Bytes   uint64 // of file data to send
	Deletes uint32
}

// Code implements Message.
func (m *PushPlan) Code() uint8 { return CodePushPlan }
func (m *PushPlan) code(c *coder) {
	c.U32("Files", &m.Files)
	c.U64("Bytes", &m.Bytes)
	c.U32("Deletes", &m.Deletes)
}
