; Setup of org.example.lathe. Every text of the game stands in quotes that the maker has escaped.
Unicode true
Target amd64-unicode
ManifestSupportedOS all
ManifestDPIAware true
ManifestLongPathAware true
; The setup asks Windows for nothing until an installation for all users is chosen.
RequestExecutionLevel user
SetCompressor /SOLID lzma
; Files keep the time of the release, and nothing is left out in silence.
SetDateSave on
AllowSkipFiles off
SetOverwrite on
CRCCheck on
Name "The $\"Лэйс$\" & $$Co" "The $\"Лэйс$\" && $$Co"
BrandingText "The $\"Лэйс$\" && $$Co 1.4.2"
OutFile "made.exe"
InstallDir "$LOCALAPPDATA\Programs\Lathe"
VIProductVersion "1.4.2.0"
VIFileVersion "1.4.2.0"
VIAddVersionKey /LANG=0 "ProductName" "The $\"Лэйс$\" & $$Co"
VIAddVersionKey /LANG=0 "ProductVersion" "1.4.2"
VIAddVersionKey /LANG=0 "FileVersion" "1.4.2"
VIAddVersionKey /LANG=0 "CompanyName" "Example $$${U+7B}NAME} Games"
VIAddVersionKey /LANG=0 "FileDescription" "The $\"Лэйс$\" & $$Co Setup"
VIAddVersionKey /LANG=0 "LegalCopyright" "Example $$${U+7B}NAME} Games"

!include "MUI2.nsh"
!include "LogicLib.nsh"
!include "FileFunc.nsh"
!include "WordFunc.nsh"
!include "nsDialogs.nsh"

!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\org.example.lathe"
; Exit codes are those of Windows: what scripts that roll out software know.
!define ERROR_IN_USE 32
!define ERROR_RIGHTS 740
!define ERROR_OLDER 1638
!define ERROR_OLD_STAYS 1603
; How long a setup without questions waits for a game that is ending: tries of half a second.
!define TRIES 10

Var Mode       ; "user" or "machine"
Var Given      ; the folder of /D=, or nothing
Var OldFolder  ; where this mode has the game already, or nothing
Var Installed  ; which version that is
Var OnDesktop    ; "1": a shortcut on the desktop
Var Downgrade  ; "1": an older version may replace a newer one
Var Elevated   ; "1": begun again with an administrator's rights, questions so far answered
Var Replaces   ; of the uninstaller: "1" when a setup goes on after it
Var Admin
Var UserButton
Var MachineButton
Var DesktopBox

!define MUI_ICON "game.ico"
!define MUI_UNICON "game.ico"
!define MUI_WELCOMEFINISHPAGE_BITMAP "side.bmp"
!define MUI_UNWELCOMEFINISHPAGE_BITMAP "side.bmp"
!define MUI_WELCOMEFINISHPAGE_BITMAP_STRETCH AspectFitHeight
!define MUI_UNWELCOMEFINISHPAGE_BITMAP_STRETCH AspectFitHeight
!define MUI_ABORTWARNING

!define MUI_PAGE_CUSTOMFUNCTION_PRE SkipWhenElevated
!insertmacro MUI_PAGE_WELCOME
!define MUI_PAGE_CUSTOMFUNCTION_PRE SkipWhenElevated
!insertmacro MUI_PAGE_LICENSE "license.txt"
Page custom Options OptionsDone
!define MUI_PAGE_CUSTOMFUNCTION_LEAVE FolderDone
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN
!define MUI_FINISHPAGE_RUN_TEXT "$(T_start)"
!define MUI_FINISHPAGE_RUN_FUNCTION Start
!insertmacro MUI_PAGE_FINISH

!define MUI_UNCONFIRMPAGE_TEXT_TOP "$(T_keeps)"
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES

