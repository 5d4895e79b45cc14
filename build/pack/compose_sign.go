package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"collet/build/pack/pe"
	"collet/build/pack/sign"
	"collet/netproto/product"
)

// signers holds the signer of each system. The zero value does not sign.
type signers struct {
	windows *sign.Authenticode  // nil: unsigned
	linux   *sign.Detached      // nil: unsigned
	apple   *sign.Apple         // nil: unsigned
	tests   map[string][]string // by system: why its signatures are for tests only
	mac     bool                // this is a Mac
}

// signers loads the signers and tests each before the work starts, so that a wrong password fails early. Systems without a job are skipped.
func (p *Project) signers(ctx context.Context, jobs []job, test bool) (s signers, err error) {
	s.tests, s.mac = map[string][]string{}, runtime.GOOS == "darwin"
	o := sign.Options{Test: test, Name: p.Game.NiceName, URL: p.Game.Homepage, Time: p.time}
	if p.makes(product.Windows, jobs) {
		if err := s.forWindows(ctx, p.Signing.Windows, o); err != nil {
			return s, fmt.Errorf("signing for Windows: %w", err)
		}
	}
	if p.makes(product.Linux, jobs) {
		if err := s.forLinux(ctx, p.Signing.Linux, o); err != nil {
			return s, fmt.Errorf("signing for Linux: %w", err)
		}
	}
	if p.makes(product.MacOS, jobs) {
		s.apple, err = sign.NewApple(sign.AppleSpec(p.Signing.MacOS), o)
		if err == nil && s.apple != nil && s.mac {
			_, err = s.apple.Check(ctx)
		}
		if err != nil {
			return s, fmt.Errorf("signing for macOS: %w", err)
		}
	}
	return s, nil
}

func (s *signers) forWindows(ctx context.Context, k Authenticode, o sign.Options) (err error) {
	s.windows, err = sign.NewAuthenticode(sign.AuthenticodeSpec(k), o)
	if err != nil || s.windows == nil {
		return err
	}
	tried, err := s.windows.Check(ctx)
	s.tests[product.Windows] = tried.Reasons
	return err
}

func (s *signers) forLinux(ctx context.Context, k Detached, o sign.Options) (err error) {
	s.linux, err = sign.NewDetached(sign.DetachedSpec(k), o)
	if err != nil || s.linux == nil {
		return err
	}
	tried, err := s.linux.Check(ctx)
	s.tests[product.Linux] = tried.Reasons
	return err
}

// makes reports whether a job makes files of a system. A job for all targets makes those of every build.
func (p *Project) makes(system string, jobs []job) bool {
	wanted := wantedTargets(jobs)
	for _, b := range p.Builds() {
		if b.Target.System() == system && (wanted == nil || wanted(b.Target)) {
			return true
		}
	}
	for _, j := range jobs {
		if j.target.System() == system {
			return true
		}
	}
	return false
}

// mark returns the mark in the names of packages that are signed for tests.
func (s signers) mark(t product.Target) string {
	if len(s.tests[t.System()]) > 0 {
		return "-" + sign.TestMark
	}
	return ""
}

// warnings lists the signatures that must not be distributed.
func (s signers) warnings() (list []string) {
	for _, system := range slices.Sorted(maps.Keys(s.tests)) {
		if reasons := s.tests[system]; len(reasons) > 0 {
			list = append(list, fmt.Sprintf("%s: everything for %s is signed FOR TESTS ONLY and is not fit for players: %s",
				sign.TestMark, system, strings.Join(reasons, ", ")))
		}
	}
	return list
}

// wants reports whether a companion must be signed: an unsigned library for Windows.
func (s signers) wants(t product.Target, file string) (bool, error) {
	if t.System() != product.Windows || s.windows == nil {
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

// program signs a program or library in place, if its system has a signer. For macOS it signs a module, which is outside the seal of an
// .app and must be the same in updates.
func (s signers) program(ctx context.Context, t product.Target, file string) error {
	switch t.System() {
	case product.Windows:
		if s.windows == nil {
			return nil
		}
		_, err := s.windows.Sign(ctx, file)
		return err
	case product.MacOS:
		if s.apple == nil || !s.mac || filepath.Ext(file) != t.LibraryExt() {
			return nil
		}
		return s.apple.Sign(ctx, file)
	}
	return nil
}

// artefact signs a finished package: Windows installers in place, Linux packages with a detached file.
func (s signers) artefact(ctx context.Context, t product.Target, file string) error {
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case t.System() == product.Linux && s.linux != nil:
		_, _, err := s.linux.Sign(ctx, file)
		return err
	case t.System() == product.Windows && (ext == ".exe" || ext == ".msi"):
		return s.program(ctx, t, file)
	}
	return nil
}
