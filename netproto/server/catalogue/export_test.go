package catalogue

// Sidecar reads what lies beside a module: its logic version, or what is wrong.
func Sidecar(text []byte) (logic int32, why string) {
	p, err := parseSidecar(text)
	if err != nil {
		return 0, err.Error()
	}
	return p.Logic, ""
}