!insertmacro MUI_LANGUAGE "English"
LangString T_keeps 1033 "This removes The $\"Лэйс$\" && $$Co from your computer. Saved games, settings and other files of yours stay."
LangString T_newer 1033 "The $\"Лэйс$\" & $$Co $Installed is installed, and this setup has version 1.4.2, which is older.$\n$\nReplace the newer version with the older one?"
LangString T_old_stays 1033 "The version of The $\"Лэйс$\" & $$Co in $INSTDIR could not be removed. Close all programs that use this folder, then start this setup again."
LangString T_options_desktop 1033 "Put a shortcut on the &desktop"
LangString T_options_machine 1033 "For &everyone on this computer (Windows asks for an administrator)"
LangString T_options_text 1033 "Who is The $\"Лэйс$\" && $$Co for?"
LangString T_options_title 1033 "Choose how to install"
LangString T_options_user 1033 "Only for &me"
LangString T_rights 1033 "Windows did not give the rights to install for everyone on this computer."
LangString T_running 1033 "The $\"Лэйс$\" & $$Co is running. Close it, then choose Retry."
LangString T_start 1033 "&Start The $\"Лэйс$\" && $$Co"
LangString T_stays 1033 "Some files of The $\"Лэйс$\" & $$Co could not be removed, because a program uses them. They lie in $INSTDIR."

!insertmacro MUI_LANGUAGE "German"
LangString T_keeps 1031 "Das entfernt The $\"Лэйс$\" && $$Co von deinem Computer. Spielstände, Einstellungen und andere Dateien von dir bleiben."
LangString T_newer 1031 "The $\"Лэйс$\" & $$Co $Installed ist installiert, und dieses Setup enthält Version 1.4.2, die älter ist.$\n$\nDie neuere Version durch die ältere ersetzen?"
LangString T_old_stays 1031 "Die Version von The $\"Лэйс$\" & $$Co in $INSTDIR konnte nicht entfernt werden. Schließe alle Programme, die diesen Ordner benutzen, und starte dieses Setup erneut."
LangString T_options_desktop 1031 "Verknüpfung auf dem &Desktop anlegen"
LangString T_options_machine 1031 "Für &alle an diesem Computer (Windows fragt nach einem Administrator)"
LangString T_options_text 1031 "Für wen ist The $\"Лэйс$\" && $$Co?"
LangString T_options_title 1031 "Installationsart wählen"
LangString T_options_user 1031 "Nur für &mich"
LangString T_rights 1031 "Windows hat die Rechte für eine Installation für alle an diesem Computer nicht erteilt."
LangString T_running 1031 "The $\"Лэйс$\" & $$Co läuft. Schließe es und wähle dann „Wiederholen“."
LangString T_start 1031 "The $\"Лэйс$\" && $$Co &starten"
LangString T_stays 1031 "Einige Dateien von The $\"Лэйс$\" & $$Co konnten nicht entfernt werden, weil ein Programm sie benutzt. Sie liegen in $INSTDIR."

!insertmacro MUI_LANGUAGE "Spanish"
LangString T_keeps 1034 "Esto quita The $\"Лэйс$\" && $$Co de tu equipo. Tus partidas guardadas, ajustes y demás archivos se quedan."
LangString T_newer 1034 "The $\"Лэйс$\" & $$Co $Installed está instalado, y este instalador contiene la versión 1.4.2, que es anterior.$\n$\n¿Reemplazar la versión más nueva por la anterior?"
LangString T_old_stays 1034 "No se pudo quitar la versión de The $\"Лэйс$\" & $$Co de $INSTDIR. Cierra todos los programas que usen esta carpeta y vuelve a iniciar este instalador."
LangString T_options_desktop 1034 "Crear un acceso directo en el &escritorio"
LangString T_options_machine 1034 "Para &todos los usuarios de este equipo (Windows pide un administrador)"
LangString T_options_text 1034 "¿Para quién es The $\"Лэйс$\" && $$Co?"
LangString T_options_title 1034 "Elige cómo instalar"
LangString T_options_user 1034 "Solo para &mí"
LangString T_rights 1034 "Windows no concedió los permisos para instalar para todos los usuarios de este equipo."
LangString T_running 1034 "The $\"Лэйс$\" & $$Co se está ejecutando. Ciérralo y elige Reintentar."
LangString T_start 1034 "&Iniciar The $\"Лэйс$\" && $$Co"
LangString T_stays 1034 "Algunos archivos de The $\"Лэйс$\" & $$Co no se pudieron quitar porque un programa los usa. Están en $INSTDIR."

