/*
 * See source_md5.h. libdw has no call for it, so the head of the table of lines is read here. The
 * order of its files is that of libdw's.
 */
#include "elf/source_md5.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "elf/cursor.h"
#include "elf/lineinfo_internal.h"

enum {
    WIDE = 0xffffffff, /* unit_length: a length of eight bytes follows */
    DWARF5 = 5,
    MOST_FIELDS = 255, /* of an entry: their number is one byte */
};

struct format { /* of the entries of one list */
    struct field {
        uint64_t content, form;
    } fields[MOST_FIELDS];
    unsigned count;
};

static void read_format(struct cursor *c, struct format *ret) {
    ret->count = cursor_u8(c);
    for (unsigned i = 0; i < ret->count; i++) {
        uint64_t content = cursor_uleb(c);
        ret->fields[i] = (struct field){content, cursor_uleb(c)};
    }
}

/* Bytes of a value of FORM, in front of which *C stands. */
static uint64_t size_of(struct cursor *c, uint64_t form, unsigned offset_bytes) {
    switch (form) {
    case DW_FORM_line_strp:
    case DW_FORM_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
        return offset_bytes;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_strx2:
        return 2;
    case DW_FORM_strx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_strx4:
        return 4;
    case DW_FORM_data8:
        return 8;
    case DW_FORM_data16:
        return MD5_BYTES;
    case DW_FORM_block:
        return cursor_uleb(c);
    case DW_FORM_block1:
        return cursor_u8(c);
    case DW_FORM_block2:
        return cursor_u16(c);
    case DW_FORM_block4:
        return cursor_u32(c);
    default:
        return UINT64_MAX; /* more than there is: the table is not read further */
    }
}

/* Reads an entry. Returns its MD5, or NULL. */
static const uint8_t *read_entry(struct cursor *c, const struct format *f, unsigned offset_bytes) {
    const uint8_t *found = NULL;
    for (unsigned i = 0; i < f->count && !c->failed; i++) {
        const struct field *field = &f->fields[i];
        if (field->form == DW_FORM_string) {
            cursor_string(c);
        } else if (field->form == DW_FORM_udata || field->form == DW_FORM_strx) {
            cursor_uleb(c);
        } else {
            uint64_t size = size_of(c, field->form, offset_bytes);
            const uint8_t *value = cursor_take(c, size);
            if (field->content == DW_LNCT_MD5 && field->form == DW_FORM_data16)
                found = value;
        }
    }
    return found;
}

/* Leaves out what stands before the lists. Returns the size of offsets; 0: it is no DWARF 5. */
static unsigned read_head(struct cursor *c) {
    enum { ADDRESS_AND_SEGMENT = 2, OPCODES_AT = 5 };
    unsigned offset_bytes = 4;
    uint64_t length = cursor_u32(c);
    if (length == WIDE) {
        offset_bytes = 8;
        length = cursor_u64(c);
    }
    if (length < cursor_left(c))
        c->end = c->at + length;
    if (cursor_u16(c) != DWARF5)
        return 0;
    cursor_take(c, ADDRESS_AND_SEGMENT + offset_bytes + OPCODES_AT);
    uint8_t opcodes = cursor_u8(c);
    cursor_take(c, opcodes ? opcodes - 1U : 0);
    return offset_bytes;
}

bool source_md5_of_table(const uint8_t *bytes, size_t size, uint64_t index,
                         uint8_t ret[MD5_BYTES]) {
    struct cursor c = cursor_over(bytes, size, 0);
    struct format f;
    const uint8_t *found = NULL;
    unsigned offset_bytes = read_head(&c);
    if (!offset_bytes)
        return false;
    read_format(&c, &f); /* of directories */
    for (uint64_t left = cursor_uleb(&c); left && f.count && !c.failed; left--)
        read_entry(&c, &f, offset_bytes);
    read_format(&c, &f);
    if (index >= cursor_uleb(&c))
        return false;
    for (uint64_t i = 0; i <= index && f.count && !c.failed; i++)
        found = read_entry(&c, &f, offset_bytes);
    if (c.failed || !found)
        return false;
    memcpy(ret, found, MD5_BYTES);
    return true;
}

static Elf_Data *lines_section(Elf *elf) {
    size_t names;
    if (!elf || elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
        GElf_Shdr h;
        const char *name = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        if (!name || strcmp(name, ".debug_line") != 0)
            continue;
        if (h.sh_flags & SHF_COMPRESSED) /* libdw unpacks those that it reads, on most systems */
            elf_compress(s, 0, 0);
        return elf_getdata(s, NULL);
    }
    return NULL;
}

/* FILE's MD5 in the table of UNIT. */
static bool find(const struct lineinfo *info, Dwarf_Die *unit, const char *file,
                 uint8_t ret[MD5_BYTES]) {
    Dwarf_Attribute attribute;
    Dwarf_Word at;
    Dwarf_Files *files;
    size_t count;
    Elf_Data *data = lines_section(dwarf_getelf(info->dwarf));
    if (!data || !data->d_buf || dwarf_getsrcfiles(unit, &files, &count) < 0 ||
        dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &at) < 0 ||
        at >= data->d_size)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *name = dwarf_filesrc(files, i, NULL, NULL);
        if (name && strcmp(name, file) == 0)
            return source_md5_of_table((const uint8_t *)data->d_buf + at, data->d_size - at, i,
                                       ret);
    }
    return false;
}

bool source_md5(const char *path, struct build_id id, vaddr_t addr, const char *file,
                uint8_t ret[MD5_BYTES]) {
    struct lineinfo *info;
    Dwarf_Die unit;
    if (lineinfo_open_local(path, &info, NULL) < 0)
        return false;
    bool found = info->dwarf && lineinfo_has_id(info, id.bytes, id.size) &&
                 lineinfo_unit(info, addr, &unit) && find(info, &unit, file, ret);
    lineinfo_close(info);
    return found;
}
