package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"collet"
	"collet/app/supervise"
	"collet/netproto/product"
	"collet/platform"
	"collet/runtime/abi"
)

const (
	// probeWait is how long the answer of a probe may take: as long as loading a module, because a virus scanner may read the whole
	// program first.
	probeWait = supervise.DefaultLoadTimeout
	// maxAlive is the longest answer in bytes; a real one has some 150.
	maxAlive = 64 << 10
)

// alive is the answer of a probe: one line of JSON. It is exchanged between versions: members are only added, and unknown members are
// ignored.
type alive struct {
	Version string `json:"version"`
	Build   uint64 `json:"build"`
	ABI     uint32 `json:"abi"`    // of the host
	Target  string `json:"target"` // that it was built for
	Trusts  bool   `json:"trusts"` // it has a trusted root, built in or beside it
	Asks    bool   `json:"asks"`   // it has a server or a mirror, built in or beside it
	Name    string `json:"name"`   // that it was packaged with; empty: not packaged
	Fault   string `json:"fault"`  // why it would not start, as text; empty: it would
}

// Probe is this program in the role probe: it writes its version, target and configuration to out, as one line of JSON, before it may
// replace another version. It reads the settings beside live, the path that it will have. The exit code is 0 or that of a child
// without a host.
func Probe(live string, out io.Writer) int {
	answer := alive{Version: collet.Version(), Build: uint64(collet.App().Build), ABI: abi.HostABIVersion, Target: string(buildTarget())}
	knows, err := knowledgeOf(live)
	if err != nil {
		answer.Fault = err.Error()
	}
	answer.Trusts, answer.Asks, answer.Name = knows.trusts, knows.asks, knows.name
	line, err := json.Marshal(answer)
	if err == nil {
		_, err = out.Write(append(line, '\n'))
	}
	if err != nil {
		return supervise.ExitHostGone
	}
	return 0
}

// knowledge is the configuration of a program without its command line.
type knowledge struct {
	trusts, asks bool
	name         string
}

// knowledgeOf is the configuration of this program at the path exe.
func knowledgeOf(exe string) (knowledge, error) {
	folder := filepath.Dir(exe)
	packed, err := readPacked()
	if err != nil {
		return knowledge{}, err
	}
	set, err := packed.settings(filepath.Join(folder, product.RuntimeBase(exe)+".toml"))
	if err != nil {
		return knowledge{}, err
	}
	root, err := trustedRoot(Options{}, set, folder)
	return knowledge{len(root) > 0, set.NamesServer || len(set.Release.Urls) > 0, packed.Name}, err
}

// refuse returns why a probed program must not replace this one; empty: it may. The other program must have every part of this one's
// configuration: without the game's settings it would never update again.
func (a alive) refuse(target product.Target, mine knowledge) string {
	switch {
	case a.Fault != "":
		return "it would not start: " + a.Fault
	case a.Target != string(target):
		return fmt.Sprintf("it is for %q, and this is %s", a.Target, target)
	case mine.name != "" && a.Name != mine.name:
		return fmt.Sprintf("it was packed as %q, and this as %q", a.Name, mine.name)
	case mine.trusts && !a.Trusts:
		return "it has no trusted root"
	case mine.asks && !a.Asks:
		return "it does not know any server"
	case a.Version == "":
		return "it does not say its version"
	}
	return ""
}

// probed is the result of a probe: its answer, or an error. sure says that the error is permanent.
type probed struct {
	answer alive
	err    error
	sure   bool
}

// errNoAnswer is for a program that ended or stayed silent.
var errNoAnswer = errors.New("it gave no answer")

// probe starts a program as a probe.
func probe(ctx context.Context, exe, live string) probed {
	p, err := startWritten(ctx, platform.Command{Exe: exe, Args: []string{"--role=probe", "--trial=" + live}})
	if err != nil {
		return probed{err: fmt.Errorf("start %s: %w", exe, err), sure: platform.IsNotProgram(err)}
	}
	defer p.To.Close()
	defer p.From.Close()
	line := make(chan []byte, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(p.From, maxAlive)).ReadBytes('\n')
		if err != nil {
			text = nil
		}
		line <- text
	}()
	late := time.NewTimer(probeWait)
	defer late.Stop()
	var text []byte
	select {
	case text = <-line:
	case <-late.C:
		err = fmt.Errorf("%w within %v", errNoAnswer, probeWait)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil && text == nil { // it has ended, or is about to
		select {
		case <-p.Done():
		case <-time.After(lastWords):
		}
	}
	p.Kill() // its answer is complete
	end := p.End()
	var r probed
	switch {
	case err == nil && text == nil:
		err = fmt.Errorf("%w and %s", errNoAnswer, end)
	case err == nil:
		err = json.Unmarshal(text, &r.answer)
	}
	r.err = err
	return r
}

// startWritten starts a program that was just written. A child that another goroutine starts at the same time has a copy of every open
// file for a moment, so the file may still be open for writing; on Windows a virus scanner may have it open.
func startWritten(ctx context.Context, c platform.Command) (p *platform.Process, err error) {
	err = platform.RetryWhileLocked(ctx, func() error {
		p, err = platform.StartProcess(c)
		return err
	})
	return p, err
}

// dueForTrial reports whether a newer version of this program is staged and its probe succeeds. A failed probe is recorded with that
// version.
func (r *renewal) dueForTrial(ctx context.Context) bool {
	waiting := r.both.Waiting()
	if waiting == "" {
		return false
	}
	if allowed, err := r.program.TrialBegins(); err != nil || !allowed {
		r.log.Warn().Err(err).Msg("the newer version of this program is not tried again")
		return false
	}
	mine, err := knowledgeOf(r.exe)
	if err != nil {
		r.log.Warn().Err(err).Msg("this program is not updated")
		return false
	}
	found := probe(ctx, waiting, r.exe)
	if ctx.Err() != nil {
		return false
	}
	cause := ""
	if found.err != nil {
		cause = found.err.Error()
	} else if cause = found.answer.refuse(buildTarget(), mine); cause != "" {
		found.sure = true
	}
	if cause != "" {
		r.log.Warn().Str("cause", cause).Str("file", waiting).Msg("the newer version of this program does not work here")
		if err := r.program.TrialFailed(cause, found.sure); err != nil {
			r.log.Warn().Err(err).Msg("the failed trial could not be recorded")
		}
		return false
	}
	r.log.Info().Str("version", found.answer.Version).Uint64("build", found.answer.Build).Str("file", waiting).Msg("a newer version of this program is tried")
	r.due = waiting
	return true
}

// buildTarget is what this program was built for.
func buildTarget() product.Target { return product.TargetFor(runtime.GOOS, runtime.GOARCH) }
