package den

// chunkSize is the allocation unit of stream buffers. A megabyte in flight takes four chunks.
const chunkSize = 256 << 10

// maxFreeChunks is how many free chunks are kept.
const maxFreeChunks = 32

// streamBuffer holds the bytes of a stream from base, the oldest unacknowledged one, to end.
type streamBuffer struct {
	chunks [][]byte // each chunkSize long, the last one filled up to end
	first  uint64   // offset of chunks[0]
	base   uint64
	end    uint64
	free   [][]byte
}

// write appends b.
func (s *streamBuffer) write(b []byte) {
	for len(b) > 0 {
		at := int(s.end - s.first)
		if at == len(s.chunks)*chunkSize {
			s.chunks = append(s.chunks, s.chunk())
		}
		n := copy(s.chunks[at/chunkSize][at%chunkSize:], b)
		s.end += uint64(n)
		b = b[n:]
	}
}

func (s *streamBuffer) chunk() []byte {
	if n := len(s.free); n > 0 {
		c := s.free[n-1]
		s.free = s.free[:n-1]
		return c
	}
	return make([]byte, chunkSize)
}

// read appends the n bytes at offset, which must be buffered, to buf.
func (s *streamBuffer) read(buf []byte, offset uint64, n int) []byte {
	for at := int(offset - s.first); n > 0; {
		c := s.chunks[at/chunkSize][at%chunkSize:]
		c = c[:min(n, len(c))]
		buf = append(buf, c...)
		at += len(c)
		n -= len(c)
	}
	return buf
}

// release drops the bytes before offset.
func (s *streamBuffer) release(offset uint64) {
	s.base = max(s.base, min(offset, s.end))
	for len(s.chunks) > 0 && s.base >= s.first+chunkSize {
		if len(s.free) < maxFreeChunks {
			s.free = append(s.free, s.chunks[0])
		}
		s.chunks[0] = nil
		s.chunks = s.chunks[1:]
		s.first += chunkSize
	}
}

// held is the number of bytes between base and end.
func (s *streamBuffer) held() int { return int(s.end - s.base) }
