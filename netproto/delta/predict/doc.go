// Package predict predicts references between addresses in native code, for patches of netproto/delta.
//
// Native code and its data refer to addresses. When a build moves code, every reference changes although nothing else did.
// Maker and applier of a patch both know which old bytes were matched where (Match, OffsetMap). So for each reference in
// the old bytes of a match, a Predictor computes the expected new value, and the patch stores only the difference between
// the expected and the new bytes. Both sides run the same code over the same bytes, and only the Corrector differs: the
// maker's records differences and the applier's adds them. So one is the other's inverse for any bytes.
//
// WebAssembly numbers its functions and data instead; these numbers are learned (shiftMap).
//
// The maker parses the headers of ELF, PE, Mach-O and WebAssembly modules (FindModules), writes their address maps into the patch
// (Encode), and tries for each block which kind of reference it has (Trial). The applier reads the maps (ReadModules) and
// the kinds from the patch and never parses a module. Modules also mask references for the maker's match search.
package predict
