// Package soak keeps a real update server under constantly changing load and looks for what grows: goroutines, file
// descriptors, connections, heap and resident memory of its process.
//
// # A run
//
//	start ─ connect idle clients ─┬→ load ─ reconnect ─ quiet moment, one sample ─┬→ all clients leave ─ stop ─ verdict
//	                              └───────────────── next cycle ←─────────────────┘
//
// A cycle begins with load of three kinds:
//
//   - Workers download over every transport in every generation, and check the list and every byte against what was published. They
//     also disconnect during a download, read slowly, send invalid bytes, send pings, or connect only.
//   - Stalled clients send nothing or half a hello, read no answer, or answer no ping, until the server ends them at its time limit.
//   - A publisher renames changed files into place and reloads, by signal or through the control socket. Some reloads must fail.
//
// The seed decides all random choices; how threads interleave is not repeatable.
//
// Then the load pauses and all its connections are closed. The idle clients stay connected, over all transports in all generations: one
// half since the start, with the first catalogue; the other half reconnects when there is another one. So every quiet moment has the same
// connections and the same number of catalogues, and numbers can be compared. A sample is read after two garbage collections that began
// in the quiet moment; its heap is the smallest that is seen there and after three more. Requests for metrics cause them, so the server
// is the one that players get.
//
// # The verdict
//
// Of the samples behind the warm-up, the median of the last third is compared with that of the first. Bounds says by how
// much each may have grown. Judge is a pure function.
//
// The server's limits of time are shorter than their defaults, so that they are reached. Everything else has its default.
//
// # Promises
//
// Nothing listens anywhere but on the loopback interface. When Run returns, the server, all connections, goroutines and
// files that it made are gone, also when ctx ended it early; the verdict is then about what was measured until then.
package soak
