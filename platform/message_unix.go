//go:build unix

package platform

import (
	"context"
	"html"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// messageShown is how long a program must have run to count as successful despite its exit code. Users take longer to close a message,
// and a program without access to the display fails at once. Programs also exit with 1 if the message was not closed by its button.
const messageShown = time.Second

// showMessage tries the known programs one after the other, until one has shown the message.
func showMessage(ctx context.Context, title, text string) error {
	for _, p := range messagePrograms(runtime.GOOS, os.Getenv, title, text) {
		path, err := exec.LookPath(p.name)
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, path, p.args...)
		cmd.Stdin = strings.NewReader(p.input)
		began := time.Now()
		if err = cmd.Run(); err == nil || time.Since(began) >= messageShown {
			return ctx.Err()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return ErrNoMessage
}

// messageProgram is a program that shows a message.
type messageProgram struct {
	name  string
	args  []string
	input string
}

// messagePrograms are the programs for a message, the best for this desktop first. None of them interprets the text as markup, script
// or option.
func messagePrograms(goos string, getenv func(string) string, title, text string) []messageProgram {
	if goos == "darwin" {
		return []messageProgram{{name: "/usr/bin/osascript", args: []string{
			"-e", "on run argv",
			"-e", "activate",
			"-e", `display dialog (item 2 of argv) with title (item 1 of argv) buttons {"OK"} default button 1 with icon stop`,
			"-e", "end run", title, text,
		}}}
	}
	if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	rich := "<qt>" + strings.ReplaceAll(html.EscapeString(text), "\n", "<br/>") + "</qt>" // kdialog guesses whether a text is markup
	programs := []messageProgram{
		{name: "zenity", args: []string{"--error", "--no-markup", "--title=" + title, "--text=" + text}},
		{name: "kdialog", args: []string{"--title=" + title, "--error=" + rich}},
		{name: "xmessage", input: text + "\n", args: []string{"-center", "-xrm", "*international: true", "-title", title, "-file", "-"}},
	}
	if strings.Contains(strings.ToUpper(getenv("XDG_CURRENT_DESKTOP")), "KDE") {
		programs[0], programs[1] = programs[1], programs[0]
	}
	return programs
}
