package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collet/netproto/compat"
	"collet/runtime/abi"
)

// withSpans is a component whose members come and go, one of each kind.
const withSpans = `<Component Name="Crane" Namespace="Harbour">
  <NetworkProperty Type="float" Name="Load"/>
  <NetworkProperty Type="float" Name="Wind" Since="6"/>
  <NetworkProperty Type="float" Name="Rust" Until="7"/>
  <NetworkInput Type="float" Name="Wind" Since="5" Until="8"/>
  <RemoteProcedure Name="Grab" Since="7"/>
</Component>`

// TestHeaderSpans: a game in C asks the header which members a version has, and is told the same as a game in Go.
func TestHeaderSpans(t *testing.T) {
	t.Parallel()
	dir := layOut(t, map[string]string{"a.xml": withSpans, projectFile: `{"logic": 8, "supported_min": 5, "declarations": ["*.xml"], "header": "components.h"}`})
	must(t, "gen", dir)
	spans := map[string]compat.Span{
		"PROP_HARBOUR_CRANE_WIND": {Since: 6}, "PROP_HARBOUR_CRANE_RUST": {Until: 7}, "INPUT_HARBOUR_CRANE_WIND": {Since: 5, Until: 8}, "RPC_HARBOUR_CRANE_GRAB": {Since: 7},
	}
	header, err := os.ReadFile(filepath.Join(dir, "components.h"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(header), "#define COLLET_SPAN_"); n != len(spans) {
		t.Errorf("%d spans in\n%s", n, header)
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	var program, want strings.Builder
	program.WriteString("#include <stdio.h>\n#include \"client_runtime.h\"\n#include \"components.h\"\nint main(void) {\n")
	for name, span := range spans {
		for logic := int32(0); logic < 10; logic++ {
			fmt.Fprintf(&program, "printf(\"%s %d %%d\\n\", collet_visible(COLLET_SPAN_%s, %d));\n", name, logic, name, logic)
			seen := 0
			if compat.Visible(span, logic) {
				seen = 1
			}
			fmt.Fprintf(&want, "%s %d %d\n", name, logic, seen)
		}
	}
	program.WriteString("return 0;\n}\n")
	put(t, dir, map[string]string{"client_runtime.h": abi.Header, "main.c": program.String()})
	cmd := exec.CommandContext(t.Context(), "cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", "program", "main.c")
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if said, err := exec.CommandContext(t.Context(), filepath.Join(dir, "program")).Output(); err != nil || string(said) != want.String() {
		t.Errorf("%v:\n%s\nwant\n%s", err, said, want.String())
	}
}

// TestHeaderWithoutSpans has nothing of them: a header of a game whose members never changed looks as it did.
func TestHeaderWithoutSpans(t *testing.T) {
	t.Parallel()
	dir := layOut(t, map[string]string{"a.xml": `<Component Name="A" Since="2"><NetworkProperty Type="float" Name="B"/></Component>`,
		projectFile: `{"logic": 2, "declarations": ["*.xml"], "header": "components.h"}`})
	must(t, "gen", dir)
	header, err := os.ReadFile(filepath.Join(dir, "components.h"))
	if err != nil || strings.Contains(string(header), "COLLET_SPAN") || strings.Contains(string(header), "collet_visible") {
		t.Errorf("%v\n%s", err, header)
	}
}

// TestHeaderSpansThatCollide refuses members that C can't tell apart, and names both.
func TestHeaderSpansThatCollide(t *testing.T) {
	t.Parallel()
	dir := layOut(t, map[string]string{
		"a.xml":     `<Component Name="A"><NetworkProperty Type="float" Name="Two-Words" Since="1"/><NetworkProperty Type="float" Name="Two_Words" Since="1"/></Component>`,
		projectFile: `{"logic": 1, "declarations": ["*.xml"], "header": "components.h"}`,
	})
	_, _, err := compatgen(t, "gen", dir)
	if err == nil || !strings.Contains(err.Error(), "prop Two-Words of A and prop Two_Words of A would both be COLLET_SPAN_PROP_A_TWO_WORDS") {
		t.Errorf("%v", err)
	}
}
