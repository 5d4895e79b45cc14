package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxColumns is the default limit of a matrix's columns; more do not fit on a screen.
	maxColumns = 32
	// maxLooseRows is the number of rows up to which a matrix has no groups. A larger one has an overview with one row for each group.
	maxLooseRows = 40
)

// grid is the matrix of one suite. Columns are the values of some parameters, rows those of the others. Each square is one case; several
// cases, for example of many seeds, may share a cell.
type grid struct {
	Suite  string
	Count  Count
	Heads  [][]head // one line for each parameter of the columns; empty without columns
	Corner string   // the common beginning of all row titles
	Groups []group
}

// head is a label over Span columns.
type head struct {
	Param, Value string
	Span         int
}

// group is a part of the rows. A small grid has one group, without a title.
type group struct {
	Title string
	Count Count
	Cells []cell // of all rows together, by column
	Rows  []row
}

// row is one line of the matrix.
type row struct {
	Title string
	Short string // Title without the common beginning
	Cells []cell // by column
}

// cell is a place in the matrix with its cases, as indices into the report. It may be empty.
type cell struct {
	Cases []int
	Count Count
}

func (c *cell) addCase(index int, s State) {
	c.Cases = append(c.Cases, index)
	c.Count.addState(s)
}

// Title returns the head's text, in the form of a case's title.
func (h head) Title() string { return h.Param + "=" + h.Value }

// grids returns one matrix for each suite, in the order of appearance.
func (r *Report) grids() []grid {
	var suites []string
	members := map[string][]int{}
	for i, c := range r.Cases {
		if members[c.Suite] == nil {
			suites = append(suites, c.Suite)
		}
		members[c.Suite] = append(members[c.Suite], i)
	}
	grids := make([]grid, len(suites))
	for i, suite := range suites {
		grids[i] = r.grid(suite, members[suite])
	}
	return grids
}

func (r *Report) grid(suite string, members []int) grid {
	params := r.parameters(members)
	columns := r.Columns
	if columns == nil {
		columns = chooseColumns(params)
	}
	places := r.places(members, columns, params)
	rows := r.rows(members, columns, params, places)
	g := grid{Suite: suite, Heads: heads(places, columns), Corner: rows.shorten()}
	g.Groups = rows.groups(len(places))
	for _, i := range members {
		g.Count.addState(r.Cases[i].State)
	}
	return g
}

// parameter is a name with all its values. Numbers are sorted; other values keep the order of appearance.
type parameter struct {
	name   string
	values []string
	known  map[string]bool
	last   string // the value that was added last, and for which name of a case
	of     string
}

// parameters lists the parameters of some cases in the order of appearance.
func (r *Report) parameters(members []int) []parameter {
	var found []parameter
	for _, i := range members {
		for _, p := range r.Cases[i].Params {
			at := slices.IndexFunc(found, func(f parameter) bool { return f.name == p.Name })
			if at < 0 {
				at, found = len(found), append(found, parameter{name: p.Name, known: map[string]bool{}})
			}
			found[at].addValue(p.Value, r.Cases[i].Name)
		}
	}
	for _, p := range found {
		p.sort()
	}
	return found
}

// addValue inserts a new value after the preceding value of the same row, or at the end. So a value that the first row lacks has its place.
func (p *parameter) addValue(value, row string) {
	if !p.known[value] {
		p.known[value] = true
		at := len(p.values)
		if p.of == row && at > 0 {
			at = slices.Index(p.values, p.last) + 1
		}
		p.values = slices.Insert(p.values, at, value)
	}
	p.last, p.of = value, row
}

// sort sorts the values if all are numbers; percentages come last.
func (p *parameter) sort() {
	type number struct {
		value float64
		share bool
	}
	numbers := map[string]number{}
	for _, v := range p.values {
		digits, share := strings.CutSuffix(v, "%")
		n, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return
		}
		numbers[v] = number{n, share}
	}
	slices.SortStableFunc(p.values, func(a, b string) int {
		x, y := numbers[a], numbers[b]
		if x.share != y.share {
			if x.share {
				return 1
			}
			return -1
		}
		return cmp.Compare(x.value, y.value)
	})
}

// chooseColumns selects the last parameters whose combinations fit into maxColumns; the last ones vary fastest.
func chooseColumns(params []parameter) []string {
	product, first := 1, len(params)
	for first > 0 && product*len(params[first-1].values) <= maxColumns {
		first--
		product *= len(params[first].values)
	}
	var names []string
	for _, p := range params[first:] {
		names = append(names, p.name)
	}
	return names
}

// places lists the existing combinations of column values in the order of the values.
func (r *Report) places(members []int, columns []string, params []parameter) [][]string {
	var found [][]string
	seen := map[string]bool{}
	for _, i := range members {
		key := r.Cases[i].values(columns)
		if id := joined(key); !seen[id] {
			seen[id], found = true, append(found, key)
		}
	}
	rank := ranks(params)
	slices.SortStableFunc(found, func(a, b []string) int {
		for i, name := range columns {
			if order := rank[name][a[i]] - rank[name][b[i]]; order != 0 {
				return order
			}
		}
		return 0
	})
	return found
}

