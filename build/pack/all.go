package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"collet/build/pack/bundle"
	"collet/build/pack/sign"
	"collet/netproto/product"
	"collet/netproto/release"
	"collet/platform/interrupt"
)

// MakeOptions configure Make.
type MakeOptions struct {
	Out     string   // folder of the artefacts; created if missing
	Clients bool     // packages for players
	Servers bool     // packages for operators, and the folder for publishing releases
	Only    []string // patterns of <target>/<format> or <target>, as in path.Match; empty for all
	Jobs    int      // number of packages made at a time; 0 is one

	TestSigning bool // use test certificates and keys; the names of signed files say so

	// Report is called for every finished artefact, by one goroutine at a time. May be nil.
	Report func(Artefact)
	// Note is called with one line about each manual step that remains. May be nil.
	Note func(string)
}

// Artefact is one finished package.
type Artefact struct {
	Name  string // in the folder of the artefacts; a folder's name ends in a slash
	Size  int64  // bytes; for a folder the sum of its files
	Took  time.Duration
	files []string // in the folder of the artefacts, with slashes: the names in SumsFile
}

// workPrefix begins the name of the working folder. It lies in the folder of the artefacts, so that finished ones only need a rename.
const workPrefix = ".collet-pack-"

// Make makes packages. Each is written whole or not at all. An error or the end of ctx stops the rest, removes unfinished files, and lists
// only complete artefacts in SumsFile.
func (p *Project) Make(ctx context.Context, o MakeOptions) (made []Artefact, err error) {
	jobs, err := p.planJobs(o)
	if err == nil {
		err = errors.Join(possible(jobs), p.outside(o.Out))
	}
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(jobs, func(j job) bool { return j.all && j.target != releaseTarget }) {
		if _, err := p.serverSettings(); err != nil { // report a mistake before any work
			return nil, err
		}
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return nil, err
	}
	o.noteLeftovers()
	work, err := os.MkdirTemp(o.Out, workPrefix+"*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	m := &making{out: o.Out, work: work, report: o.Report, notes: o.Note}
	s, err := p.signers(ctx, jobs, o.TestSigning)
	if err != nil {
		return nil, err
	}
	for _, warning := range s.warnings() {
		m.printNote(warning)
	}
	if m.composition, err = p.compose(ctx, filepath.Join(work, "composed"), wantedTargets(jobs), s); err != nil {
		return nil, m.stopped(ctx, err)
	}
	sums, err := takeSums(o.Out) // the artefacts that it lists are replaced from here on
	if err != nil {
		return nil, err
	}
	if err := m.runJobs(ctx, jobs, max(1, o.Jobs)); err != nil {
		return nil, m.stopped(ctx, err)
	}
	slices.SortFunc(m.made, func(a, b Artefact) int { return strings.Compare(a.Name, b.Name) })
	return m.made, sums.writeFile(ctx, o.Out, m.made)
}

// noteLeftovers reports working folders of killed calls. They stay, because another call may be using them.
func (o MakeOptions) noteLeftovers() {
	left, err := filepath.Glob(filepath.Join(o.Out, workPrefix+"*"))
	if err != nil || o.Note == nil {
		return
	}
	for _, dir := range left {
		o.Note(dir + " is of a run that was killed, or that is still at work; remove it if there is none")
	}
}

// job makes one artefact.
type job struct {
	target product.Target
	format string
	all    bool // one artefact for all targets
	make   func(ctx context.Context, m *making) (Artefact, error)
}

// pattern returns the job's name for --only.
func (j job) pattern() string { return string(j.target) + "/" + j.format }

// planJobs lists the jobs in the order of the description. It refuses patterns without a match.
func (p *Project) planJobs(o MakeOptions) ([]job, error) {
	var all []job
	if o.Clients {
		all = append(all, p.clientJobs()...)
	}
	if o.Servers {
		all = append(all, p.serverJobs()...)
	}
	if len(o.Only) == 0 {
		return all, p.some(all)
	}
	used := make([]bool, len(o.Only))
	var chosen []job
	for _, j := range all {
		take := false
		for i, pattern := range o.Only {
			is, err := matches(pattern, j)
			if err != nil {
				return nil, fmt.Errorf("%q: %w; want <target>/<format>, where * stands for anything", pattern, err)
			}
			take, used[i] = take || is, used[i] || is
		}
		if take {
			chosen = append(chosen, j)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("nothing is called %q; %s has %s", o.Only[i], p.File, patterns(all))
	}
	return chosen, nil
}

// some returns an error if the list of jobs is empty.
func (p *Project) some(all []job) error {
	if len(all) == 0 {
		return fmt.Errorf("%s asks for no package of this kind: name hosts of targets, and formats", p.File)
	}
	return nil
}

func matches(pattern string, j job) (bool, error) {
	if !strings.Contains(pattern, "/") {
		return path.Match(pattern, string(j.target))
	}
	return path.Match(pattern, j.pattern())
}

func patterns(all []job) string {
	var names []string
	for _, j := range all {
		if !slices.Contains(names, j.pattern()) {
			names = append(names, j.pattern())
		}
	}
	return strings.Join(names, ", ")
}

// wantedTargets returns a filter of the needed targets; nil is all.
func wantedTargets(jobs []job) func(product.Target) bool {
	for _, j := range jobs {
		if j.all {
			return nil
		}
	}
	return func(t product.Target) bool {
		return slices.ContainsFunc(jobs, func(j job) bool { return j.target == t })
	}
}

// making is the state of one call of Make.
type making struct {
	*composition
	out, work string

	mu       sync.Mutex // guards the following fields
	report   func(Artefact)
	notes    func(string)
	made     []Artefact
	offered  bundle.Tree // the server's payload, once a server has accepted it
	settings settingsFile
}

// runJobs executes the jobs, most at a time. The first error stops the others and is returned.
func (m *making) runJobs(ctx context.Context, jobs []job, most int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(most)
	for _, j := range jobs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return m.runJob(ctx, j)
		})
	}
	return group.Wait()
}

