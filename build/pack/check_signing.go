package pack

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"collet/build/advice"
)

var (
	envForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	holder  = regexp.MustCompile(`\{[^{}]*\}`)
	// secretFlag matches an option whose value is a secret, in the same argument or in the next.
	secretFlag = regexp.MustCompile(`(?i)^(-{1,2}|/)[a-z-]*(pass|password|passwd|passphrase|pin|token|secret)$`)
	secretText = regexp.MustCompile(`(?i)^((-{1,2}|/)[a-z-]*(pass|password|passwd|passphrase|pin|token|secret)[=:]|pass:).+`)
)

const toEnv = "let the command read it from the environment, and name the variable in env"

// signingChecker checks the variables of keys, and the commands that sign.
type signingChecker struct {
	*fileChecker
	signing *Signing
}

func (c *signingChecker) check() {
	c.checkAuthenticode(&c.signing.Windows)
	d := &c.signing.Linux
	const linux = "signing.linux"
	c.checkVariable(linux+".key-env", d.KeyEnv)
	c.checkVariable(linux+".password-env", d.PasswordEnv)
	c.checkCommand(linux+".command", d.Command, "{file}", "{signature}")
	c.checkEither(linux, d.Command, d.KeyEnv, d.PasswordEnv)
	if d.PasswordEnv != "" && d.KeyEnv == "" {
		c.addMissing(linux+".key-env", "the password belongs to a key")
	}
	c.checkVariables(linux+".env", d.Env, d.Command)
	m := &c.signing.MacOS
	c.checkCommand("signing.macos.command", m.Command, "{file}")
	c.checkCommand("signing.macos.notarize-command", m.NotarizeCommand, "{file}")
	c.checkVariables("signing.macos.env", m.Env, slices.Concat(m.Command, m.NotarizeCommand))
}

func (c *signingChecker) checkAuthenticode(s *Authenticode) {
	const key = "signing.windows"
	c.checkVariable(key+".certificate-env", s.CertificateEnv)
	c.checkVariable(key+".key-env", s.KeyEnv)
	c.checkVariable(key+".pkcs12-env", s.PKCS12Env)
	c.checkVariable(key+".password-env", s.PasswordEnv)
	c.checkWebAddress(key+".timestamp-url", s.TimestampURL)
	for name, value := range map[string]*string{"authority": &s.Authority, "timestamp-authority": &s.TimestampAuthority} {
		if *value != "" {
			c.resolve(key+"."+name, value, aFile)
		}
	}
	c.checkCommand(key+".command", s.Command, "{file}")
	c.checkEither(key, s.Command, s.CertificateEnv, s.KeyEnv, s.PKCS12Env, s.PasswordEnv, s.TimestampURL)
	c.checkVariables(key+".env", s.Env, s.Command)
	switch own := s.CertificateEnv != "" || s.KeyEnv != ""; {
	case own && s.PKCS12Env != "":
		c.add(key+".pkcs12-env", "leave one of the two out", "goes without certificate-env and key-env")
	case s.CertificateEnv == "" && own:
		c.addMissing(key+".certificate-env", "a key signs together with its certificate")
	case s.KeyEnv == "" && own:
		c.addMissing(key+".key-env", "a certificate signs together with its key")
	case !own && s.PKCS12Env == "" && (s.PasswordEnv != "" || s.TimestampURL != "") && len(s.Command) == 0:
		c.add(key, "add certificate-env and key-env, or pkcs12-env, or command", "has nothing to sign with")
	}
}

// checkEither refuses a command together with keys.
func (c *signingChecker) checkEither(key string, command []string, others ...string) {
	if len(command) > 0 && strings.Join(others, "") != "" {
		c.add(key+".command", "leave one of the two out", "goes without the variables of keys: the command knows its own")
	}
}

// checkVariable checks the name of a variable. A wrong value is not repeated, because it may be the secret.
func (c *signingChecker) checkVariable(key, name string) {
	if name != "" && !envForm.MatchString(name) {
		c.add(key, `name the variable that holds it, such as "COLLET_SIGN_KEY"; if this was the secret, it is none any more`, "is no name of an environment variable")
	}
}

func (c *signingChecker) checkVariables(key string, names, command []string) {
	c.checkCount(key, len(names), maxCompanions)
	for i, name := range names {
		c.checkVariable(element(key, i), name)
		if name == "" {
			c.addMissing(element(key, i), "take it out")
		}
	}
	if len(names) > 0 && len(command) == 0 {
		c.add(key, "leave it out", "goes with a command")
	}
}

// checkCommand checks an external command and its arguments.
func (c *signingChecker) checkCommand(key string, args []string, holders ...string) {
	if len(args) == 0 {
		return
	}
	c.checkCount(key, len(args), maxCompanions)
	all := strings.Join(args, " ")
	for _, h := range holders {
		if !strings.Contains(all, h) {
			c.add(key, "add "+h+" where the command wants the path", "has no %s", h)
		}
	}
	for i := range args {
		c.checkArgument(element(key, i), args, i, holders)
	}
	if !c.isBroken(element(key, 0)) {
		c.checkProgram(element(key, 0), &args[0])
	}
}

func (c *signingChecker) checkArgument(key string, args []string, i int, holders []string) {
	arg := args[i]
	switch {
	case secretText.MatchString(arg), i > 0 && secretFlag.MatchString(args[i-1]) && !strings.HasPrefix(arg, "env:") && !strings.HasPrefix(arg, "file:"):
		c.add(key, toEnv, "looks like a secret")
	case strings.ContainsRune(arg, 0):
		c.add(key, "", "has a zero byte")
	}
	for _, h := range holder.FindAllString(arg, -1) {
		if !slices.Contains(holders, h) {
			c.add(key, "want "+advice.OneOf(holders), "%s is unknown", h)
		}
	}
}

// checkProgram resolves a program inside the project, which is one with a slash. Other programs depend on the signing machine, and the
// description is also checked on other machines.
func (c *signingChecker) checkProgram(key string, value *string) {
	switch name := *value; {
	case name == "":
		c.addMissing(key, "name the program")
	case strings.Contains(name, "/") && !filepath.IsAbs(name):
		c.resolve(key, value, aFile)
	}
}
