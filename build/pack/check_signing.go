package pack

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	envForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	holder  = regexp.MustCompile(`\{[^{}]*\}`)
	// secretFlag matches an option whose value is a secret, in the same argument or in the next.
	secretFlag = regexp.MustCompile(`(?i)^(-{1,2}|/)[a-z-]*(pass|password|passwd|passphrase|pin|token|secret)$`)
	secretText = regexp.MustCompile(`(?i)^((-{1,2}|/)[a-z-]*(pass|password|passwd|passphrase|pin|token|secret)[=:]|pass:).+`)
)

const toEnv = "let the command read it from the environment, and name the variable in env"

func (c *checker) signing() {
	c.authenticode(&c.p.Signing.Windows)
	d := &c.p.Signing.Linux
	const linux = "signing.linux"
	c.variable(linux+".key-env", d.KeyEnv)
	c.variable(linux+".password-env", d.PasswordEnv)
	c.command(linux+".command", d.Command, "{file}", "{signature}")
	c.either(linux, d.Command, d.KeyEnv, d.PasswordEnv)
	if d.PasswordEnv != "" && d.KeyEnv == "" {
		c.missing(linux+".key-env", "the password belongs to a key")
	}
	c.variables(linux+".env", d.Env, d.Command)
	m := &c.p.Signing.MacOS
	c.command("signing.macos.command", m.Command, "{file}")
	c.command("signing.macos.notarize-command", m.NotarizeCommand, "{file}")
	c.variables("signing.macos.env", m.Env, slices.Concat(m.Command, m.NotarizeCommand))
}

func (c *checker) authenticode(s *Authenticode) {
	const key = "signing.windows"
	c.variable(key+".certificate-env", s.CertificateEnv)
	c.variable(key+".key-env", s.KeyEnv)
	c.variable(key+".pkcs12-env", s.PKCS12Env)
	c.variable(key+".password-env", s.PasswordEnv)
	c.web(key+".timestamp-url", s.TimestampURL)
	for name, value := range map[string]*string{"authority": &s.Authority, "timestamp-authority": &s.TimestampAuthority} {
		if *value != "" {
			c.path(key+"."+name, value, aFile)
		}
	}
	c.command(key+".command", s.Command, "{file}")
	c.either(key, s.Command, s.CertificateEnv, s.KeyEnv, s.PKCS12Env, s.PasswordEnv, s.TimestampURL)
	c.variables(key+".env", s.Env, s.Command)
	switch own := s.CertificateEnv != "" || s.KeyEnv != ""; {
	case own && s.PKCS12Env != "":
		c.add(key+".pkcs12-env", "leave one of the two out", "goes without certificate-env and key-env")
	case s.CertificateEnv == "" && own:
		c.missing(key+".certificate-env", "a key signs together with its certificate")
	case s.KeyEnv == "" && own:
		c.missing(key+".key-env", "a certificate signs together with its key")
	case !own && s.PKCS12Env == "" && (s.PasswordEnv != "" || s.TimestampURL != "") && len(s.Command) == 0:
		c.add(key, "add certificate-env and key-env, or pkcs12-env, or command", "has nothing to sign with")
	}
}

// either refuses a command together with keys.
func (c *checker) either(key string, command []string, others ...string) {
	if len(command) > 0 && strings.Join(others, "") != "" {
		c.add(key+".command", "leave one of the two out", "goes without the variables of keys: the command knows its own")
	}
}

// variable checks the name of a variable. A wrong value is not repeated, because it may be the secret.
func (c *checker) variable(key, name string) {
	if name != "" && !envForm.MatchString(name) {
		c.add(key, `name the variable that holds it, such as "COLLET_SIGN_KEY"; if this was the secret, it is none any more`, "is no name of an environment variable")
	}
}

func (c *checker) variables(key string, names, command []string) {
	c.few(key, len(names), maxCompanions)
	for i, name := range names {
		c.variable(element(key, i), name)
		if name == "" {
			c.missing(element(key, i), "take it out")
		}
	}
	if len(names) > 0 && len(command) == 0 {
		c.add(key, "leave it out", "goes with a command")
	}
}

// command checks an external command and its arguments.
func (c *checker) command(key string, args []string, holders ...string) {
	if len(args) == 0 {
		return
	}
	c.few(key, len(args), maxCompanions)
	all := strings.Join(args, " ")
	for _, h := range holders {
		if !strings.Contains(all, h) {
			c.add(key, "add "+h+" where the command wants the path", "has no %s", h)
		}
	}
	for i := range args {
		c.argument(element(key, i), args, i, holders)
	}
	if !c.isBroken(element(key, 0)) {
		c.program(element(key, 0), &args[0])
	}
}

func (c *checker) argument(key string, args []string, i int, holders []string) {
	arg := args[i]
	switch {
	case secretText.MatchString(arg), i > 0 && secretFlag.MatchString(args[i-1]) && !strings.HasPrefix(arg, "env:") && !strings.HasPrefix(arg, "file:"):
		c.add(key, toEnv, "looks like a secret")
	case strings.ContainsRune(arg, 0):
		c.add(key, "", "has a zero byte")
	}
	for _, h := range holder.FindAllString(arg, -1) {
		if !slices.Contains(holders, h) {
			c.add(key, "want "+oneOf(holders), "%s is unknown", h)
		}
	}
}

// program resolves a program inside the project, which is one with a slash. Other programs depend on the signing machine, and the
// description is also checked on other machines.
func (c *checker) program(key string, value *string) {
	switch name := *value; {
	case name == "":
		c.missing(key, "name the program")
	case strings.Contains(name, "/") && !filepath.IsAbs(name):
		c.path(key, value, aFile)
	}
}
