package sign

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"collet/build/advice"
	"collet/platform/text"
)

const (
	// maxOutput is how many bytes at the end of a tool's output are kept, since tools report errors last.
	maxOutput = 64 << 10
	// maxLines is how many lines of the output an error repeats.
	maxLines = 20
	// outputGrace is the time limit for the remaining output of an ended tool.
	outputGrace = 2 * time.Second
)

// usual are the variables passed to every tool: those that programs need for files, user and network. The rest of the environment is
// withheld, as it may hold other secrets.
var usual = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
	"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA",
	"ProgramData", "ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "PROCESSOR_ARCHITECTURE",
}

// tool is one call of an external program.
type tool struct {
	program string
	args    []string
	env     []string // names of variables that it gets beside the usual ones
	install string   // advice if it is missing
}

// runTool calls a tool and returns its masked output. An error contains the end of the output.
func (o Options) runTool(ctx context.Context, t tool, secrets *Secrets) (string, error) {
	path, err := exec.LookPath(t.program)
	if err != nil {
		return "", advice.Because(err, t.install, "%s is missing", t.program)
	}
	env, err := o.environment(t.env)
	if err != nil {
		return "", err
	}
	o.hideProxies(secrets)
	var out tail
	cmd := exec.CommandContext(ctx, path, t.args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &out, &out, outputGrace
	contain(cmd)
	if err = cmd.Run(); errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it succeeded and left a child process running, which is ignored
	}
	output := out.masked(secrets)
	line := secrets.Mask(shellLine(append([]string{t.program}, t.args...)))
	o.Log.Debug().Str("command", line).Str("output", output).AnErr("error", err).Msg("tool")
	if ctx.Err() != nil {
		return output, advice.Because(context.Cause(ctx), "", "%s was stopped", t.program)
	}
	if err != nil {
		return output, &advice.Error{What: fmt.Sprintf("%s: %v", line, err), Next: lastLines(output)}
	}
	return output, nil
}

// environment returns the usual variables and the named ones, which must be set.
func (o Options) environment(names []string) ([]string, error) {
	var env []string
	for _, name := range usual {
		if value, there := o.lookupVariable(name); there {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range names {
		value, there := o.lookupVariable(name)
		if !there {
			return nil, missingVariable(name)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// hideProxies adds the passwords in proxy addresses to the secrets, since tools get these variables, too.
func (o Options) hideProxies(secrets *Secrets) {
	for _, name := range usual {
		value, there := o.lookupVariable(name)
		if secrets == nil || !there || !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			continue
		}
		if u, err := url.Parse(value); err == nil && u.User != nil {
			if password, has := u.User.Password(); has {
				secrets.Add(password)
			}
		}
	}
}

func missingVariable(name string) error {
	return advice.Wrong("set it, or leave it out of the description of the packages", "the variable %s is not set", name)
}

// need returns a variable that a description names.
func (o Options) need(name string) (string, error) {
	value, there := o.lookupVariable(name)
	if !there || value == "" {
		return "", missingVariable(name)
	}
	return value, nil
}

// lastLines returns the end of a tool's output for an error.
func lastLines(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "it said nothing"
	}
	lines := strings.Split(text, "\n")
	return "it said:\n" + strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
}

// tail keeps the end of the written bytes.
type tail struct {
	data []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if len(t.data) > 4*maxOutput {
		t.data = append(t.data[:0], t.data[len(t.data)-2*maxOutput:]...)
		t.cut = true
	}
	return len(p), nil
}

// masked returns the text without secrets. If its start was truncated, it omits as many bytes as the rest of a secret could have. Secrets
// are searched in the raw text, and again in its printable form.
func (t *tail) masked(secrets *Secrets) string {
	first := 0
	if t.cut {
		first = 3 * secrets.longest() // with a two-byte line end after each character
	}
	masked := secrets.Mask(text.Lines(secrets.maskEnd(string(t.data), first)))
	return masked[max(0, len(masked)-maxOutput):]
}

// shellLine formats a command for a shell.
func shellLine(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if arg == "" || strings.ContainsFunc(arg, needsQuotes) {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func needsQuotes(r rune) bool {
	return r <= ' ' || strings.ContainsRune("\"'`$&|;<>()*?[]#~!{}\\", r)
}

const installOwn = "install it, or name another program to sign with; Apple's are on a Mac only"

// command is a packager's own command. Placeholders in its arguments are replaced without a shell.
type command struct {
	line []string
	env  []string
}

// newCommand takes the line and the variables of a description.
func newCommand(line, env []string, secrets *Secrets, o Options) (*command, error) {
	if line[0] == "" {
		return nil, advice.Wrong("name the program first", "the command to sign with is empty")
	}
	for _, name := range env {
		value, err := o.need(name)
		if err != nil {
			return nil, err
		}
		secrets.Add(value)
	}
	return &command{line: line, env: env}, nil
}

// tool returns the call with values for the placeholders, {file} and so on. A line without {file} gets the file as its last argument.
func (c *command) tool(values map[string]string) tool {
	args := make([]string, 0, len(c.line))
	named := false
	for _, arg := range c.line[1:] {
		named = named || strings.Contains(arg, "{file}")
		args = append(args, fillPlaceholders(arg, values))
	}
	if !named {
		args = append(args, values["file"])
	}
	return tool{program: c.line[0], args: args, env: c.env, install: installOwn}
}

// fillPlaceholders replaces every placeholder once, so that a value that looks like one is kept.
func fillPlaceholders(text string, values map[string]string) string {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// checkProgram reports whether the command's program exists. Its certificate is unknown before the first signature.
func (c *command) checkProgram(o Options) (signed Signed, err error) {
	if _, err := exec.LookPath(c.line[0]); err != nil && !errors.Is(err, exec.ErrDot) {
		return signed, advice.Because(err, installOwn, "%s is missing", c.line[0])
	}
	if o.Test {
		signed.Reasons = []string{"test signatures were asked for"}
	}
	return signed, nil
}

// inFolder calls do with a private temporary folder and removes it afterwards.
func (o Options) inFolder(do func(dir string) error) (err error) {
	dir, err := os.MkdirTemp(o.Temp, "sign-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return do(dir)
}
