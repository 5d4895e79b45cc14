package sign

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"collet/build/advice"
	"collet/build/pack/pe"
)

const (
	osslsigncode = "osslsigncode"
	installOSSL  = "install it (on Debian: apt-get install osslsigncode)"
	maxPassword  = 1 << 10 // bytes; osslsigncode reads a line
)

// magics of files that can be signed.
const (
	magicPE  = "MZ"
	magicMSI = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" // OLE compound file
)

// AuthenticodeSpec is what a description says of signing for Windows. The fields that end in Env name variables. The zero value
// signs nothing.
type AuthenticodeSpec struct {
	CertificateEnv     string   // path of the certificates in PEM, the signer's first; with KeyEnv
	KeyEnv             string   // path of the private key in PEM
	PKCS12Env          string   // path of a PKCS #12 file, instead of both
	PasswordEnv        string   // password of the key or the PKCS #12 file
	TimestampURL       string   // server of RFC 3161 timestamps
	Authority          string   // path of root certificates in PEM to verify each signature with; empty: signatures are not verified
	TimestampAuthority string   // path of those to verify timestamps with; empty: timestamps are not verified
	Command            []string // program and arguments that sign {file} in place, instead of the variables above
	Env                []string // variables that the command gets beside the usual ones
}

// Authenticode signs programs, libraries and installers for Windows. NewAuthenticode makes one; it is safe for concurrent use.
type Authenticode struct {
	spec     AuthenticodeSpec
	options  Options
	secrets  Secrets
	command  *command
	identity []string // arguments of osslsigncode
	password string
	timed    func() bool // osslsigncode can be told the signing time
}

// Enabled reports whether anything is to be signed.
func (s AuthenticodeSpec) Enabled() bool {
	return s.CertificateEnv+s.KeyEnv+s.PKCS12Env != "" || len(s.Command) > 0
}

// NewAuthenticode takes the values of the variables from the environment; that one is missing is an error. Nothing is run. It is
// nil where nothing is to be signed.
func NewAuthenticode(s AuthenticodeSpec, o Options) (*Authenticode, error) {
	if !s.Enabled() {
		return nil, nil
	}
	a := &Authenticode{spec: s, options: o}
	a.timed = sync.OnceValue(a.knowsTime)
	if len(s.Command) > 0 {
		command, err := newCommand(s.Command, s.Env, &a.secrets, o)
		a.command = command
		return a, err
	}
	var err error
	if s.PasswordEnv != "" {
		if a.password, err = o.need(s.PasswordEnv); err != nil {
			return nil, err
		}
		if len(a.password) > maxPassword || strings.ContainsAny(a.password, "\r\n\x00") {
			return nil, advice.Wrong("", "the password in %s is no line of up to %d bytes", s.PasswordEnv, maxPassword)
		}
		a.secrets.Add(a.password)
	}
	a.identity, err = s.identity(o.need)
	return a, err
}

// identity is how osslsigncode is told whose signature it makes. value gives the value of a variable.
func (s AuthenticodeSpec) identity(value func(string) (string, error)) ([]string, error) {
	pairs := []string{"-pkcs12", s.PKCS12Env}
	if s.PKCS12Env == "" {
		pairs = []string{"-certs", s.CertificateEnv, "-key", s.KeyEnv}
	}
	for i := 1; i < len(pairs); i += 2 {
		if pairs[i] == "" {
			return nil, advice.Wrong("", "a certificate and its key go together, and only one of them is named")
		}
		var err error
		if pairs[i], err = value(pairs[i]); err != nil {
			return nil, err
		}
	}
	return pairs, nil
}

// Sign signs a program, library or MSI installer in place. The error is a *TestKeyError where the certificate is none for
// releases; after any error the file is as it was.
func (a *Authenticode) Sign(ctx context.Context, file string) (Signed, error) {
	signed := Signed{File: file}
	kind, err := kindOf(file)
	if err == nil {
		err = a.unsigned(ctx, kind, file)
	}
	if err == nil {
		signed.Unsigned, err = digest(ctx, file)
	}
	if err != nil {
		return signed, advice.Because(err, "", "sign %s", file)
	}
	err = replacing(file, func(beside string) error {
		if err := a.sign(ctx, file, beside, a.spec.TimestampURL); err != nil {
			return err
		}
		return a.examine(ctx, kind, beside, &signed)
	})
	if err != nil {
		return signed, advice.Because(err, "", "sign %s", file)
	}
	a.options.Log.Info().Str("file", file).Str("signer", signed.Signer).Strs("test", signed.Reasons).Hex("unsigned", signed.Unsigned[:]).Msg("signed")
	return signed, nil
}

