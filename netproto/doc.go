// Package netproto is the protocol between client and server: frames, messages, generations and the cipher. Package
// session below it is the client's session; package server has the other side.
//
// # Frame
//
// A connection carries one byte stream in each direction. A stream is a sequence of frames; all numbers are little-endian:
//
//	u32 signature 0x011E9422 · u32 length of the whole frame, these 9 bytes included · u8 message id · fields
//
// A string is a u32 length and that many bytes. A bool is one byte, 0 or 1. Nothing is padded.
//
// # Generations
//
// A Generation is a protocol version: it defines the messages, their layouts, the cipher and the compression. G1 is the
// engine's updater version 1 (docs/PROTOCOL.md); G2a and G2b are its version 2 in two layouts; C1 is our
// own. A server detects the generation from the hello, the first frame, which is never enciphered. A client is
// configured with it, or probes with hellos that are harmless to every server and offer C1 (session.Options.Auto).
//
//	          cipher                             compression             requests in flight
//	engine's  one key byte a field, from MT19937  zlib, server to client  one
//	C1        none                                none                    as many as both sides allow
//
// The cipher gives no confidentiality against an observer of the whole connection; it exists for compatibility with the
// engine. Each direction has its own key, which is sent in the clear: the client's in Handshake, the server's in
// HandshakeAnswer. It covers everything after that message. A field of n bytes is XORed with one byte of a table of 50,
// selected by the field's offset in the stream. So reading needs the field boundaries, but skipping does not.
//
// Compression is not negotiated. A client detects it by the first two bytes; the stream is flushed after every batch and
// never finished.
//
// # Objects
//
// A C1 server may serve a release folder: any file of it by name and range (GetObject), like a web server. IsObjectName
// defines the valid names. A client that updates this way needs no list (CapUnlisted), and the server's answer shows
// whether there is a newer release (TagTimestamp).
//
// # Verdict
//
// A server judges every hello with package compat and answers with the verdict. In C1 the client describes its build
// with HelloTags, and the server's answer has AnswerTags; an engine generation carries what its fields have room for
// (NewAnswer). An offer has no room for tags, so a server that needs them requests a hello of C1 (AskHello). If the
// components of the two builds differ, and the server shows its own, both ends exchange their manifests once and compute
// the same differences (ComponentManifest, session.Client.Differences).
//
// # Messages
//
// Every message is a struct with one code method, which defines its layout for reading, writing and measuring. Messages
// with an unknown id, or from the wrong side, are skipped by their length and returned as *Unknown. docs/PROTOCOL.md has
// the tables; testdata/vectors has every layout in bytes.
//
// # Promises
//
// Declared sizes of a peer are untrusted: each is checked against the received bytes and against Limits. So a declared
// length or count allocates at most a small multiple of the bytes that arrived. A peer that breaks the format causes a
// *FormatError, which ends the connection. A mistake of the caller is an ordinary error, and nothing was sent.
//
// Nothing is authenticated. Names are untrusted until release.CheckPath passed them, contents until their digest was verified.
package netproto
