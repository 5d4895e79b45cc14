/* collet.h: a game that is a program talks to Collet. One header, C99 or C++, no library.
 *
 * Started without Collet, every call does nothing and returns 0. Call all of them from one thread. A call opens a small file;
 * collet_update_available and collet_stop_requested are meant to be called once a second, not once a frame.
 * See docs/PROGRAMS.md, "Helper".
 */
#ifndef COLLET_H
#define COLLET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <wchar.h>
#endif

/* collet_open opens the file that a variable names; NULL without Collet. */
static FILE *collet_open(int append)
{
#ifdef _WIN32
    const wchar_t *name = _wgetenv(append ? L"COLLET_EVENTS" : L"COLLET_STATE");
    return name != NULL && *name != 0 ? _wfopen(name, append ? L"ab" : L"rb") : NULL;
#else
    const char *name = getenv(append ? "COLLET_EVENTS" : "COLLET_STATE");
    return name != NULL && *name != 0 ? fopen(name, append ? "ab" : "rb") : NULL;
#endif
}

/* collet_say appends one line. It returns 1 if Collet can read it. */
static int collet_say(const char *word, const char *text)
{
    char line[1024];
    int size = snprintf(line, sizeof line, text != NULL ? "%s %s" : "%s", word, text != NULL ? text : "");
    FILE *file;
    int i, said;
    if (size < 0 || size >= (int)sizeof line - 1)
        return 0;
    for (i = 0; i < size; i++)
        if (line[i] == '\n' || line[i] == '\r')
            line[i] = ' ';
    line[size++] = '\n';
    file = collet_open(1);
    if (file == NULL)
        return 0;
    said = fwrite(line, 1, (size_t)size, file) == (size_t)size;
    return fclose(file) == 0 && said;
}

/* collet_find finds the line that begins with word, and copies what follows the word and a space to rest, if that is not NULL. */
static int collet_find(const char *word, char *rest, size_t size)
{
    char line[1024];
    size_t length = strlen(word);
    int found = 0;
    FILE *file = collet_open(0);
    if (file == NULL)
        return 0;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = 0;
        found = strncmp(line, word, length) == 0 && (line[length] == 0 || line[length] == ' ');
    }
    fclose(file);
    if (found && rest != NULL && size > 0) {
        rest[0] = 0;
        if (line[length] == ' ')
            strncat(rest, line + length + 1, size - 1);
    }
    return found;
}

/* collet_ready says that the game has started: the release has proven itself. Call it when the first frame is shown. */
static inline int collet_ready(void) { return collet_say("ready", NULL); }

/* collet_progress says what the game does before it is ready, in at most 1000 bytes of UTF-8. */
static inline int collet_progress(const char *text) { return collet_say("progress", text); }

/* collet_update_available returns 1 if a newer release is ready for the next start, and copies its version, if that is not NULL. */
static inline int collet_update_available(char *version, size_t size) { return collet_find("update", version, size); }

/* collet_restart_to_update asks to be started again. The game then ends by itself, with a clean exit code. */
static inline int collet_restart_to_update(void) { return collet_say("restart", NULL); }

/* collet_stop_requested returns 1 if the game should save and end. */
static inline int collet_stop_requested(void) { return collet_find("stop", NULL, 0); }

#endif
