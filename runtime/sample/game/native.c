/* native.c: a window of Windows. A frame is copied into a bitmap of the system and from there to the window, which may be of
 * any size: the picture keeps its shape, and what is left is black. */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)

#ifndef UNICODE
#define UNICODE
#endif
#include <windows.h>

enum {
    FRAME_TIME = 16, /* milliseconds: a sixtieth of a second */
    MAX_TITLE = 512  /* UTF-16 units */
};

static const wchar_t class_name[] = L"collet-sample";

struct Native {
    HWND window;
    HDC memory;      /* what the bitmap is drawn from */
    HBITMAP bitmap;
    HGDIOBJ before;  /* the bitmap that memory came with */
    void* pixels;    /* of the bitmap, in the order of a frame's */
    ULONGLONG shown; /* when the last frame was */
    Input held;
};

/* The largest area of the field's shape in the middle of the window. */
static RECT area_of(HWND window) {
    RECT client, area;
    int width, height;
    GetClientRect(window, &client);
    width = client.right;
    height = client.right * FIELD_HEIGHT / FIELD_WIDTH;
    if (height > client.bottom) {
        height = client.bottom;
        width = client.bottom * FIELD_WIDTH / FIELD_HEIGHT;
    }
    area.left = (client.right - width) / 2;
    area.top = (client.bottom - height) / 2;
    area.right = area.left + width;
    area.bottom = area.top + height;
    return area;
}

static void draw(const Native* native, HDC screen) {
    RECT client, area = area_of(native->window);
    GetClientRect(native->window, &client);
    SetStretchBltMode(screen, COLORONCOLOR);
    StretchBlt(screen, area.left, area.top, area.right - area.left, area.bottom - area.top, native->memory, 0, 0, FIELD_WIDTH,
               FIELD_HEIGHT, SRCCOPY);
    ExcludeClipRect(screen, area.left, area.top, area.right, area.bottom);
    PatBlt(screen, 0, 0, client.right, client.bottom, BLACKNESS);
}

static void paint(const Native* native) {
    PAINTSTRUCT what;
    draw(native, BeginPaint(native->window, &what));
    EndPaint(native->window, &what);
}

static void key(Input* input, WPARAM code, bool down) {
    switch (code) {
    case VK_ESCAPE: input->quit = input->quit || down; break;
    case VK_LEFT: case 'A': input->steer.left = down; break;
    case VK_RIGHT: case 'D': input->steer.right = down; break;
    case VK_UP: case 'W': input->steer.up = down; break;
    case VK_DOWN: case 'S': input->steer.down = down; break;
    default: break;
    }
}

static LRESULT CALLBACK receive(HWND window, UINT message, WPARAM word, LPARAM more) {
    static const Steer none;
    Native* native = (Native*)GetWindowLongPtrW(window, GWLP_USERDATA);
    if (native == NULL || native->window == NULL) { /* it is being made, or it is gone */
        return DefWindowProcW(window, message, word, more);
    }
    switch (message) {
    case WM_CLOSE: native->held.quit = true; return 0; /* the game destroys it when it has ended */
    case WM_KEYDOWN: case WM_KEYUP: key(&native->held, word, message == WM_KEYDOWN); return 0;
    case WM_KILLFOCUS: native->held.steer = none; return 0; /* who lets a key go elsewhere is not heard */
    case WM_ERASEBKGND: return 1;
    case WM_SIZE: InvalidateRect(window, NULL, FALSE); return 0;
    case WM_PAINT: paint(native); return 0;
    default: return DefWindowProcW(window, message, word, more);
    }
}

static bool make_bitmap(Native* native) {
    BITMAPINFO info;
    memset(&info, 0, sizeof info);
    info.bmiHeader.biSize = sizeof info.bmiHeader;
    info.bmiHeader.biWidth = FIELD_WIDTH;
    info.bmiHeader.biHeight = -FIELD_HEIGHT; /* the first line is the upper one */
    info.bmiHeader.biPlanes = 1;
    info.bmiHeader.biBitCount = 32;
    info.bmiHeader.biCompression = BI_RGB;
    native->memory = CreateCompatibleDC(NULL);
    native->bitmap = CreateDIBSection(native->memory, &info, DIB_RGB_COLORS, &native->pixels, NULL, 0);
    if (native->bitmap == NULL) {
        return false;
    }
    native->before = SelectObject(native->memory, native->bitmap);
    return true;
}

