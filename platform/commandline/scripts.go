package commandline

import (
	"fmt"
	"strings"
)

// Shells are the shells that there is completion for.
func Shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// Script is the completion of a program for a shell. @program@ in it becomes its name, @word@ the same as a name of the shell's language.
func Script(shell, program string) (string, error) {
	script, known := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript, "powershell": powershellScript}[shell]
	if !known {
		return "", fmt.Errorf("%q is none of the shells that there is completion for: %s", shell, strings.Join(Shells(), ", "))
	}
	return strings.NewReplacer("@program@", program, "@word@", strings.ReplaceAll(program, "-", "_")).Replace(script), nil
}

const bashScript = `# Completion of @program@ for bash. For this session: source <(@program@ --completion bash)
# For all: @program@ --completion bash > ~/.local/share/bash-completion/completions/@program@
_@word@_complete() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("$1" --complete="${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}
complete -o bashdefault -o default -F _@word@_complete @program@
`

const zshScript = `#compdef @program@
# Completion of @program@ for zsh. For this session: source <(@program@ --completion zsh)
# For all: @program@ --completion zsh > "${fpath[1]}/_@program@"
_@word@_complete() {
    local line
    local -a found
    while IFS= read -r line; do
        found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done < <("${words[1]}" --complete="${words[CURRENT]}" "${(@)words[2,CURRENT-1]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe @program@ found
    else
        _files
    fi
}
compdef _@word@_complete @program@
`

const fishScript = `# Completion of @program@ for fish. For this session: @program@ --completion fish | source
# For all: @program@ --completion fish > ~/.config/fish/completions/@program@.fish
function __@word@_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($before[1] --complete="$current" $before[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c @program@ -f -a '(__@word@_complete)'
`

const powershellScript = `# Completion of @program@ for PowerShell. For this session: @program@ --completion powershell | Out-String | Invoke-Expression
# For all: add that line to the file that $PROFILE names.
Register-ArgumentCompleter -Native -CommandName '@program@', '@program@.exe' -ScriptBlock {
    param($current, $tree, $cursor)
    $words = @($tree.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
    $before = @($words | Select-Object -Skip 1)
    & $words[0] "--complete=$current" @before 2>$null | ForEach-Object {
        $word, $help = $_ -split [char]9, 2
        if (-not $help) { $help = $word }
        [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $help)
    }
}
`
