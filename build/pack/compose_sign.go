package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"collet/build/pack/pe"
	"collet/build/pack/sign"
	"collet/netproto"
)

// signers are those who sign, by system. Their zero value signs nothing.
type signers struct {
	windows *sign.Authenticode // nil: nobody signs for Windows
	tests   map[string]bool    // systems whose certificate or key is for tests
}

// signers finds out who signs, and tries it before there is anything to sign: a wrong password is told at once.
func (p *Project) signers(ctx context.Context, wanted func(netproto.Target) bool, test bool) (s signers, err error) {
	s.tests = map[string]bool{}
	w := p.Signing.Windows
	s.windows, err = sign.NewAuthenticode(sign.AuthenticodeSpec{
		CertificateEnv: w.CertificateEnv, KeyEnv: w.KeyEnv, PKCS12Env: w.PKCS12Env, PasswordEnv: w.PasswordEnv,
		TimestampURL: w.TimestampURL, Command: w.Command, Env: w.Env,
	}, sign.Options{Test: test, Name: p.Game.NiceName, URL: p.Game.Homepage, Time: p.time})
	if err != nil || s.windows == nil || !p.packs(netproto.Windows, wanted) {
		return s, err
	}
	tried, err := s.windows.Check(ctx)
	if err != nil {
		return s, fmt.Errorf("signing for Windows: %w", err)
	}
	s.tests[netproto.Windows] = tried.Test()
	return s, nil
}

// packs reports whether anything of a system is to be made.
func (p *Project) packs(system string, wanted func(netproto.Target) bool) bool {
	for _, b := range p.Builds() {
		if b.Target.System() == system && (wanted == nil || wanted(b.Target)) {
			return true
		}
	}
	return false
}

// mark goes into the names of packages that are signed for tests.
func (s signers) mark(t netproto.Target) string {
	if s.tests[t.System()] {
		return "-" + sign.TestMark
	}
	return ""
}

// wants reports whether a file beside a host is to be signed: a library for Windows that nobody has signed yet.
func (s signers) wants(t netproto.Target, file string) (bool, error) {
	if t.System() != netproto.Windows || s.windows == nil {
		return false, nil
	}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".dll", ".exe":
		signed, err := isSigned(file)
		return !signed, err
	}
	return false, nil
}

func isSigned(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	return hasSignature(f, info.Size())
}

func hasSignature(program io.ReaderAt, size int64) (bool, error) {
	_, err := pe.ReadSignature(program, size)
	if errors.Is(err, pe.Unsigned) {
		return false, nil
	}
	return err == nil, err
}

// program signs a program or library in place, where somebody signs for its system.
func (s signers) program(ctx context.Context, t netproto.Target, file string) error {
	if t.System() != netproto.Windows || s.windows == nil {
		return nil
	}
	_, err := s.windows.Sign(ctx, file)
	return err
}

// artefact signs a finished package: installers for Windows in place.
func (s signers) artefact(ctx context.Context, t netproto.Target, file string) error {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".exe", ".msi":
		return s.program(ctx, t, file)
	}
	return nil
}
