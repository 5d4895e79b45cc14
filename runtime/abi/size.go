package abi

import "unsafe"

// The mirror fits 64-bit systems only; elsewhere these lines don't compile.
var (
	_ [MetadataSize]byte = [unsafe.Sizeof(RawMetadata{})]byte{}
	_ [ResultSize]byte   = [unsafe.Sizeof(RawResult{})]byte{}
	_ [ExportsSize]byte  = [unsafe.Sizeof(RawExports{})]byte{}
	_ [ServicesSize]byte = [unsafe.Sizeof(RawServices{})]byte{}
)
