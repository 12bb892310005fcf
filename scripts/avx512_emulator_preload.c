/* Loaded before the emulator's library, for two things that its build for glibc 2.28 and later gets wrong:
   it asks for two functions that came with glibc 2.38, and its number for Tiger Lake has become Cannon Lake's,
   which lacks VBMI2. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return strtoull(text, end, base); }

int __isoc23_sscanf(const char *text, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int count = vsscanf(text, format, values);
    va_end(values);
    return count;
}

/* create_corei3_cnl_cpuid(BX_CPU_C *) */
void *_Z23create_corei3_cnl_cpuidP8BX_CPU_C(void *cpu) {
    Dl_info caller;
    void *(*tigerlake)(void *) = NULL;
    if (dladdr(__builtin_return_address(0), &caller)) {
        void *library = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (library) tigerlake = (void *(*)(void *))dlsym(library, "_Z22create_tigerlake_cpuidP8BX_CPU_C");
    }
    if (!tigerlake) {
        fputs("emulator: the library has no Tiger Lake model\n", stderr);
        abort();
    }
    return tigerlake(cpu);
}
