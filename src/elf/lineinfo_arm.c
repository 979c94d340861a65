/* Reads the sections that only images for Arm have: unwind tables and build attributes. */
#include <gelf.h>
#include <string.h>

#include "elf/lineinfo_internal.h"

enum { TAG_FILE = 1, TAG_RAW_NAME = 4, TAG_NAME = 5, TAG_PROFILE = 7, TAG_COMPATIBILITY = 32 };

struct attributes {
    const uint8_t *at, *end;
};

static uint64_t read_uleb(struct attributes *a) {
    uint64_t value = 0;
    for (unsigned shift = 0; a->at < a->end && shift < 64; shift += 7) {
        value |= (uint64_t)(*a->at & 0x7f) << shift;
        if (!(*a->at++ & 0x80))
            break;
    }
    return value;
}

static void skip_string(struct attributes *a) {
    const uint8_t *nul = memchr(a->at, 0, (size_t)(a->end - a->at));
    a->at = nul ? nul + 1 : a->end;
}

/* Tags tell which values are strings (Addenda to the ABI for the Arm Architecture, 2.2). */
static bool profile_is_m(struct attributes a) {
    while (a.at < a.end) {
        uint64_t tag = read_uleb(&a);
        if (tag == TAG_RAW_NAME || tag == TAG_NAME || (tag > TAG_COMPATIBILITY && tag & 1)) {
            skip_string(&a);
            continue;
        }
        uint64_t value = read_uleb(&a);
        if (tag == TAG_PROFILE)
            return value == 'M';
        if (tag == TAG_COMPATIBILITY)
            skip_string(&a);
    }
    return false;
}

/* The section is 'A' and a vendor's part: length, name, then a subsection for the whole file. */
static bool attributes_are_m(const Elf_Data *data) {
    static const char vendor[] = "aeabi";
    enum { HEAD = 5, FILE_HEAD = 5 };
    const uint8_t *at = data->d_buf;
    size_t first = HEAD + sizeof vendor;
    if (!at || data->d_size < first + FILE_HEAD || at[0] != 'A' ||
        memcmp(at + HEAD, vendor, sizeof vendor) != 0 || at[first] != TAG_FILE)
        return false;
    return profile_is_m((struct attributes){at + first + FILE_HEAD, at + data->d_size});
}

void lineinfo_read_arm(struct lineinfo *info, Elf *elf) {
    for (Elf_Scn *s = NULL; info->machine == EM_ARM && (s = elf_nextscn(elf, s));) {
        GElf_Shdr h;
        if (!gelf_getshdr(s, &h))
            continue;
        Elf_Data *data = h.sh_type == SHT_ARM_ATTRIBUTES ? elf_rawdata(s, NULL) : NULL;
        if (data)
            info->is_m_profile = attributes_are_m(data);
        if (h.sh_type == SHT_ARM_EXIDX && h.sh_addr + h.sh_size > h.sh_addr)
            info->exidx = (struct span){h.sh_addr, h.sh_addr + h.sh_size};
    }
}

struct span lineinfo_exidx(const struct lineinfo *info) {
    return info->exidx;
}
bool lineinfo_is_m_profile(const struct lineinfo *info) { return info->is_m_profile; }
