/* A game for Windows: a window whose colour and title come from data/level.txt beside it. Its arguments say what it does:
 *
 *   (none)            it plays until its window is asked to close, and ends with 0
 *   exit CODE         it ends with this code
 *   once FILE CODE    it ends with this code; if the file is there already, with 0
 *   crash             it reads from address 0
 *   launch ARG ...    it starts itself with these arguments and ends with 0
 *   after MS ARG ...  it waits first
 *   deaf              it plays, and does not close its window
 *   hold FILE         it plays, and lets no other program write, rename or remove this file beside it
 *
 * game.log beside it gets a line for each thing that happens. */
#include <windows.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[MAX_PATH];
static char title[64];
static unsigned colour;
static int deaf;
static int *volatile nowhere;

static const char *beside(const char *name)
{
    static char path[2 * MAX_PATH];
    snprintf(path, sizeof path, "%s\\%s", folder, name);
    return path;
}

static void note(const char *form, ...)
{
    FILE *log = fopen(beside("game.log"), "a");
    va_list rest;
    if (!log)
        return;
    va_start(rest, form);
    vfprintf(log, form, rest);
    va_end(rest);
    fputc('\n', log);
    fclose(log);
}

static void paint(HWND window)
{
    PAINTSTRUCT on;
    RECT all;
    HDC to = BeginPaint(window, &on);
    GetClientRect(window, &all);
    for (int i = 0; i < all.bottom; i++) { /* from the level's colour to black */
        int part = 255 - 255 * i / all.bottom;
        HBRUSH brush = CreateSolidBrush(RGB((colour >> 16 & 255) * part / 255, (colour >> 8 & 255) * part / 255, (colour & 255) * part / 255));
        RECT line = {0, i, all.right, i + 1};
        FillRect(to, &line, brush);
        DeleteObject(brush);
    }
    TextOutA(to, 20, 20, title, (int)strlen(title));
    EndPaint(window, &on);
}

static LRESULT CALLBACK handle(HWND window, UINT message, WPARAM w, LPARAM l)
{
    switch (message) {
    case WM_PAINT:
        paint(window);
        return 0;
    case WM_CLOSE:
        note("asked to close");
        if (!deaf)
            DestroyWindow(window);
        return 0;
    case WM_DESTROY:
        PostQuitMessage(0);
        return 0;
    }
    return DefWindowProcA(window, message, w, l);
}

static int play(void)
{
    WNDCLASSA kind = {.lpfnWndProc = handle, .hInstance = GetModuleHandleA(NULL), .lpszClassName = "Game"};
    FILE *level = fopen(beside("data\\level.txt"), "r");
    MSG message;
    if (!level || fscanf(level, "%x %63[^\r\n]", &colour, title) != 2) {
        note("no level");
        return 5;
    }
    fclose(level);
    RegisterClassA(&kind);
    if (!CreateWindowA("Game", title, WS_OVERLAPPEDWINDOW | WS_VISIBLE, 60, 40, 480, 300, NULL, NULL, kind.hInstance, NULL))
        return 6;
    note("plays %s", title);
    while (GetMessageA(&message, NULL, 0, 0) > 0) {
        TranslateMessage(&message);
        DispatchMessageA(&message);
    }
    note("closed");
    return 0;
}

static int launch(int argc, char **argv)
{
    char program[MAX_PATH], line[4 * MAX_PATH];
    STARTUPINFOA start = {.cb = sizeof start};
    PROCESS_INFORMATION child;
    GetModuleFileNameA(NULL, program, sizeof program);
    int at = snprintf(line, sizeof line, "\"%s\"", program);
    for (int i = 0; i < argc; i++)
        at += snprintf(line + at, sizeof line - at, " \"%s\"", argv[i]);
    return CreateProcessA(program, line, NULL, NULL, FALSE, 0, NULL, NULL, &start, &child) ? 0 : 7;
}

int main(int argc, char **argv)
{
    GetModuleFileNameA(NULL, folder, sizeof folder);
    *strrchr(folder, '\\') = 0;
    argc--, argv++;
    if (argc >= 2 && !strcmp(argv[0], "after")) {
        Sleep(atoi(argv[1]));
        argc -= 2, argv += 2;
    }
    if (argc >= 1 && !strcmp(argv[0], "launch"))
        return launch(argc - 1, argv + 1);
    if (argc >= 2 && !strcmp(argv[0], "exit"))
        return (int)strtoul(argv[1], NULL, 0);
    if (argc >= 3 && !strcmp(argv[0], "once")) {
        HANDLE file = CreateFileA(beside(argv[1]), GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
        return file == INVALID_HANDLE_VALUE ? 0 : atoi(argv[2]);
    }
    if (argc >= 1 && !strcmp(argv[0], "crash"))
        return *nowhere;
    if (argc >= 2 && !strcmp(argv[0], "hold") &&
        CreateFileA(beside(argv[1]), GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL) == INVALID_HANDLE_VALUE)
        return 8;
    deaf = argc >= 1 && !strcmp(argv[0], "deaf");
    return play();
}