!insertmacro MUI_LANGUAGE "French"
LangString T_keeps 1036 "The $\"Лэйс$\" && $$Co sera supprimé de votre ordinateur. Vos sauvegardes, vos réglages et vos autres fichiers restent."
LangString T_newer 1036 "The $\"Лэйс$\" & $$Co $Installed est installé, et ce programme contient la version 1.4.2, qui est plus ancienne.$\n$\nRemplacer la version récente par l’ancienne ?"
LangString T_old_stays 1036 "La version de The $\"Лэйс$\" & $$Co dans $INSTDIR n’a pas pu être supprimée. Fermez tous les programmes qui utilisent ce dossier, puis relancez cette installation."
LangString T_options_desktop 1036 "Créer un raccourci sur le &bureau"
LangString T_options_machine 1036 "Pour &tous les utilisateurs de cet ordinateur (Windows demande un administrateur)"
LangString T_options_text 1036 "Pour qui est The $\"Лэйс$\" && $$Co ?"
LangString T_options_title 1036 "Choisissez le type d’installation"
LangString T_options_user 1036 "Seulement pour &moi"
LangString T_rights 1036 "Windows n’a pas accordé les droits d’installer pour tous les utilisateurs de cet ordinateur."
LangString T_running 1036 "The $\"Лэйс$\" & $$Co est en cours d’exécution. Fermez-le, puis choisissez Réessayer."
LangString T_start 1036 "&Lancer The $\"Лэйс$\" && $$Co"
LangString T_stays 1036 "Certains fichiers de The $\"Лэйс$\" & $$Co n’ont pas pu être supprimés, car un programme les utilise. Ils se trouvent dans $INSTDIR."

!insertmacro MUI_LANGUAGE "Japanese"
LangString T_keeps 1041 "The $\"Лэйс$\" && $$Co をこのコンピューターから削除します。セーブデータ、設定、その他のファイルは残ります。"
LangString T_newer 1041 "The $\"Лэйс$\" & $$Co $Installed がインストールされています。このセットアップのバージョン 1.4.2 はそれより古いものです。$\n$\n新しいバージョンを古いバージョンに置き換えますか？"
LangString T_old_stays 1041 "$INSTDIR にある The $\"Лэйс$\" & $$Co を削除できませんでした。このフォルダーを使用しているプログラムをすべて閉じてから、セットアップを再度起動してください。"
LangString T_options_desktop 1041 "デスクトップにショートカットを作成(&D)"
LangString T_options_machine 1041 "このコンピューターのすべてのユーザー(&A)（管理者の許可が必要です）"
LangString T_options_text 1041 "The $\"Лэйс$\" && $$Co を使用するユーザー"
LangString T_options_title 1041 "インストール方法の選択"
LangString T_options_user 1041 "自分のみ(&M)"
LangString T_rights 1041 "すべてのユーザー向けにインストールする権限が Windows から与えられませんでした。"
LangString T_running 1041 "The $\"Лэйс$\" & $$Co が実行中です。終了してから［再試行］を選択してください。"
LangString T_start 1041 "The $\"Лэйс$\" && $$Co を起動(&S)"
LangString T_stays 1041 "プログラムが使用中のため、The $\"Лэйс$\" & $$Co の一部のファイルを削除できませんでした。場所：$INSTDIR"

!insertmacro MUI_LANGUAGE "PortugueseBR"
LangString T_keeps 1046 "Isto remove The $\"Лэйс$\" && $$Co do seu computador. Jogos salvos, configurações e outros arquivos seus permanecem."
LangString T_newer 1046 "The $\"Лэйс$\" & $$Co $Installed está instalado, e este instalador contém a versão 1.4.2, que é mais antiga.$\n$\nSubstituir a versão mais nova pela mais antiga?"
LangString T_old_stays 1046 "Não foi possível remover a versão de The $\"Лэйс$\" & $$Co em $INSTDIR. Feche todos os programas que usam esta pasta e inicie este instalador de novo."
LangString T_options_desktop 1046 "Criar um atalho na área de &trabalho"
LangString T_options_machine 1046 "Para &todos neste computador (o Windows pede um administrador)"
LangString T_options_text 1046 "Para quem é The $\"Лэйс$\" && $$Co?"
LangString T_options_title 1046 "Escolha como instalar"
LangString T_options_user 1046 "Só para &mim"
LangString T_rights 1046 "O Windows não concedeu os direitos para instalar para todos neste computador."
LangString T_running 1046 "The $\"Лэйс$\" & $$Co está em execução. Feche-o e escolha Repetir."
LangString T_start 1046 "&Iniciar The $\"Лэйс$\" && $$Co"
LangString T_stays 1046 "Alguns arquivos de The $\"Лэйс$\" & $$Co não puderam ser removidos porque um programa os usa. Eles estão em $INSTDIR."

