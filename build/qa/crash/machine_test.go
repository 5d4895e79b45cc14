package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collet/app/install"
	"collet/build/qa/fileset"
	"collet/platform/faultfs"
)

// machine is an install under random events, with the expected state.
type machine struct {
	disk  *faultfs.Disk
	names install.Names
	now   time.Time

	server  Set // the offered release
	live    Set // the live set
	proven  Set // the last proven set
	pending bool

	mine    Set    // the player's files under names of no release: they must stay in place
	inWay   Set    // the player's files under names of packs: they may be moved, but not lost
	other   string // content of the other host's module, or empty
	fresh   int    // number of made contents
	failed  []Set
	silent  []Set           // sets whose start ended without a result, once for each start
	swaps   []Set           // sets that became live and whose start ended without a result
	damaged bool            // a file was damaged, and the set was not verified since
	strays  map[string]bool // names of set files that the journal lost
	known   map[string]bool // names of all releases so far
}

// poolNames are the possible files of releases. One of them is also the folder of others.
func poolNames() []string {
	return []string{"Lathe.so.pdb", "Resources/A.zip", "Resources/B.zip", "Resources/C.zip", "Resources/Deep", "Resources/Deep/D.zip",
		"Resources/Deep/E.zip", "Resources/maps/F.zip"}
}

func newMachine(t *rapid.T) *machine {
	m := &machine{names: Names("Lathe.so"), now: storyTime, strays: map[string]bool{}, known: map[string]bool{}, inWay: Set{}}
	m.disk = faultfs.New(faultfs.Config{NoExchange: rapid.Bool().Draw(t, "no exchange"), NoInodes: rapid.Bool().Draw(t, "no inodes")})
	m.mine = Set{"readme.txt": "mine", "Lathe.so.mine": "mine, too", "Resources/mods/notes.txt": "notes", "saves/1": ""}
	if err := plant(m.disk, m.mine); err != nil {
		t.Fatal(err)
	}
	m.live, m.proven = Set{}, Set{}
	m.publish(t)
	return m
}

// content returns a new content.
func (m *machine) content(t *rapid.T) string {
	m.fresh++
	size := rapid.SampledFrom([]int{0, 1, 30, 5000, 10_000}).Draw(t, "size")
	return strings.Repeat(fmt.Sprintf("content %d ", m.fresh), size/10+1)[:size]
}

// publish changes the offered release.
func (m *machine) publish(t *rapid.T) {
	// An offer without packs drops no packs, so there is always one.
	next := m.server.with(Set{"Lathe.so": m.content(t), "Resources/Always.zip": "always"})
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		name := rapid.SampledFrom(poolNames()).Draw(t, "name")
		switch rapid.SampledFrom([]string{"set", "set", "drop", "swap", "move"}).Draw(t, "change") {
		case "set":
			next = next.making(name, m.content(t))
		case "drop":
			delete(next, name)
		case "swap":
			other := rapid.SampledFrom(poolNames()).Draw(t, "other")
			if a, b := next[name], next[other]; a != "" && b != "" {
				next[name], next[other] = b, a
			}
		case "move":
			content, there := next[name]
			if delete(next, name); there {
				next = next.making(rapid.SampledFrom(poolNames()).Draw(t, "to"), content)
			}
		}
	}
	m.server = next
	for name := range next {
		m.known[name] = true
	}
}

// making adds a file and removes files that it excludes: a folder of the same name, or a file in place of its folder.
func (s Set) making(name, content string) Set {
	s = s.filter(func(other string) bool {
		return !strings.HasPrefix(other, name+"/") && !strings.HasPrefix(name, other+"/")
	})
	s[name] = content
	return s
}

// process returns a client on the disk.
func (m *machine) process(p *faultfs.FS) *client {
	return &client{names: m.names, sets: namedSets{"server": m.server}, mode: 2, fsys: p, now: m.now}
}

