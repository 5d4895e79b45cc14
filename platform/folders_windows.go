package platform

import "golang.org/x/sys/windows"

// knownFolders is SHGetKnownFolderPath.
func knownFolders() (list []string) {
	for _, id := range []*windows.KNOWNFOLDERID{
		windows.FOLDERID_Contacts, windows.FOLDERID_Desktop, windows.FOLDERID_Documents, windows.FOLDERID_Downloads, windows.FOLDERID_Favorites,
		windows.FOLDERID_Music, windows.FOLDERID_OneDrive, windows.FOLDERID_Pictures, windows.FOLDERID_Profile, windows.FOLDERID_Public,
		windows.FOLDERID_PublicDesktop, windows.FOLDERID_PublicDocuments, windows.FOLDERID_SavedGames, windows.FOLDERID_UserProfiles, windows.FOLDERID_Videos,
	} {
		if folder, err := windows.KnownFolderPath(id, windows.KF_FLAG_DONT_VERIFY); err == nil {
			list = append(list, folder)
		}
	}
	return list
}