!insertmacro MUI_LANGUAGE "Russian"
LangString T_keeps 1049 "Игра The $\"Лэйс$\" && $$Co будет удалена с этого компьютера. Сохранения, настройки и другие ваши файлы останутся."
LangString T_newer 1049 "Установлена версия The $\"Лэйс$\" & $$Co $Installed, а эта программа установки содержит более старую версию 1.4.2.$\n$\nЗаменить новую версию старой?"
LangString T_old_stays 1049 "Не удалось удалить версию The $\"Лэйс$\" & $$Co в папке $INSTDIR. Закройте все программы, которые используют эту папку, и запустите установку снова."
LangString T_options_desktop 1049 "Создать ярлык на &рабочем столе"
LangString T_options_machine 1049 "Для &всех пользователей этого компьютера (потребуется администратор)"
LangString T_options_text 1049 "Для кого устанавливается The $\"Лэйс$\" && $$Co?"
LangString T_options_title 1049 "Как установить"
LangString T_options_user 1049 "Только для &меня"
LangString T_rights 1049 "Windows не дала прав на установку для всех пользователей этого компьютера."
LangString T_running 1049 "Игра The $\"Лэйс$\" & $$Co запущена. Закройте её и нажмите «Повтор»."
LangString T_start 1049 "&Запустить The $\"Лэйс$\" && $$Co"
LangString T_stays 1049 "Некоторые файлы The $\"Лэйс$\" & $$Co не удалось удалить: их использует другая программа. Они находятся в папке $INSTDIR."

!insertmacro MUI_LANGUAGE "SimpChinese"
LangString T_keeps 2052 "这将从计算机中移除 The $\"Лэйс$\" && $$Co。存档、设置和你的其他文件会保留。"
LangString T_newer 2052 "已安装 The $\"Лэйс$\" & $$Co $Installed，而此安装程序的版本 1.4.2 较旧。$\n$\n要用旧版本替换新版本吗？"
LangString T_old_stays 2052 "无法移除 $INSTDIR 中的 The $\"Лэйс$\" & $$Co。请关闭所有使用此文件夹的程序，然后重新启动安装程序。"
LangString T_options_desktop 2052 "在桌面上创建快捷方式(&D)"
LangString T_options_machine 2052 "供此计算机的所有用户使用(&A)（Windows 会要求管理员权限）"
LangString T_options_text 2052 "The $\"Лэйс$\" && $$Co 给谁使用？"
LangString T_options_title 2052 "选择安装方式"
LangString T_options_user 2052 "仅供我使用(&M)"
LangString T_rights 2052 "Windows 未授予为此计算机所有用户安装的权限。"
LangString T_running 2052 "The $\"Лэйс$\" & $$Co 正在运行。请将其关闭，然后选择“重试”。"
LangString T_start 2052 "启动 The $\"Лэйс$\" && $$Co(&S)"
LangString T_stays 2052 "The $\"Лэйс$\" & $$Co 的部分文件正被程序使用，无法删除。它们位于 $INSTDIR。"

; InUse gives $0 = "1" when the game in a folder runs: Windows refuses to open a running program for writing.
!macro InUse FOLDER
  StrCpy $0 "0"
  ${If} "${FOLDER}" != ""
  ${AndIf} ${FileExists} "${FOLDER}\Lathe.exe"
    ClearErrors
    FileOpen $1 "${FOLDER}\Lathe.exe" a
    ${If} ${Errors}
      StrCpy $0 "1"
    ${Else}
      FileClose $1
    ${EndIf}
    ClearErrors
  ${EndIf}
!macroend

; WaitUntilClosed returns when the game in a folder does not run. Without questions it waits a little, then ends the setup.
!macro WaitUntilClosed FOLDER
  StrCpy $2 0
  ${Do}
    !insertmacro InUse "${FOLDER}"
    ${If} $0 == "0"
      ${ExitDo}
    ${EndIf}
    ${If} ${Silent}
      IntOp $2 $2 + 1
      ${If} $2 >= ${TRIES}
        SetErrorLevel ${ERROR_IN_USE}
        Quit
      ${EndIf}
      Sleep 500
    ${ElseIf} ${Cmd} `MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(T_running)" IDCANCEL`
      SetErrorLevel ${ERROR_IN_USE}
      Quit
    ${EndIf}
  ${Loop}