func (m *making) runJob(ctx context.Context, j job) error {
	begun := time.Now()
	a, err := j.make(ctx, m)
	if err != nil {
		return fmt.Errorf("%s: %w", j.pattern(), err)
	}
	a.Took = time.Since(begun)
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.made, func(other Artefact) bool { return other.Name == a.Name }) {
		return fmt.Errorf("%s: two packages are called %s, and the second is in the place of the first; choose one with --only", j.pattern(), a.Name)
	}
	m.made = append(m.made, a)
	if m.report != nil {
		m.report(a)
	}
	return nil
}

// file makes a single-file artefact. make writes to a temporary path; the complete file then gets its name.
func (m *making) file(name string, make func(out string) error) (Artefact, error) {
	a := Artefact{Name: name, files: []string{name}}
	dir, err := os.MkdirTemp(m.work, "job-*")
	if err != nil {
		return a, err
	}
	grown := filepath.Join(dir, name)
	if err := make(grown); err != nil {
		return a, err
	}
	info, err := os.Stat(grown)
	if err != nil {
		return a, err
	}
	a.Size = info.Size()
	beside, err := os.ReadDir(dir) // detached signatures lie beside the signed file
	if err != nil {
		return a, err
	}
	for _, suffix := range []string{sign.ArmorSuffix, sign.CommandSuffix} { // an older signature is for other bytes
		if err := os.Remove(filepath.Join(m.out, name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return a, err
		}
	}
	for _, e := range beside {
		if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(m.out, e.Name())); err != nil {
			return a, err
		}
		if e.Name() != name {
			a.files = append(a.files, e.Name())
		}
	}
	return a, nil
}

// folder makes an artefact that is a folder. An existing folder of its name is removed first, since old files among new ones would be
// published.
func (m *making) folder(name string, make func(dir string) error) (Artefact, error) {
	a := Artefact{Name: name + "/"}
	dir, err := os.MkdirTemp(m.work, "job-*")
	if err != nil {
		return a, err
	}
	grown, final := filepath.Join(dir, name), filepath.Join(m.out, name)
	if err := errors.Join(os.Mkdir(grown, 0o755), os.Chmod(grown, 0o755)); err != nil {
		return a, err
	}
	if err := make(grown); err != nil {
		return a, err
	}
	err = filepath.WalkDir(grown, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, errRel := filepath.Rel(dir, file)
		info, err := e.Info()
		if err = errors.Join(err, errRel); err == nil {
			a.Size += info.Size()
			a.files = append(a.files, filepath.ToSlash(rel))
		}
		return err
	})
	if err := errors.Join(err, os.RemoveAll(final)); err != nil {
		return a, err
	}
	return a, os.Rename(grown, final)
}

// sumOf is the SHA-256 of a file in hexadecimal.
func sumOf(ctx context.Context, name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	sum, err := release.SHA256.DigestOf(interrupt.Reader(ctx, f))
	_, hex, _ := strings.Cut(sum.String(), ":")
	return hex, errors.Join(err, f.Close())
}
