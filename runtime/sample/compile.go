package sample

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"collet/runtime/abi"
)

// ErrNoCompiler says that no C compiler was found.
var ErrNoCompiler = errors.New("no C compiler: install one, or name it in CC")

// CompileError is the failure of a C compiler.
type CompileError struct {
	Output string // path of the module
	Said   string // the compiler's output; may have many lines
	Err    error  // how the compiler ended
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("compile %s: %v\n%s", filepath.Base(e.Output), e.Err, e.Said)
}

// Unwrap returns how the compiler ended.
func (e *CompileError) Unwrap() error { return e.Err }

// compilers are searched in this order if none is named.
var compilers = []string{"cc", "gcc", "clang"}

// command finds the compiler. named may be a path with spaces, or have arguments, as in CC="ccache gcc".
func command(named string) ([]string, error) {
	if named == "" {
		named = os.Getenv("CC")
	}
	if path, err := exec.LookPath(named); err == nil {
		return []string{path}, nil
	}
	if words := strings.Fields(named); len(words) > 0 {
		return words, nil
	}
	for _, name := range compilers {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, ErrNoCompiler
}

// common are the flags for every module. With hidden visibility a module exports only the functions of the contract.
var common = []string{"-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-fvisibility=hidden", "-shared"}

// linking are the flags for the compiler's target system, which may be another one than this. -Bsymbolic binds a module to its own
// functions even if the host contains the same ones.
func linking(ctx context.Context, compiler []string) (flags, libraries []string, err error) {
	cmd := exec.CommandContext(ctx, compiler[0], append(compiler[1:len(compiler):len(compiler)], "-dumpmachine")...)
	machine, err := cmd.Output()
	switch system := string(machine); {
	case err != nil:
		return nil, nil, fmt.Errorf("ask %s what it makes programs for: %w", compiler[0], err)
	case strings.Contains(system, "mingw"), strings.Contains(system, "windows"):
		return []string{"-static-libgcc"}, []string{"-lws2_32", "-lgdi32"}, nil
	case strings.Contains(system, "darwin"):
		return []string{"-fPIC"}, nil, nil
	default:
		return []string{"-fPIC", "-Wl,-Bsymbolic"}, []string{"-ldl", "-lpthread"}, nil
	}
}

// compile makes a module from some of the sources. They are compiled in a separate folder by relative names, so that the module contains
// no paths of this machine.
func compile(ctx context.Context, named, output string, files, flags []string) error {
	return inFolder(func(folder string) error {
		return link(ctx, named, filepath.Join(folder, "sample"), output, files, flags)
	})
}

// compileText makes a module from a text that is not one of the sources.
func compileText(ctx context.Context, text, output string) error {
	return inFolder(func(folder string) error {
		if err := os.WriteFile(filepath.Join(folder, "module.c"), []byte(text), 0o644); err != nil {
			return err
		}
		return link(ctx, "", folder, output, []string{"module.c"}, []string{"-Iabi"})
	})
}

// inFolder writes the sources to folder/sample and folder/abi, calls work, and removes the folder.
func inFolder(work func(folder string) error) (err error) {
	folder, err := os.MkdirTemp("", "collet-sample-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.CopyFS(filepath.Join(folder, "sample"), sources); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(folder, "abi"), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"client_runtime.h": abi.Header, "client_areas.h": abi.AreasHeader} {
		if err := os.WriteFile(filepath.Join(folder, "abi", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return work(folder)
}

// link calls the compiler in a folder.
func link(ctx context.Context, named, folder, output string, files, flags []string) error {
	output, err := filepath.Abs(output)
	if err != nil {
		return err
	}
	compiler, err := command(named)
	if err != nil {
		return err
	}
	system, libraries, err := linking(ctx, compiler)
	if err != nil {
		return err
	}
	args := compiler[1:]
	for _, more := range [][]string{common, system, flags, {"-o", output}, files, libraries} {
		args = append(args, more...)
	}
	cmd := exec.CommandContext(ctx, compiler[0], args...)
	cmd.Dir = folder
	if said, err := cmd.CombinedOutput(); err != nil {
		return &CompileError{Output: output, Said: string(bytes.TrimSpace(said)), Err: err}
	}
	return nil
}