!macroend

; GetAdmin sets $Admin to "1" where this process may write for everyone.
!macro GetAdmin
  UserInfo::GetAccountType
  Pop $0
  StrCpy $Admin "0"
  ${If} $0 == "Admin"
    StrCpy $Admin "1"
  ${EndIf}
!macroend

; Switch sets a variable when the command line has a switch.
!macro Switch NAME VAR VALUE
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "${NAME}" $1
  ${IfNot} ${Errors}
    StrCpy ${VAR} "${VALUE}"
  ${EndIf}
  ClearErrors
!macroend

Function .onInit
  SetRegView 64
  StrCpy $Given ""
  ${If} $INSTDIR != "$LOCALAPPDATA\Programs\Lathe"
    StrCpy $Given $INSTDIR
  ${EndIf}
  StrCpy $OnDesktop ""
  StrCpy $Mode ""
  !insertmacro Switch "/AllUsers" $Mode "machine"
  !insertmacro Switch "/CurrentUser" $Mode "user"
  !insertmacro Switch "/Desktop" $OnDesktop "1"
  !insertmacro Switch "/NoDesktop" $OnDesktop "0"
  !insertmacro Switch "/AllowDowngrade" $Downgrade "1"
  !insertmacro Switch "/Elevated" $Elevated "1"
  !insertmacro GetAdmin
  ${If} $Mode == ""
    StrCpy $Mode "user"
    ReadRegStr $0 HKCU ${UNINSTALL} "InstallLocation"
    ReadRegStr $1 HKLM ${UNINSTALL} "InstallLocation"
    ${If} $0 == ""
    ${AndIf} $1 != ""
      StrCpy $Mode "machine"
    ${EndIf}
  ${EndIf}
  Call UseMode
  ${If} ${Silent}
    ${If} $Mode == "machine"
    ${AndIf} $Admin == "0"
      SetErrorLevel ${ERROR_RIGHTS}
      Quit
    ${EndIf}
    Call AllowVersion
    Call AllowFiles
  ${EndIf}
FunctionEnd

; UseMode finds out what this mode has installed, and where to.
Function UseMode
  ${If} $Mode == "machine"
    SetShellVarContext all
    StrCpy $INSTDIR "$PROGRAMFILES64\Lathe"
  ${Else}
    SetShellVarContext current
    StrCpy $INSTDIR "$LOCALAPPDATA\Programs\Lathe"
  ${EndIf}
  ReadRegStr $OldFolder SHCTX ${UNINSTALL} "InstallLocation"
  ReadRegStr $Installed SHCTX ${UNINSTALL} "DisplayVersion"
  ${If} $OnDesktop == ""
    ReadRegStr $OnDesktop SHCTX ${UNINSTALL} "DesktopShortcut"
  ${EndIf}
  ${If} $OnDesktop == ""
    StrCpy $OnDesktop "0"
  ${EndIf}
  ${If} $Given != ""
    StrCpy $INSTDIR $Given
  ${ElseIf} $OldFolder != ""
    StrCpy $INSTDIR $OldFolder
  ${EndIf}
FunctionEnd

; AllowVersion ends the setup when a newer version is installed and a downgrade was not requested.
Function AllowVersion
  ${If} $Installed == ""
  ${OrIf} $Downgrade == "1"
    Return
  ${EndIf}
  ${VersionCompare} $Installed "1.4.2" $0
  ${If} $0 != "1"
    Return
  ${EndIf}
  ${IfNot} ${Silent}
  ${AndIf} ${Cmd} `MessageBox MB_YESNO|MB_ICONEXCLAMATION|MB_DEFBUTTON2 "$(T_newer)" IDYES`
    StrCpy $Downgrade "1"
    Return
  ${EndIf}
  SetErrorLevel ${ERROR_OLDER}
  Quit
FunctionEnd

; AllowFiles returns when nothing in the folders is in use.
Function AllowFiles
  !insertmacro WaitUntilClosed "$OldFolder"
  !insertmacro WaitUntilClosed "$INSTDIR"
FunctionEnd

Function SkipWhenElevated
  ${If} $Elevated == "1"
    Abort
  ${EndIf}
