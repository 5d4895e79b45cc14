// Package netproto is what client and server say to each other: frames, messages, generations, and the client's session.
//
// # Frame
//
// A connection carries one stream of bytes in each direction. A stream is a row of frames, all numbers little-endian:
//
//	u32 signature 0x011E9422 · u32 length of the whole frame, these 9 bytes included · u8 message id · fields
//
// A string is a u32 length and that many bytes. A bool is one byte, 0 or 1. Nothing is padded.
//
// # Generations
//
// A Generation is a wire era: which messages exist, how they are laid out, and what lies around them. G1 is the engine's
// updater version 1 (fonline reference, section 2); G2a and G2b are its version 2 in two layouts; C1 is our own. A server
// learns the generation from the hello, which is the first frame and never enciphered; a client is told, or finds out with
// hellos that harm no server and offer C1 (ClientOptions.Auto).
//
//	          cipher                             compression             requests in flight
//	engine's  one key byte a field, from MT19937  zlib, server to client  one
//	C1        none                                none                    as many as both sides allow, on one connection or,
//	                                                                      where the line loses packets, on several
//
// The cipher hides nothing from anybody who watches from the start; it is spoken because the engine speaks it. Each
// direction has its own key, which travels in the clear: the client's in Handshake, the server's in HandshakeAnswer,
// and covers everything behind that message. A field of n bytes is XORed with one byte of a table of 50, chosen by the
// field's offset in the stream; so reading needs the field borders, but skipping does not.
//
// Compression is not negotiated. A client sees it by the first two bytes; the stream is flushed behind every batch and
// never finished.
//
// # Objects
//
// A C1 server may hand out a release folder: any file of it by name and range (GetObject), as a web server would. IsObjectName
// says which names there are. A client that updates so needs no list (CapUnlisted), and learns from the server's answer
// whether there is anything new (TagTimestamp).
//
// # Verdict
//
// A server judges every hello with package compat, and answers with what it found. In C1 a client says of its build what
// HelloTags has, and is told what AnswerTags has; an engine generation carries what its fields have room for (NewAnswer). An
// offer has no room for tags, so a server that wants them asks for a hello of C1 (AskHello). Where the components of the two builds
// differ, and the server is one that shows its own, both ends show their manifests, once, and find the same differences
// (ComponentManifest, Client.Differences); who wants to hear of it is called by Dial (ClientOptions.OnVerdict).
//
// # Messages
//
// Every message is a struct with one code method, which states its layout once for reading, writing and measuring.
// Messages with an unknown id, or one that the other side has no business to send, are skipped by their length and
// arrive as *Unknown. docs/PROTOCOL.md has the tables; testdata/vectors has every layout in bytes.
//
// # Promises
//
// Nothing that a peer declares is believed before it is compared with what it sent and with Limits: no declared length
// or count allocates more than a small multiple of the bytes that really arrived. A peer that breaks the format gets a
// *FormatError and the connection is over. What is our own caller's mistake is an ordinary error, and nothing was sent.
//
// Nothing here is authentic. Names are data of a peer until release.CheckPath passed them, content is until its
// digest was checked.
package netproto