static bool make_window(Native* native, const char* title) {
    wchar_t name[MAX_TITLE] = L"";
    RECT desk, size = {0, 0, FIELD_WIDTH, FIELD_HEIGHT};
    HINSTANCE program = GetModuleHandleW(NULL);
    WNDCLASSW class;
    memset(&class, 0, sizeof class);
    class.lpfnWndProc = receive;
    class.hInstance = program;
    class.hCursor = LoadCursorW(NULL, (LPCWSTR)IDC_ARROW);
    class.hIcon = LoadIconW(program, (LPCWSTR)MAKEINTRESOURCEW(1)); /* the host's own; NULL is the system's */
    class.lpszClassName = class_name;
    MultiByteToWideChar(CP_UTF8, 0, title, -1, name, MAX_TITLE - 1);
    AdjustWindowRect(&size, WS_OVERLAPPEDWINDOW, FALSE);
    if (RegisterClassW(&class) == 0 || !SystemParametersInfoW(SPI_GETWORKAREA, 0, &desk, 0)) {
        return false;
    }
    native->window = CreateWindowExW(0, class_name, name, WS_OVERLAPPEDWINDOW,
                                     desk.left + (desk.right - desk.left - (size.right - size.left)) / 2,
                                     desk.top + (desk.bottom - desk.top - (size.bottom - size.top)) / 2, size.right - size.left,
                                     size.bottom - size.top, NULL, NULL, program, NULL);
    if (native->window == NULL) {
        return false;
    }
    SetWindowLongPtrW(native->window, GWLP_USERDATA, (LONG_PTR)native);
    return true;
}

Native* native_open(const char* title, char* error) {
    Native* native = calloc(1, sizeof *native);
    if (native == NULL || !make_bitmap(native) || !make_window(native, title)) {
        snprintf(error, PACK_ERROR_SIZE, "Windows opens no window (error %lu)", GetLastError());
        native_close(native);
        return NULL;
    }
    ShowWindow(native->window, SW_SHOWNORMAL);
    SetForegroundWindow(native->window);
    return native;
}

bool native_show(Native* native, const Frame* frame) {
    HDC screen = GetDC(native->window);
    ULONGLONG passed;
    if (screen == NULL) {
        return false;
    }
    GdiFlush(); /* the last frame is out of the bitmap */
    memcpy(native->pixels, frame->pixels, sizeof frame->pixels);
    draw(native, screen);
    ReleaseDC(native->window, screen);
    passed = GetTickCount64() - native->shown;
    if (passed < FRAME_TIME) {
        Sleep((DWORD)(FRAME_TIME - passed));
    }
    native->shown = GetTickCount64();
    return true;
}

void native_input(Native* native, Input* input) {
    MSG message;
    while (PeekMessageW(&message, NULL, 0, 0, PM_REMOVE)) {
        if (message.message == WM_QUIT) {
            native->held.quit = true;
        }
        TranslateMessage(&message);
        DispatchMessageW(&message);
    }
    *input = native->held;
}

void native_close(Native* native) {
    if (native == NULL) {
        return;
    }
    if (native->window != NULL) {
        HWND window = native->window;
        native->window = NULL;
        DestroyWindow(window);
    }
    UnregisterClassW(class_name, GetModuleHandleW(NULL));
    if (native->before != NULL) {
        SelectObject(native->memory, native->before);
    }
    if (native->bitmap != NULL) {
        DeleteObject(native->bitmap);
    }
    if (native->memory != NULL) {
        DeleteDC(native->memory);
    }
    free(native);
}

#else

/* error keeps what SDL2 had to say. */
Native* native_open(const char* title, char* error) {
    (void)title;
    (void)error;
    return NULL;
}

bool native_show(Native* native, const Frame* frame) {
    (void)native;
    (void)frame;
    return false;
}

void native_input(Native* native, Input* input) {
    (void)native;
    (void)input;
}

void native_close(Native* native) { (void)native; }

#endif