FunctionEnd

Function Options
  ${If} $Elevated == "1"
    Abort
  ${EndIf}
  !insertmacro MUI_HEADER_TEXT "$(T_options_title)" ""
  nsDialogs::Create 1018
  Pop $0
  ${NSD_CreateLabel} 0 0 100% 12u "$(T_options_text)"
  Pop $0
  ${NSD_CreateRadioButton} 10u 16u 95% 12u "$(T_options_user)"
  Pop $UserButton
  ${NSD_CreateRadioButton} 10u 32u 95% 12u "$(T_options_machine)"
  Pop $MachineButton
  ${If} $Mode == "machine"
    ${NSD_Check} $MachineButton
  ${Else}
    ${NSD_Check} $UserButton
  ${EndIf}
  ${NSD_CreateCheckBox} 0 56u 100% 12u "$(T_options_desktop)"
  Pop $DesktopBox
  ${If} $OnDesktop == "1"
    ${NSD_Check} $DesktopBox
  ${EndIf}
  nsDialogs::Show
FunctionEnd

Function OptionsDone
  ${NSD_GetState} $DesktopBox $OnDesktop
  StrCpy $Mode "user"
  ${NSD_GetState} $MachineButton $0
  ${If} $0 == ${BST_CHECKED}
    StrCpy $Mode "machine"
  ${EndIf}
  ${If} $Mode == "machine"
  ${AndIf} $Admin == "0"
    Call Elevate
    Abort
  ${EndIf}
  Call UseMode
  Call AllowVersion
FunctionEnd

; Elevate begins again as an administrator, or says that Windows does not want to.
Function Elevate
  StrCpy $0 "/AllUsers /Elevated /NoDesktop"
  ${If} $OnDesktop == "1"
    StrCpy $0 "/AllUsers /Elevated /Desktop"
  ${EndIf}
  ${If} $Given != ""
    StrCpy $0 "$0 /D=$Given"
  ${EndIf}
  ClearErrors
  ExecShell "runas" "$EXEPATH" "$0"
  ${IfNot} ${Errors}
    Quit
  ${EndIf}
  MessageBox MB_OK|MB_ICONEXCLAMATION "$(T_rights)"
FunctionEnd

Function FolderDone
  ${If} $Elevated == "1"
    Call AllowVersion
  ${EndIf}
  Call AllowFiles
FunctionEnd

; Start lets Explorer start the game, so that it does not run as an administrator.
Function Start
  ${If} $Admin == "1"
    Exec '"$WINDIR\explorer.exe" "$INSTDIR\Lathe.exe"'
  ${Else}
    SetOutPath "$INSTDIR"
    Exec '"$INSTDIR\Lathe.exe"'
  ${EndIf}
FunctionEnd

; RemoveOld lets the installed version remove what it installed, which may be more than this one has.
Function RemoveOld
  ${If} $OldFolder == ""
  ${OrIfNot} ${FileExists} "$OldFolder\uninstall.exe"
    Return
  ${EndIf}
  ClearErrors
  ExecWait '"$OldFolder\uninstall.exe" /S /Replace _?=$OldFolder' $0
  ${If} ${Errors}
  ${OrIf} $0 != 0
    ${IfNot} ${Silent}
      MessageBox MB_OK|MB_ICONSTOP "$(T_old_stays)"
    ${EndIf}
    SetErrorLevel ${ERROR_OLD_STAYS}
    Quit
  ${EndIf}
  Delete "$OldFolder\uninstall.exe"
  RMDir "$OldFolder"
  ClearErrors
FunctionEnd