// ranks returns the position of each value of each parameter, from 1; a missing value comes first.
func ranks(params []parameter) map[string]map[string]int {
	all := map[string]map[string]int{}
	for _, p := range params {
		all[p.name] = map[string]int{}
		for i, v := range p.values {
			all[p.name][v] = i + 1
		}
	}
	return all
}

// values returns the values of some parameters; a missing one is empty.
func (c Case) values(names []string) []string {
	values := make([]string, len(names))
	for i, name := range names {
		values[i], _ = c.Param(name)
	}
	return values
}

// joined returns a map key for a list.
func joined(values []string) string { return strings.Join(values, "\x00") }

// heads labels the columns, one line for each parameter. Equal neighbours share a label if the labels above them are equal, too.
func heads(places [][]string, columns []string) [][]head {
	lines := make([][]head, len(columns))
	for level, name := range columns {
		for i, place := range places {
			if i > 0 && slices.Equal(place[:level+1], places[i-1][:level+1]) {
				lines[level][len(lines[level])-1].Span++
				continue
			}
			lines[level] = append(lines[level], head{name, place[level], 1})
		}
	}
	return lines
}

// keyed is a row with its possible groups: by name, or by name and first parameter.
type keyed struct {
	row
	name, finer string
}

type rowList []keyed

// rows returns one row for each combination of name and parameters outside the columns.
func (r *Report) rows(members []int, columns []string, params []parameter, places [][]string) rowList {
	rest := remaining(params, columns)
	column := map[string]int{}
	for i, place := range places {
		column[joined(place)] = i
	}
	var rows rowList
	at := map[string]int{}
	for _, i := range members {
		c := r.Cases[i]
		key := joined(append([]string{c.Name}, c.values(rest)...))
		if _, known := at[key]; !known {
			at[key] = len(rows)
			cells := make([]cell, len(places))
			rows = append(rows, keyed{row{Title: c.rowTitle(rest), Cells: cells}, c.Name, c.rowTitle(rest[:min(1, len(rest))])})
		}
		rows[at[key]].Cells[column[joined(c.values(columns))]].addCase(i, c.State)
	}
	return rows
}

// remaining returns the parameters that form rows. Without columns the last one forms no rows: its squares share the row's only cell.
func remaining(params []parameter, columns []string) []string {
	var rest []string
	for _, p := range params {
		if !slices.Contains(columns, p.name) {
			rest = append(rest, p.name)
		}
	}
	if len(columns) == 0 && len(rest) > 0 {
		rest = rest[:len(rest)-1]
	}
	return rest
}

// rowTitle returns the name with some of the parameters.
func (c Case) rowTitle(names []string) string {
	return Case{Name: c.Name, Params: slices.DeleteFunc(slices.Clone(c.Params), func(p Param) bool {
		return !slices.Contains(names, p.Name)
	})}.Title()
}

// shorten sets the short title of each row and returns the common beginning of all titles: names and "name=" of a parameter.
func (rows rowList) shorten() (common string) {
	if len(rows) == 0 {
		return ""
	}
	common = rows[0].Title
	for _, k := range rows {
		for !strings.HasPrefix(k.Title, common) || len(k.Title) == len(common) {
			cut := strings.LastIndexAny(strings.TrimRight(common, " ="), " =")
			common = common[:cut+1]
		}
	}
	common = common[:strings.LastIndexAny(common, " =")+1]
	for i := range rows {
		rows[i].Short = rows[i].Title[len(common):]
	}
	return strings.TrimRight(common, " =")
}

// groups groups many rows by name, or by name and first parameter. It rejects a grouping with more groups than half of the rows, because
// its overview would hardly be smaller.
func (rows rowList) groups(width int) []group {
	if len(rows) > maxLooseRows {
		for _, title := range []func(keyed) string{func(k keyed) string { return k.name }, func(k keyed) string { return k.finer }} {
			if groups := rows.gather(width, title); len(groups) > 1 && len(groups) <= len(rows)/2 {
				return groups
			}
		}
	}
	return rows.gather(width, func(keyed) string { return "" })
}

func (rows rowList) gather(width int, title func(keyed) string) []group {
	var groups []group
	at := map[string]int{}
	for _, k := range rows {
		name := title(k)
		if _, known := at[name]; !known {
			at[name] = len(groups)
			groups = append(groups, group{Title: name, Cells: make([]cell, width)})
		}
		groups[at[name]].addRow(k.row)
	}
	return groups
}

func (g *group) addRow(r row) {
	g.Rows = append(g.Rows, r)
	for i, c := range r.Cells {
		g.Cells[i].Cases = append(g.Cells[i].Cases, c.Cases...)
		g.Cells[i].Count.merge(c.Count)
		g.Count.merge(c.Count)
	}
}

func (n *Count) merge(m Count) {
	n.OK, n.Violations, n.Skipped = n.OK+m.OK, n.Violations+m.Violations, n.Skipped+m.Skipped
}