// sign makes a signed copy of a file.
func (a *Authenticode) sign(ctx context.Context, from, to, timestamp string) error {
	if a.command != nil {
		if err := copyFile(ctx, from, to); err != nil {
			return err
		}
		_, err := a.options.runTool(ctx, a.command.tool(map[string]string{"file": to}), &a.secrets)
		return err
	}
	return a.options.inFolder(func(dir string) error {
		args := append([]string{"sign"}, a.identity...)
		if a.spec.PasswordEnv != "" {
			file := filepath.Join(dir, "password")
			if err := os.WriteFile(file, []byte(a.password), 0o600); err != nil {
				return err
			}
			args = append(args, "-readpass", file)
		}
		args = append(append(args, a.about(timestamp)...), "-in", from, "-out", to)
		_, err := a.options.runTool(ctx, tool{program: osslsigncode, args: args, install: installOSSL}, &a.secrets)
		return err
	})
}

// about is what a signature says beside who made it.
func (a *Authenticode) about(timestamp string) []string {
	args := []string{"-h", "sha256"}
	if a.options.Name != "" {
		args = append(args, "-n", a.options.Name)
	}
	if a.options.URL != "" {
		args = append(args, "-i", a.options.URL)
	}
	if timestamp != "" {
		return append(args, "-ts", timestamp)
	}
	if !a.options.Time.IsZero() && a.timed() {
		args = append(args, "-time", strconv.FormatInt(a.options.Time.Unix(), 10))
	}
	return args
}

// knowsTime asks osslsigncode whether it can be told the signing time; older ones can't.
func (a *Authenticode) knowsTime() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	said, _ := a.options.runTool(ctx, tool{program: osslsigncode, args: []string{"sign", "--help"}, install: installOSSL}, nil)
	return strings.Contains(said, "[ -time ")
}