Section
  Call AllowFiles
  Call RemoveOld
  SetOutPath "$INSTDIR"
  File "/oname=EULA.txt" "f0000"
  File "/oname=INSTALLED" "f0001"
  File "/oname=Lathe.dll" "f0002"
  File "/oname=Lathe.dll.pdb" "f0003"
  File "/oname=Lathe.exe" "f0004"
  SetOutPath "$INSTDIR\Resources"
  File "/oname=Core.zip" "f0005"
  File "/oname=Extra Ж$$ {x}$\'s.zip" "f0006"
  SetOutPath "$INSTDIR"
  WriteUninstaller "$INSTDIR\uninstall.exe"

  CreateShortcut "$SMPROGRAMS\The Лэйс & $$Co.lnk" "$INSTDIR\Lathe.exe" "" "$INSTDIR\Lathe.exe" 0 SW_SHOWNORMAL "" "Turns things"
  ${If} $OnDesktop == "1"
    CreateShortcut "$DESKTOP\The Лэйс & $$Co.lnk" "$INSTDIR\Lathe.exe" "" "$INSTDIR\Lathe.exe" 0 SW_SHOWNORMAL "" "Turns things"
  ${EndIf}

  WriteRegStr SHCTX "Software\Classes\lathe" "" "URL:The $\"Лэйс$\" & $$Co"
  WriteRegStr SHCTX "Software\Classes\lathe" "URL Protocol" ""
  WriteRegStr SHCTX "Software\Classes\lathe\DefaultIcon" "" '"$INSTDIR\Lathe.exe",0'
  WriteRegStr SHCTX "Software\Classes\lathe\shell\open\command" "" '"$INSTDIR\Lathe.exe" -- --DeepLinkUri "%1"'

  WriteRegStr SHCTX ${UNINSTALL} "DisplayName" "The $\"Лэйс$\" & $$Co"
  WriteRegStr SHCTX ${UNINSTALL} "DisplayVersion" "1.4.2"
  WriteRegStr SHCTX ${UNINSTALL} "DisplayIcon" "$INSTDIR\Lathe.exe,0"
  WriteRegStr SHCTX ${UNINSTALL} "Publisher" "Example $$${U+7B}NAME} Games"
  WriteRegStr SHCTX ${UNINSTALL} "URLInfoAbout" "https://example.org/?a=b&c=$$d"
  WriteRegStr SHCTX ${UNINSTALL} "InstallLocation" "$INSTDIR"
  WriteRegStr SHCTX ${UNINSTALL} "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr SHCTX ${UNINSTALL} "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegStr SHCTX ${UNINSTALL} "DesktopShortcut" "$OnDesktop"
  WriteRegDWORD SHCTX ${UNINSTALL} "EstimatedSize" 1
  WriteRegDWORD SHCTX ${UNINSTALL} "NoModify" 1
  WriteRegDWORD SHCTX ${UNINSTALL} "NoRepair" 1
SectionEnd

Function un.onInit
  SetRegView 64
  !insertmacro Switch "/Replace" $Replaces "1"
  !insertmacro GetAdmin
  SetShellVarContext current
  ReadRegStr $0 HKLM ${UNINSTALL} "InstallLocation"
  ${If} $0 == "$INSTDIR"
    SetShellVarContext all
    ${If} $Admin == "0"
      ${If} ${Silent}
        SetErrorLevel ${ERROR_RIGHTS}
        Quit
      ${EndIf}
      ClearErrors
      ExecShell "runas" "$INSTDIR\uninstall.exe"
      ${If} ${Errors}
        MessageBox MB_OK|MB_ICONEXCLAMATION "$(T_rights)"
      ${EndIf}
      SetErrorLevel ${ERROR_RIGHTS}
      Quit
    ${EndIf}
  ${EndIf}
  !insertmacro WaitUntilClosed "$INSTDIR"
FunctionEnd

