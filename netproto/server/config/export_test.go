package config

// Rows are the names that Print and the documents show.
func Rows() (rows [][3]string) {
	for _, k := range kinds() {
		rows = append(rows, [3]string{k.name, k.standard, k.help})
	}
	return rows
}