// Check checks the promise on a copy of the disk.
func (m *machine) Check(t *rapid.T) {
	d := m.disk.Clone()
	c := m.process(d.Open(faultfs.Options{}))
	if err := c.openInstall(); err != nil {
		if !m.damaged {
			t.Fatalf("does not open: %v", err)
		}
		return
	}
	m.holds(t, d, m.live)
	if !m.damaged && c.dir.Pending() != m.pending {
		t.Fatalf("pending: %v, want %v", c.dir.Pending(), m.pending)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
}

// holds checks for one of some sets, all files of the player, and the other host's module.
func (m *machine) holds(t *rapid.T, d *faultfs.Disk, sets ...Set) (found Set) {
	files := d.Files()
	for name, content := range m.mine {
		if has, there := files[name]; !there || has != content {
			t.Fatalf("the player's %s is lost or changed", name)
		}
	}
	for name, content := range m.inWay {
		if !slices.Contains(slices.Collect(maps.Values(files)), content) {
			t.Fatalf("what the player had as %s is nowhere", name)
		}
	}
	if m.other != "" && files["Bore.so"] != m.other {
		t.Fatalf("the other host's module is %q, want %q", files["Bore.so"], m.other)
	}
	if m.damaged {
		return nil
	}
	return m.isOneOf(t, files, sets)
}

func (m *machine) isOneOf(t *rapid.T, files map[string]string, sets []Set) Set {
	var text string
	for _, set := range sets {
		lines := m.setOf(files, set).diff(set)
		if lines == nil {
			return set
		}
		text += "\ncompared with a set that is allowed:\n" + fileset.Difference(lines)
	}
	t.Fatalf("not an allowed set%s", text)
	return nil
}

// setOf returns the files of the disk that may belong to a set.
func (m *machine) setOf(files map[string]string, set Set) Set {
	live := Set{}
	for name, content := range files {
		_, players := m.mine[name]
		mine, foreign := m.inWay[name]
		_, wanted := set[name]
		strange := m.strays[name] || foreign && mine == content
		if !players && name != "Bore.so" && !strings.HasSuffix(name, "/") && !fileset.Outside(name) && (wanted || !strange) {
			live[name] = content
		}
	}
	return live
}

// inTheWay reports whether an error names a file that only the player may move.
func (m *machine) inTheWay(err error) bool {
	return err != nil && strings.Contains(err.Error(), "move it away") && len(m.strays)+len(m.inWay) > 0
}

// outcome is the result of a start with a new set.
type outcome string

const (
	confirms outcome = "confirm"
	leaves   outcome = "leave"
	fails    outcome = "fail"
)

// steps returns the steps of a start with an update.
func (o outcome) steps() []step {
	list := []step{fetching("server"), committing(), promoting()}
	switch o {
	case confirms:
		list = append(list, starting(), proving())
	case leaves:
		list = append(list, starting())
	case fails:
		list = append(list, starting(), failing(), starting(), failing())
	}
	return append(list, closing())
}

// start is one process with a server.
func (m *machine) start(how outcome, verify bool) (*client, error) {
	p := m.disk.Open(faultfs.Options{})
	c := m.process(p)
	c.verify = verify
	err := c.openInstall()
	if err == nil {
		err = c.play(how.steps())
	}
	p.Kill()
	return c, err
}

// update is one start, and a second one if the first finds damage while it updates.
func (m *machine) update(t *rapid.T, how outcome, verify bool) {
	if how == fails || m.damaged { // a damaged set may fail by itself
		m.failed = append(m.failed, m.server)
	}
	if how == leaves {
		m.leave()
	}
	c, err := m.start(how, verify)
	if err != nil && m.damaged && verify {
		c, err = m.start(how, verify)
	}
	if m.inTheWay(err) {
		if !m.damaged {
			m.look(t, m.live, m.proven)
		}
		return
	}
	if err != nil && (!m.damaged || verify && how == confirms) {
		t.Fatalf("update: %v", err)
	}
	if m.damaged && !verify {
		m.forget(t)
		return
	}
	m.settle(t, c, how)
}

// leave records a start that ends without a result: five of them, or three swaps, count as a failure.
func (m *machine) leave() {
	m.silent = append(m.silent, m.server)
	if !maps.Equal(m.live, m.server) {
		m.swaps = append(m.swaps, m.server)
	}
	times := func(list []Set) (n int) {
		for _, s := range list {
			if maps.Equal(s, m.server) {
				n++
			}
		}
		return n
	}
	if times(m.silent) >= 5 || times(m.swaps) >= 3 {
		m.failed = append(m.failed, m.server)
	}
}

// settle records the result of a complete start.
func (m *machine) settle(t *rapid.T, c *client, how outcome) {
	if c.plan.Blocked {
		if !slices.ContainsFunc(m.failed, func(s Set) bool { return maps.Equal(s, m.server) }) {
			t.Fatal("a set is blocked that never failed")
		}
		if !m.damaged {
			m.look(t, m.live, m.proven)
		}
		return
	}
	if m.damaged { // and this was a verification
		m.damaged, m.pending = false, how == leaves
	}
	m.holds(t, m.disk, m.server, m.proven)
	if how != fails {
		m.holds(t, m.disk, m.server)
	}
	m.look(t, m.server, m.proven)
	if how == confirms {
		if m.pending {
			t.Fatal("pending although it was confirmed")
		}
		m.proven = m.live
	}
}

// look starts the client without a server and records the live set, which must be one of some sets.
func (m *machine) look(t *rapid.T, sets ...Set) {
	p := m.disk.Open(faultfs.Options{})
	c := m.process(p)
	if err := c.openInstall(); err != nil {
		t.Fatalf("does not open: %v", err)
	}
	m.live = m.holds(t, m.disk, sets...)
	m.pending = c.dir.Pending()
	if !m.pending {
		m.proven = m.live
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
}

// forget marks the set as unknown until it is verified.
func (m *machine) forget(*rapid.T) { m.damaged = true }

// repair verifies the install with a new release.
func (m *machine) repair(t *rapid.T) {
	m.publish(t)
	m.fresh++
	m.server = m.server.with(Set{"Lathe.so": fmt.Sprintf("a module that never was %d", m.fresh)})
	m.update(t, confirms, true)
}

// crash stops a start at a random operation.
func (m *machine) crash(t *rapid.T) {
	how := rapid.SampledFrom([]outcome{confirms, leaves, fails}).Draw(t, "outcome")
	base := m.disk.Clone()
	run := func(d *faultfs.Disk, prepare func(*faultfs.FS)) *faultfs.FS {
		p := d.Open(faultfs.Options{})
		prepare(p)
		c := m.process(p)
		if c.openInstall() == nil {
			c.play(how.steps())
		}
		return p
	}
	count := run(base.Clone(), func(*faultfs.FS) {}).Count()
	at := rapid.IntRange(1, max(count, 1)).Draw(t, "operation")
	stop := rapid.SampledFrom([]func(*faultfs.FS, int){(*faultfs.FS).StopBefore, (*faultfs.FS).StopInside, (*faultfs.FS).StopAfter})
	p := run(base, func(p *faultfs.FS) { stop.Draw(t, "stop")(p, at) })
	p.Kill()
	s := survival{rapid.SampledFrom([]string{killed, "0", "50", "50u", "100"}).Draw(t, "kept"), rapid.Uint64Range(0, 99).Draw(t, "seed")}
	m.disk = s.of(base, point{op: at})
	m.failed = append(m.failed, m.server) // perhaps
	if !m.damaged {
		m.look(t, m.live, m.server, m.proven)
	}
}

// breakable lists the updater's files of a class, which may be damaged.
func (m *machine) breakable(class string) (names []string) {
	for name := range m.disk.Files() {
		_, players := m.mine[name]
		_, foreign := m.inWay[name]
		ours := !players && !foreign && !strings.HasSuffix(name, "/")
		base := name[strings.LastIndex(name, "/")+1:]
		state := strings.HasPrefix(name, install.StateDir+"/")
		is := map[string]bool{
			"live":    !fileset.Outside(name) && name != "Bore.so" && m.known[name],
			"part":    strings.HasPrefix(base, install.PartPrefix) || strings.HasPrefix(name, install.StateDir+"/parts/"),
			"backup":  isBackup(name) && !m.holdsForeign(name),
			"journal": state && (strings.HasPrefix(base, "journal.") || strings.HasPrefix(base, "lists.")),
			"cache":   strings.HasPrefix(name, m.names.Cache+"/"),
		}
		if ours && is[class] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// holdsForeign reports whether a file has the content of a player's file.
func (m *machine) holdsForeign(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(m.inWay)), m.disk.Files()[name])
}

// corrupt damages or deletes a file.
func (m *machine) corrupt(t *rapid.T) {
	class := rapid.SampledFrom([]string{"live", "part", "backup", "journal", "cache", "cache"}).Draw(t, "class")
	names := m.breakable(class)
	if len(names) == 0 {
		return
	}
	name := rapid.SampledFrom(names).Draw(t, "file")
	content := m.disk.Files()[name]
	switch kind := rapid.SampledFrom([]string{"flip", "cut", "zero", "delete"}).Draw(t, "kind"); {
	case kind == "delete":
		if err := m.disk.Open(faultfs.Options{}).Remove(name); err != nil {
			t.Fatal(err)
		}
		m.disk.Settle()
	case kind == "cut":
		m.replant(t, name, content[:len(content)/2])
	case kind == "zero":
		m.replant(t, name, strings.Repeat("\x00", len(content)))
	case content != "":
		at := rapid.IntRange(0, len(content)-1).Draw(t, "at")
		m.replant(t, name, content[:at]+string(content[at]^1)+content[at+1:])
	}
	if class == "journal" { // without it the updater can't attribute files
		maps.Copy(m.strays, m.known)
		m.inWay = Set{}
	}
	if class == "live" { // if the next release drops it, its content is foreign
		m.strays[name] = true
	}
	if class != "cache" {
		m.forget(t)
	}
}

func (m *machine) replant(t *rapid.T, name, content string) {
	if err := m.disk.Plant(name, content); err != nil {
		t.Fatal(err)
	}
}

// player adds a player's file, perhaps under a name of a later release.
func (m *machine) player(t *rapid.T) {
	m.fresh++
	content := fmt.Sprintf("the player's %d", m.fresh)
	if rapid.Bool().Draw(t, "own name") {
		name := rapid.SampledFrom([]string{"readme.txt", "Resources/mine.zip", "Lathe.so.mine"}).Draw(t, "name")
		m.mine[name] = content
		m.replant(t, name, content)
		return
	}
	name := "Resources/" + rapid.SampledFrom([]string{"A.zip", "B.zip", "C.zip"}).Draw(t, "name")
	if _, taken := m.disk.Files()[name]; taken || m.damaged || m.pending || len(m.live) == 0 {
		return // before the first release the file may belong to an older install
	}
	if _, again := m.inWay[name]; again || m.live[name] != "" {
		return
	}
	m.inWay[name], m.known[name] = content, true
	m.replant(t, name, content)
}

// offline is a start without a server.
func (m *machine) offline(t *rapid.T) {
	p := m.disk.Open(faultfs.Options{})
	c := m.process(p)
	proves := rapid.Bool().Draw(t, "proves")
	err := c.openInstall()
	if err == nil {
		m.failed = append(m.failed, m.live, m.server) // this may be the start that exceeds the limit
		err = c.starting()
	}
	if err == nil && proves {
		err = c.confirm()
	}
	if err == nil {
		err = c.close()
	}
	p.Kill()
	if m.damaged {
		return
	}
	if err != nil {
		t.Fatalf("offline: %v", err)
	}
	m.look(t, m.live, m.proven)
	if proves && m.pending {
		t.Fatal("pending although it was confirmed")
	}
}

// otherHost updates a second host in the same folder: its own module, and the same packs.
func (m *machine) otherHost(t *rapid.T) {
	if m.damaged || m.pending || !maps.Equal(m.live, m.server) {
		return
	}
	m.fresh++
	module := fmt.Sprintf("the other module %d", m.fresh)
	p := m.disk.Open(faultfs.Options{})
	c := m.process(p)
	c.names = Names("Bore.so")
	packs := m.server.filter(func(name string) bool { return strings.HasPrefix(name, "Resources/") })
	c.sets = namedSets{"server": packs.with(Set{"Bore.so": module})}
	err := c.openInstall()
	if err == nil {
		err = c.play(confirms.steps())
	}
	p.Kill()
	if err != nil {
		t.Fatalf("the other host: %v", err)
	}
	m.other = module
	m.look(t, m.live)
}

// clock sets the clock to a random time.
func (m *machine) clock(t *rapid.T) {
	m.now = storyTime.AddDate(rapid.IntRange(-40, 40).Draw(t, "years"), 0, 0)
}

// TestMachine runs random events and checks the promise after each one.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		update := func(how outcome) func(*rapid.T) { return func(t *rapid.T) { m.update(t, how, false) } }
		t.Repeat(map[string]func(*rapid.T){
			"publish": m.publish, "update": update(confirms), "update, leave": update(leaves), "update, fail": update(fails),
			"crash": m.crash, "crash again": m.crash, "corrupt": m.corrupt, "repair": m.repair, "offline": m.offline,
			"clock": m.clock, "player": m.player, "other host": m.otherHost, "": m.Check,
		})
		if m.repair(t); m.damaged && len(m.strays)+len(m.inWay) == 0 {
			t.Fatal("nothing was repaired")
		}
	})
}
