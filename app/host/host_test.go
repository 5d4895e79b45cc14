package host

// hostWith is a host of which only this much was found out.
func hostWith(s setup, changes ...func(*host)) *host {
	h := assemble(s)
	for _, change := range changes {
		change(h)
	}
	return h
}
