/* Loaded before the emulator's library (bochscpu-python 0.4.0), to mend four things in it:
   - it asks for two functions that came with glibc 2.38;
   - its number for Tiger Lake has become Cannon Lake's, which lacks VBMI2;
   - VPEXPANDB and VPEXPANDW with an operand in memory mask what they load before they expand it, where the operand is
     contiguous (mended in later versions of Bochs);
   - VPCOMPRESSB and VPCOMPRESSW with a mask of nothing but ones write nothing: a shift by the full width is taken for a
     shift by nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return strtoull(text, end, base); }

int __isoc23_sscanf(const char *text, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int count = vsscanf(text, format, values);
    va_end(values);
    return count;
}

static void *find(void *library, const char *name) {
    void *address = library ? dlsym(library, name) : NULL;
    if (!address) {
        fprintf(stderr, "emulator: the library has no %s\n", name);
        abort();
    }
    return address;
}

/* In the table of instructions, each row of which starts with the functions for an operand in memory and in a register:
   where `instruction` is the second and `masked` the first, the first becomes `whole`. */
static void load_whole_operand(void **table, size_t words, void *instruction, void *masked, void *whole) {
    for (size_t word = 2; word < words; word++)
        if (table[word] == instruction)
            for (size_t back = 1; back <= 2; back++)
                if (table[word - back] == masked) table[word - back] = whole;
}

/* Replaces `from` by `to`, both `len` bytes, in the code of `function`. */
static void patch(void *library, const char *function, const char *from, const char *to, size_t len) {
    char *code = find(library, function);
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    char *at = NULL;
    if (dladdr1(code, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol) at = memmem(code, symbol->st_size, from, len);
    if (!at) {
        fprintf(stderr, "emulator: %s is not as expected\n", function);
        abort();
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *start = (char *)((size_t)at & -page);
    mprotect(start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(at, to, len);
    mprotect(start, 2 * page, PROT_READ | PROT_EXEC);
}

/* create_corei3_cnl_cpuid(BX_CPU_C *), called as the processor is made */
void *_Z23create_corei3_cnl_cpuidP8BX_CPU_C(void *cpu) {
    Dl_info caller, info;
    ElfW(Sym) *symbol = NULL;
    dladdr(__builtin_return_address(0), &caller);
    void *library = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);

    void **table = find(library, "BxOpcodesTable");
    void *whole = find(library, "_ZN8BX_CPU_C11LOAD_VectorEP15bxInstruction_c");
    if (dladdr1(table, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol) {
        size_t words = symbol->st_size / sizeof *table;
        load_whole_operand(table, words, find(library, "_ZN8BX_CPU_C22VPEXPANDB_MASK_VdqWdqREP15bxInstruction_c"),
                           find(library, "_ZN8BX_CPU_C17LOAD_MASK_VectorBEP15bxInstruction_c"), whole);
        load_whole_operand(table, words, find(library, "_ZN8BX_CPU_C22VPEXPANDW_MASK_VdqWdqREP15bxInstruction_c"),
                           find(library, "_ZN8BX_CPU_C17LOAD_MASK_VectorWEP15bxInstruction_c"), whole);
    }
    /* mov $1, %eax; shl %cl, %eax; sub $1, %eax   becomes   mov $-1, %eax; bzhi %ecx, %eax, %eax   and so with 64 bits. */
    patch(library, "_ZN8BX_CPU_C23VPCOMPRESSW_MASK_WdqVdqEP15bxInstruction_c",
          "\xb8\x01\x00\x00\x00\xd3\xe0\x83\xe8\x01", "\xb8\xff\xff\xff\xff\xc4\xe2\x70\xf5\xc0", 10);
    patch(library, "_ZN8BX_CPU_C23VPCOMPRESSB_MASK_WdqVdqEP15bxInstruction_c",
          "\xb8\x01\x00\x00\x00\x48\xd3\xe0\x48\x83\xe8\x01", "\x48\xc7\xc0\xff\xff\xff\xff\xc4\xe2\xf0\xf5\xc0", 12);

    void *(*tigerlake)(void *) = (void *(*)(void *))find(library, "_Z22create_tigerlake_cpuidP8BX_CPU_C");
    return tigerlake(cpu);
}
