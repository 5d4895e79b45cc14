/* bcryptprimitives.dll for versions of Wine that have none. Every Go program loads it before anything else.
 *
 * It has the one function that Go asks for, and mends one answer: of a class of information that ntdll does not know,
 * Windows says STATUS_INVALID_INFO_CLASS and these versions of Wine STATUS_NOT_IMPLEMENTED. Go removes a file by such a
 * class (FileDispositionInformationEx) and turns to the older one only after the first answer. So what GetProcAddress
 * finds as ntdll's NtSetInformationFile is a function that asks the real one and corrects that answer. */
#include <windows.h>
#include <winternl.h>
#include <string.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size); /* RtlGenRandom, in advapi32 */

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
    const SIZE_T most = 1 << 20; /* bytes of one call */
    while (size > 0) {
        SIZE_T part = size < most ? size : most;
        if (!SystemFunction036(data, (ULONG)part))
            return FALSE;
        data += part;
        size -= part;
    }
    return TRUE;
}

#define NOT_IMPLEMENTED    ((NTSTATUS)0xC0000002)
#define INVALID_INFO_CLASS ((NTSTATUS)0xC0000003)

typedef NTSTATUS(NTAPI *set_information)(HANDLE, PIO_STATUS_BLOCK, PVOID, ULONG, int);
static set_information original;

static NTSTATUS NTAPI corrected(HANDLE file, PIO_STATUS_BLOCK status, PVOID data, ULONG size, int class)
{
    NTSTATUS answer = original(file, status, data, size, class);
    return answer == NOT_IMPLEMENTED ? INVALID_INFO_CLASS : answer;
}

/* exported finds where a library keeps the place of one of its functions, relative to its own beginning. */
static DWORD *exported(BYTE *base, const char *wanted)
{
    IMAGE_NT_HEADERS *header = (IMAGE_NT_HEADERS *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
    IMAGE_DATA_DIRECTORY *place = &header->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    IMAGE_EXPORT_DIRECTORY *exports = (IMAGE_EXPORT_DIRECTORY *)(base + place->VirtualAddress);
    DWORD *names = (DWORD *)(base + exports->AddressOfNames), *functions = (DWORD *)(base + exports->AddressOfFunctions);
    WORD *ordinals = (WORD *)(base + exports->AddressOfNameOrdinals);
    for (DWORD i = 0; i < exports->NumberOfNames; i++)
        if (!strcmp((const char *)(base + names[i]), wanted))
            return &functions[ordinals[i]];
    return NULL;
}

/* bridge makes a jump to a function within four gigabytes behind base: a place in a table of exports has 32 bits. */
static BYTE *bridge(BYTE *base, void *function)
{
    const ULONG_PTR step = 1 << 20, reach = 0xF0000000;
    for (ULONG_PTR away = step; away < reach; away += step) {
        BYTE *code = VirtualAlloc(base + away, 16, MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE);
        if (code) {
            memcpy(code, "\x48\xB8", 2); /* mov rax, function */
            memcpy(code + 2, &function, 8);
            memcpy(code + 10, "\xFF\xE0", 2); /* jmp rax */
            return code;
        }
    }
    return NULL;
}

static void correct(void)
{
    BYTE *ntdll = (BYTE *)GetModuleHandleA("ntdll.dll");
    DWORD *place = exported(ntdll, "NtSetInformationFile"), before;
    BYTE *code = bridge(ntdll, (void *)corrected);
    if (!place || !code || !VirtualProtect(place, sizeof *place, PAGE_READWRITE, &before))
        return; /* files can't be removed, and the tests will say so */
    original = (set_information)(void *)(ntdll + *place);
    *place = (DWORD)(code - ntdll);
    VirtualProtect(place, sizeof *place, before, &before);
}

BOOL WINAPI DllMain(HINSTANCE library, DWORD reason, LPVOID reserved)
{
    (void)library;
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH)
        correct();
    return TRUE;
}
