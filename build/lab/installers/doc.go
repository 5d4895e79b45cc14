// Package installers tries what `collet pack` makes for Windows on computers that Wine plays: setups and packages of Windows Installer
// are installed, replaced, started, updated and removed. It has tests only.
package installers