Section "un."
  !insertmacro WaitUntilClosed "$INSTDIR"
  Delete "$INSTDIR\EULA.txt"
  Delete "$INSTDIR\~EULA.txt"
  Delete "$INSTDIR\EULA.txt-staging"
  Delete "$INSTDIR\EULA.txt.bak"
  Delete "$INSTDIR\INSTALLED"
  Delete "$INSTDIR\~INSTALLED"
  Delete "$INSTDIR\INSTALLED-staging"
  Delete "$INSTDIR\INSTALLED.bak"
  Delete "$INSTDIR\Lathe.dll"
  Delete "$INSTDIR\~Lathe.dll"
  Delete "$INSTDIR\Lathe.dll-staging"
  Delete "$INSTDIR\Lathe.dll.bak"
  Delete "$INSTDIR\Lathe.dll.pdb"
  Delete "$INSTDIR\~Lathe.dll.pdb"
  Delete "$INSTDIR\Lathe.dll.pdb-staging"
  Delete "$INSTDIR\Lathe.dll.pdb.bak"
  Delete "$INSTDIR\Lathe.exe"
  Delete "$INSTDIR\~Lathe.exe"
  Delete "$INSTDIR\Lathe.exe-staging"
  Delete "$INSTDIR\Lathe.exe.bak"
  Delete "$INSTDIR\Lathe-staging.exe"
  Delete "$INSTDIR\Resources\Core.zip"
  Delete "$INSTDIR\Resources\~Core.zip"
  Delete "$INSTDIR\Resources\Extra Ж$$ {x}$\'s.zip"
  Delete "$INSTDIR\Resources\~Extra Ж$$ {x}$\'s.zip"
  Delete "$INSTDIR\Lathe.log"
  Delete "$INSTDIR\Lathe.log.old"
  Delete "$INSTDIR\.collet\journal.0"
  Delete "$INSTDIR\.collet\journal.0.new"
  Delete "$INSTDIR\.collet\journal.1"
  Delete "$INSTDIR\.collet\journal.1.new"
  Delete "$INSTDIR\.collet\lists.0"
  Delete "$INSTDIR\.collet\lists.0.new"
  Delete "$INSTDIR\.collet\lists.1"
  Delete "$INSTDIR\.collet\lists.1.new"
  Delete "$INSTDIR\.collet\lock"
  Delete "$INSTDIR\.collet\lock.new"
  Delete "$INSTDIR\.collet\readers"
  Delete "$INSTDIR\.collet\readers.new"
  Delete "$INSTDIR\.collet\open"
  Delete "$INSTDIR\.collet\open.new"
  Delete "$INSTDIR\Cache\hashes"
  Delete "$INSTDIR\Cache\hashes.new"
  Delete "$INSTDIR\Cache\blocks"
  Delete "$INSTDIR\Cache\blocks.new"
  Delete "$INSTDIR\Cache\last-update"
  Delete "$INSTDIR\Cache\last-update.new"
  Delete "$INSTDIR\Cache\content"
  Delete "$INSTDIR\Cache\content.new"
  Delete "$INSTDIR\Cache\servers"
  Delete "$INSTDIR\Cache\servers.new"
  Delete "$INSTDIR\ClientRuntimeHost\Lathe.dll.path"
  Delete "$INSTDIR\ClientRuntimeHost\Lathe.dll.path.new"
  Delete "$INSTDIR\ClientRuntimeHost\Lathe.program.path"
  Delete "$INSTDIR\ClientRuntimeHost\Lathe.program.path.new"
  RMDir /r "$INSTDIR\.collet"
  RMDir /r "$INSTDIR\Cache\release"
  RMDir "$INSTDIR\Cache"
  RMDir "$INSTDIR\ClientRuntimeHost"
  RMDir "$INSTDIR\Resources"
  Call un.Recycler
  Delete "$SMPROGRAMS\The Лэйс & $$Co.lnk"
  Delete "$DESKTOP\The Лэйс & $$Co.lnk"
  ReadRegStr $0 SHCTX ${UNINSTALL} "InstallLocation"
  ${If} $0 == "$INSTDIR"
    DeleteRegKey SHCTX ${UNINSTALL}
  ${EndIf}
  ; Another program may have taken the scheme over.
  ReadRegStr $0 SHCTX "Software\Classes\lathe\shell\open\command" ""
  ${If} $0 == '"$INSTDIR\Lathe.exe" -- --DeepLinkUri "%1"'
    DeleteRegKey SHCTX "Software\Classes\lathe"
  ${EndIf}
  SetOutPath "$TEMP"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  ${If} ${FileExists} "$INSTDIR\Lathe.exe"
    ${IfNot} ${Silent}
      MessageBox MB_OK|MB_ICONEXCLAMATION "$(T_stays)"
    ${EndIf}
    SetErrorLevel ${ERROR_IN_USE}
  ${EndIf}
SectionEnd

; un.Recycler removes what updates have dropped, and leaves files of the player that stood in their way.
Function un.Recycler
  ClearErrors
  FindFirst $0 $1 "$INSTDIR\Recycler\*"
  ${DoWhile} $1 != ""
    StrCpy $2 $1 6
    ${If} $2 != "yours-"
    ${AndIf} $1 != "."
    ${AndIf} $1 != ".."
      RMDir /r "$INSTDIR\Recycler\$1"
    ${EndIf}
    StrCpy $1 ""
    FindNext $0 $1
  ${Loop}
  FindClose $0
  RMDir "$INSTDIR\Recycler"
  ClearErrors
FunctionEnd