// examine looks at a signed copy before it takes the place of the file.
func (a *Authenticode) examine(ctx context.Context, kind, beside string, signed *Signed) error {
	if kind == magicPE {
		if err := comparePrograms(signed.File, beside); err != nil {
			return err
		}
	} else if again, err := kindOf(beside); err != nil || again != kind {
		return errors.Join(err, advice.Wrong("see what the tool does that signs it", "it is no MSI file any more"))
	}
	certificate, err := a.signer(ctx, kind, beside)
	if a.command != nil && errors.Is(err, errNoTool) {
		signed.Unchecked = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	signed.Signer, signed.Reasons = certificate.Subject.String(), testReasons(certificate, a.options.now())
	if err := a.options.admit(signed.Signer, signed.Reasons); err != nil {
		return err
	}
	if a.spec.Authority == "" {
		return nil
	}
	return a.verify(ctx, beside, certificate)
}

// errNoTool is why a signature could not be looked at.
var errNoTool = errors.New("nothing here can read the signature of an MSI file")

// signer gives the certificate that a signed file names.
func (a *Authenticode) signer(ctx context.Context, kind, file string) (*x509.Certificate, error) {
	if kind == magicPE {
		content, err := readProgram(file)
		if err != nil {
			return nil, err
		}
		return signerOf(content)
	}
	content, err := a.extract(ctx, file)
	if err != nil {
		return nil, err
	}
	return signerOf(content)
}

// extract has osslsigncode read the signature of an MSI file.
func (a *Authenticode) extract(ctx context.Context, file string) (content []byte, err error) {
	if _, err := exec.LookPath(osslsigncode); err != nil {
		return nil, advice.Because(errNoTool, installOSSL, "%s is missing", osslsigncode)
	}
	err = a.options.inFolder(func(dir string) (err error) {
		out := filepath.Join(dir, "signature")
		args := []string{"extract-signature", "-in", file, "-out", out}
		if _, err := a.options.runTool(ctx, tool{program: osslsigncode, args: args}, &a.secrets); err != nil {
			return advice.Because(err, "", "the MSI file has no signature that can be read")
		}
		content, err = os.ReadFile(out)
		return err
	})
	return content, err
}

// Verify holds a signed file to the authority.
func (a *Authenticode) Verify(ctx context.Context, file string) error {
	if a.spec.Authority == "" {
		return advice.Wrong("name a file with root certificates", "there is no authority to verify %s with", file)
	}
	if err := a.verify(ctx, file, nil); err != nil {
		return advice.Because(err, "", "verify %s", file)
	}
	return nil
}

// verify has osslsigncode check all of a signature. An expired certificate for tests is verified as of its last second.
func (a *Authenticode) verify(ctx context.Context, file string, certificate *x509.Certificate) error {
	args := []string{"verify", "-CAfile", a.spec.Authority}
	if a.spec.TimestampAuthority != "" {
		args = append(args, "-TSA-CAfile", a.spec.TimestampAuthority)
	}
	if certificate != nil && a.options.Test && a.options.now().After(certificate.NotAfter) {
		args = append(args, "-time", strconv.FormatInt(certificate.NotAfter.Unix()-1, 10))
	}
	said, err := a.options.runTool(ctx, tool{program: osslsigncode, args: append(args, "-in", file), install: installOSSL}, &a.secrets)
	if err != nil || a.spec.TimestampURL == "" || a.spec.TimestampAuthority == "" {
		return err
	}
	for _, bad := range []string{"Timestamp Server Signature verification: failed", "Timestamp is not available"} {
		if strings.Contains(said, bad) { // for osslsigncode a signature is good without, as long as its certificate lasts
			return advice.Wrong("see that the timestamp server is one of the timestamp authority's", "the timestamp can't be verified: %s", bad)
		}
	}
	return nil
}

// unsigned refuses a file that has a signature: signing it again would replace that.
func (a *Authenticode) unsigned(ctx context.Context, kind, file string) error {
	var signed bool
	var err error
	if kind == magicPE {
		signed, err = IsSigned(file)
	} else {
		_, none := a.extract(ctx, file)
		signed, err = none == nil, context.Cause(ctx)
	}
	if err == nil && signed {
		err = &pe.Error{Fault: pe.Signed}
	}
	return err
}

// Check finds out whether signing would work, before there is anything to sign: what is missing, a wrong password, a certificate
// for tests. It signs a small program of its own, without a timestamp. Of a command it only says whether the program is there,
// as each signature may cost something; where test signatures are asked for, its are taken for such.
func (a *Authenticode) Check(ctx context.Context) (Signed, error) {
	if a.command != nil {
		return a.command.checkProgram(a.options)
	}
	var signed Signed
	err := a.options.inFolder(func(dir string) error {
		signed.File = filepath.Join(dir, "probe.exe")
		out := filepath.Join(dir, "signed.exe")
		if err := os.WriteFile(signed.File, probe(), 0o600); err != nil {
			return err
		}
		if err := a.sign(ctx, signed.File, out, ""); err != nil {
			return err
		}
		return a.examine(ctx, magicPE, out, &signed)
	})
	signed.File = ""
	return signed, err
}

// Plan is the command line that signs a file, for people: variables stand where their values would be.
func (a *Authenticode) Plan(file string) string {
	if a.command != nil {
		t := a.command.tool(map[string]string{"file": file})
		return a.secrets.Mask(shellLine(append([]string{t.program}, t.args...)))
	}
	identity, _ := a.spec.identity(func(variable string) (string, error) { return "$" + variable, nil })
	if a.spec.PasswordEnv != "" {
		identity = append(identity, "-readpass", "<($"+a.spec.PasswordEnv+")")
	}
	rest := append(a.about(a.spec.TimestampURL), "-in", file, "-out", file)
	return osslsigncode + " sign " + strings.Join(identity, " ") + " " + a.secrets.Mask(shellLine(rest))
}

// kindOf tells programs from MSI files.
func kindOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, len(magicMSI))
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	for _, magic := range []string{magicPE, magicMSI} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return magic, nil
		}
	}
	return "", errors.New("it is neither a program nor an MSI file")
}
