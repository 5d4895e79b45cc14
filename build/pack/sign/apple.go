package sign

import (
	"context"

	"collet/build/advice"
)

// AppleSpec is what a description says of signing for macOS. The zero value signs nothing.
type AppleSpec struct {
	Command         []string // program and arguments that sign the bundle {file} in place
	NotarizeCommand []string // program and arguments that have the archive {file} notarized
	Env             []string // variables that the commands get beside the usual ones
}

// Apple signs bundles for macOS with the tools that a Mac has, or with others that do what those do. NewApple makes one.
type Apple struct {
	options  Options
	secrets  Secrets
	sign     *command
	notarize *command
	staple   *command
}

// staple is the command that attaches to a bundle what Apple has said of its archive.
var staple = []string{"xcrun", "stapler", "staple", "{file}"}

// NewApple takes the values of the variables from the environment. It is nil where nothing is to be signed.
func NewApple(s AppleSpec, o Options) (*Apple, error) {
	if len(s.Command) == 0 && len(s.NotarizeCommand) == 0 {
		return nil, nil
	}
	if len(s.Command) == 0 {
		return nil, advice.Wrong("name the command that signs the bundle, too", "Apple notarizes only what is signed")
	}
	a := &Apple{options: o}
	var err error
	if a.sign, err = newCommand(s.Command, s.Env, &a.secrets, o); err != nil || len(s.NotarizeCommand) == 0 {
		return a, err
	}
	a.staple = &command{line: staple}
	a.notarize, err = newCommand(s.NotarizeCommand, s.Env, &a.secrets, o)
	return a, err
}

// Plan is what has to be run on a Mac for a bundle and its archive, in this order: sign the bundle, pack the archive, have the
// archive notarized, staple the bundle, pack the archive anew.
func (a *Apple) Plan(bundle, archive string) []string {
	lines := []string{a.commandLine(a.sign, bundle)}
	if a.notarize != nil {
		lines = append(lines, a.commandLine(a.notarize, archive), a.commandLine(a.staple, bundle))
	}
	return lines
}

func (a *Apple) commandLine(c *command, file string) string {
	t := c.tool(map[string]string{"file": file})
	return a.secrets.Mask(shellLine(append([]string{t.program}, t.args...)))
}

// Check says whether the programs are there.
func (a *Apple) Check(context.Context) (signed Signed, err error) {
	for _, c := range []*command{a.sign, a.notarize, a.staple} {
		if c == nil {
			continue
		}
		if signed, err = c.checkProgram(a.options); err != nil {
			return signed, err
		}
	}
	return signed, nil
}

// Sign signs a bundle, a folder, in place.
func (a *Apple) Sign(ctx context.Context, bundle string) error { return a.call(ctx, a.sign, bundle) }

// Notarize sends an archive with a signed bundle to Apple and waits for the answer. It does nothing where none is wanted.
func (a *Apple) Notarize(ctx context.Context, archive string) error {
	return a.call(ctx, a.notarize, archive)
}

// Staple attaches Apple's answer to a bundle.
func (a *Apple) Staple(ctx context.Context, bundle string) error {
	return a.call(ctx, a.staple, bundle)
}

func (a *Apple) call(ctx context.Context, c *command, file string) error {
	if c == nil {
		return nil
	}
	if _, err := a.options.runTool(ctx, c.tool(map[string]string{"file": file}), &a.secrets); err != nil {
		return advice.Because(err, "", "sign %s", file)
	}
	return nil
}
