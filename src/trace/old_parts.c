/* Finds the parts of an earlier recording in their folder. */
#include "trace/old_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"
#include "trace/records.h"

typedef ARRAY(uint32_t) number_list;

/* Reads the block at *OFFSET, and moves *OFFSET behind it. Returns its payload, to be freed, with
 * DECODE_PADDING. NULL: it is of another type. */
static uint8_t *read_record(int fd, uint64_t *offset, enum disk_type type, struct fields *ret) {
    struct disk_block head;
    if (pread(fd, &head, sizeof head, (off_t)*offset) != sizeof head ||
        head.magic != DISK_BLOCK_MAGIC || head.type != type || head.raw > DISK_RAW_MAX ||
        head.stored > head.raw)
        return NULL;
    AUTO_FREE uint8_t *stored = mem_alloc(head.stored + 1);
    uint8_t *payload = mem_alloc(head.raw + DECODE_PADDING);
    ssize_t n = pread(fd, stored, head.stored, (off_t)(*offset + sizeof head));
    size_t raw = head.stored;
    if (head.coding == DISK_ZSTD)
        raw = ZSTD_decompress(payload, head.raw, stored, n > 0 ? (size_t)n : 0);
    else
        memcpy(payload, stored, head.stored);
    *offset += sizeof head + head.stored;
    *ret = (struct fields){payload, payload + (ZSTD_isError(raw) ? 0 : raw), false};
    return payload;
}

struct part_file part_file_read(const char *path) {
    struct part_file ret = {0};
    struct trace_session session = {0};
    struct trace_part part = {0};
    uint64_t offset = sizeof(struct disk_header);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return ret;
    struct fields f;
    AUTO_FREE uint8_t *first = read_record(fd, &offset, DISK_SESSION, &f);
    if (first && fields_session(&f, &session))
        ret.session = session.start_unix_ns;
    AUTO_FREE uint8_t *second = first ? read_record(fd, &offset, DISK_PART, &f) : NULL;
    if (second && fields_part(&f, &part))
        ret.number = part.number;
    free((void *)session.command);
    free((void *)part.before);
    return ret;
}

/* The N of all files NAME.N that are parts. */
static number_list parts_of(const char *name) {
    number_list list = {0};
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    AUTO_FREE char *folder =
        slash ? mem_printf("%.*s/", (int)(slash - name), name) : mem_strdup(".");
    size_t length = strlen(base);
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        unsigned number;
        int end = 0;
        if (strncmp(e->d_name, base, length) || e->d_name[length] != '.' ||
            !isdigit((unsigned char)e->d_name[length + 1]) ||
            sscanf(e->d_name + length + 1, "%9u%n", &number, &end) != 1 ||
            e->d_name[length + 1 + (size_t)end])
            continue;
        AUTO_FREE char *path = mem_printf("%s.%u", name, number);
        if (part_file_read(path).number)
            ARRAY_PUSH(&list, number);
    }
    if (dir)
        closedir(dir);
    return list;
}

void old_parts_keep(const char *name, const char *old) {
    number_list parts = parts_of(name);
    if (parts.count || access(name, F_OK) == 0) {
        number_list older = parts_of(old);
        for (size_t i = 0; i < older.count; i++) {
            AUTO_FREE char *path = mem_printf("%s.%u", old, older.at[i]);
            unlink(path);
        }
        ARRAY_FREE(&older);
    }
    for (size_t i = 0; i < parts.count; i++) {
        AUTO_FREE char *from = mem_printf("%s.%u", name, parts.at[i]);
        AUTO_FREE char *to = mem_printf("%s.%u", old, parts.at[i]);
        int rc = rename(from, to);
        (void)rc;
    }
    ARRAY_FREE(&parts);
}
