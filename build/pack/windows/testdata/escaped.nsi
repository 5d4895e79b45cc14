Unicode true
Target amd64-unicode
Name x
OutFile made.exe
SilentInstall silent
RequestExecutionLevel user
!define NAME wrong
LangString NAME 0 wrong
Section
FileOpen $0 "$EXEDIR\out" w
FileWriteUTF16LE $0 "plain"
FileWriteUTF16LE $0 'plain$\n'
FileWriteUTF16LE $0 `plain$\n`
FileWriteUTF16LE $0 "$\""
FileWriteUTF16LE $0 '$\"$\n'
FileWriteUTF16LE $0 "$\"$\""
FileWriteUTF16LE $0 '$\"$\"$\n'
FileWriteUTF16LE $0 `$\"$\"$\n`
FileWriteUTF16LE $0 "$\'"
FileWriteUTF16LE $0 '$\'$\n'
FileWriteUTF16LE $0 "$\`"
FileWriteUTF16LE $0 '$\`$\n'
FileWriteUTF16LE $0 `$\`$\n`
FileWriteUTF16LE $0 "a$\"b$\'c$\`d"
FileWriteUTF16LE $0 'a$\"b$\'c$\`d$\n'
FileWriteUTF16LE $0 "$$"
FileWriteUTF16LE $0 '$$$\n'
FileWriteUTF16LE $0 `$$$\n`
FileWriteUTF16LE $0 "$$$$"
FileWriteUTF16LE $0 '$$$$$\n'
FileWriteUTF16LE $0 "$$$$$$"
FileWriteUTF16LE $0 '$$$$$$$\n'
FileWriteUTF16LE $0 `$$$$$$$\n`
FileWriteUTF16LE $0 "$$INSTDIR"
FileWriteUTF16LE $0 '$$INSTDIR$\n'
FileWriteUTF16LE $0 "$$${U+7B}NAME}"
FileWriteUTF16LE $0 '$$${U+7B}NAME}$\n'
FileWriteUTF16LE $0 `$$${U+7B}NAME}$\n`
FileWriteUTF16LE $0 "$$$$${U+7B}NAME}"
FileWriteUTF16LE $0 '$$$$${U+7B}NAME}$\n'
FileWriteUTF16LE $0 "$$(NAME)"
FileWriteUTF16LE $0 '$$(NAME)$\n'
FileWriteUTF16LE $0 `$$(NAME)$\n`
FileWriteUTF16LE $0 "$$${U+5C}n"
FileWriteUTF16LE $0 '$$${U+5C}n$\n'
FileWriteUTF16LE $0 "\"
FileWriteUTF16LE $0 '\$\n'
FileWriteUTF16LE $0 `\$\n`
FileWriteUTF16LE $0 "ends in \"
FileWriteUTF16LE $0 'ends in \$\n'
FileWriteUTF16LE $0 "$$${U+5C}$\""
FileWriteUTF16LE $0 '$$${U+5C}$\"$\n'
FileWriteUTF16LE $0 `$$${U+5C}$\"$\n`
FileWriteUTF16LE $0 "!define NAME x"
FileWriteUTF16LE $0 '!define NAME x$\n'
FileWriteUTF16LE $0 "; no comment"
FileWriteUTF16LE $0 '; no comment$\n'
FileWriteUTF16LE $0 `; no comment$\n`
FileWriteUTF16LE $0 "# no comment"
FileWriteUTF16LE $0 '# no comment$\n'
FileWriteUTF16LE $0 "/* no comment */"
FileWriteUTF16LE $0 '/* no comment */$\n'
FileWriteUTF16LE $0 `/* no comment */$\n`
FileWriteUTF16LE $0 "a & b && c"
FileWriteUTF16LE $0 'a & b && c$\n'
FileWriteUTF16LE $0 "100%"
FileWriteUTF16LE $0 '100%$\n'
FileWriteUTF16LE $0 `100%$\n`
FileWriteUTF16LE $0 "%PATH%"
FileWriteUTF16LE $0 '%PATH%$\n'
FileWriteUTF16LE $0 "%1"
FileWriteUTF16LE $0 '%1$\n'
FileWriteUTF16LE $0 `%1$\n`
FileWriteUTF16LE $0 "Лэйс"
FileWriteUTF16LE $0 'Лэйс$\n'
FileWriteUTF16LE $0 "日本語"
FileWriteUTF16LE $0 '日本語$\n'
FileWriteUTF16LE $0 `日本語$\n`
FileWriteUTF16LE $0 "😀 rocket"
FileWriteUTF16LE $0 '😀 rocket$\n'
FileWriteUTF16LE $0 "é́"
FileWriteUTF16LE $0 'é́$\n'
FileWriteUTF16LE $0 `é́$\n`
FileWriteUTF16LE $0 "$$${U+7B}U+41}"
FileWriteUTF16LE $0 '$$${U+7B}U+41}$\n'
FileWriteUTF16LE $0 "$$"
FileWriteUTF16LE $0 '$$$\n'
FileWriteUTF16LE $0 `$$$\n`
FileWriteUTF16LE $0 "{"
FileWriteUTF16LE $0 '{$\n'
FileWriteUTF16LE $0 "}"
FileWriteUTF16LE $0 '}$\n'
FileWriteUTF16LE $0 `}$\n`
FileWriteUTF16LE $0 "[INSTALLDIR]"
FileWriteUTF16LE $0 '[INSTALLDIR]$\n'
FileWriteUTF16LE $0 "@1@"
FileWriteUTF16LE $0 '@1@$\n'
FileWriteUTF16LE $0 `@1@$\n`
FileWriteUTF16LE $0 "&amp;"
FileWriteUTF16LE $0 '&amp;$\n'
FileWriteUTF16LE $0 "<b>"
FileWriteUTF16LE $0 '<b>$\n'
FileWriteUTF16LE $0 `<b>$\n`
FileWriteUTF16LE $0 "two  spaces "
FileWriteUTF16LE $0 'two  spaces $\n'
FileWriteUTF16LE $0 " leading"
FileWriteUTF16LE $0 ' leading$\n'
FileWriteUTF16LE $0 ` leading$\n`
FileWriteUTF16LE $0 "|"
FileWriteUTF16LE $0 '|$\n'
FileWriteUTF16LE $0 "^"
FileWriteUTF16LE $0 '^$\n'
FileWriteUTF16LE $0 `^$\n`
FileWriteUTF16LE $0 "~"
FileWriteUTF16LE $0 '~$\n'
FileWriteUTF16LE $0 "long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long "
FileWriteUTF16LE $0 'long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long $\n'
FileWriteUTF16LE $0 `long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long long $\n`
FileClose $0
SectionEnd
