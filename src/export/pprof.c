/*
 * The format of pprof (github.com/google/pprof, proto/profile.proto): a sample for each call path,
 * with the number of its calls and their self time. Each function is one location, at its address
 * in its file; each module is a mapping of that file at address 0.
 *
 * All fields of a profile are lists, so it is written piece by piece: a string or function stands
 * before the first sample that needs it.
 */
#include <stdio.h>

#include "export/gzip.h"
#include "export/paths.h"
#include "export/protobuf.h"

/* Fields, after the name of their message. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_SAMPLE_TYPE = 14,
    VALUE_TYPE = 1,
    VALUE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    MAPPING_ID = 1,
    MAPPING_LIMIT = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
    MAPPING_HAS_FUNCTIONS = 7,
    MAPPING_HAS_FILES = 8,
    MAPPING_HAS_LINES = 9,
    LOCATION_ID = 1,
    LOCATION_MAPPING = 2,
    LOCATION_ADDRESS = 3,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_NUMBER = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4,
    FUNCTION_LINE = 5
};

struct pprof {
    struct export_paths paths;
    struct gzip gzip;
    struct proto proto;
    uint64_t strings;            /* so far */
    uint8_t *written;            /* by function */
    ARRAY(const char *) modules; /* of places that NAMES does not know */
};

/* ---- parts ---- */

static void flush(struct pprof *p) {
    gzip_write(&p->gzip, p->proto.bytes.at, p->proto.bytes.count);
    p->proto.bytes.count = 0;
}

/* Returns the string's number. Not inside of a message. */
static uint64_t add_string(struct pprof *p, const char *text) {
    proto_text(&p->proto, PROFILE_STRING, text);
    return p->strings++;
}

static uint64_t add_type(struct pprof *p, unsigned field, const char *type, const char *unit) {
    uint64_t type_string = add_string(p, type), unit_string = add_string(p, unit);
    size_t begin = proto_begin(&p->proto, field);
    proto_uint(&p->proto, VALUE_TYPE, type_string);
    proto_uint(&p->proto, VALUE_UNIT, unit_string);
    proto_end(&p->proto, begin);
    return type_string;
}

/* `pprof -comments` prints it. */
static void write_losses(struct pprof *p) {
    AUTO_FREE char *losses = export_paths_losses(&p->paths);
    if (losses)
        proto_uint(&p->proto, PROFILE_COMMENT, add_string(p, losses));
}

static void write_head(struct pprof *p) {
    const struct trace_reader *r = p->paths.view->source.reader;
    add_string(p, "");
    add_type(p, PROFILE_SAMPLE_TYPE, "calls", "count");
    uint64_t time = add_type(p, PROFILE_SAMPLE_TYPE, "time", "nanoseconds");
    add_type(p, PROFILE_PERIOD_TYPE, "time", "nanoseconds");
    proto_uint(&p->proto, PROFILE_PERIOD, 1);
    proto_uint(&p->proto, PROFILE_DEFAULT_SAMPLE_TYPE, time);
    proto_uint(&p->proto, PROFILE_TIME_NANOS, trace_reader_session(r)->start_unix_ns);
    proto_uint(&p->proto, PROFILE_DURATION_NANOS, trace_reader_duration_ns(r));
    write_losses(p);
}

/* MODULE is NULL if only its name is known. */
static void write_mapping(struct pprof *p, uint64_t number, const char *path,
                          const struct trace_module *module) {
    char id[2 * sizeof module->build_id + 1] = "";
    uint64_t limit = 0;
    for (uint32_t i = 0; module && i < module->build_id_size; i++)
        sprintf(id + 2 * i, "%02x", module->build_id[i]);
    for (uint32_t i = 0; module && i < module->function_count; i++)
        if (module->functions[i].address + module->functions[i].size > limit)
            limit = module->functions[i].address + module->functions[i].size;
    uint64_t file = add_string(p, path), build_id = add_string(p, id);
    size_t begin = proto_begin(&p->proto, PROFILE_MAPPING);
    proto_uint(&p->proto, MAPPING_ID, number);
    proto_uint(&p->proto, MAPPING_LIMIT, limit);
    proto_uint(&p->proto, MAPPING_FILE, file);
    proto_uint(&p->proto, MAPPING_BUILD_ID, build_id);
    for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_LINES; field++)
        proto_uint(&p->proto, field, 1); /* the reader is not to look for more */
    proto_end(&p->proto, begin);
}

/* The modules of the trace, in its order: the first one is the program. */
static void write_mappings(struct pprof *p) {
    const struct trace_reader *r = p->paths.view->source.reader;
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        write_mapping(p, i + 1, *m->path ? m->path : m->name, m);
    }
}

/* ---- functions ---- */

/* The mapping of FUNCTION; 0: none. */
static uint64_t mapping_of(struct pprof *p, uint32_t function) {
    const struct names *names = p->paths.view->source.names;
    size_t known = trace_reader_module_count(p->paths.view->source.reader);
    if (function >= export_unknown(&p->paths))
        return 0;
    if (function < names_count(names)) {
        uint32_t module = names_module(names, function);
        return module < known ? module + 1 : 0;
    }
    const char *name = places_module(p->paths.places, function);
    size_t i = 0;
    while (i < p->modules.count && strcmp(p->modules.at[i], name) != 0)
        i++;
    if (i == p->modules.count) {
        ARRAY_PUSH(&p->modules, name);
        write_mapping(p, known + i + 1, name, NULL);
    }
    return known + i + 1;
}

static const char *name_of(struct pprof *p, uint32_t function) {
    if (function == export_unknown(&p->paths))
        return EXPORT_UNKNOWN;
    return function == export_deeper(&p->paths) ? EXPORT_DEEPER
                                                : places_function(p->paths.places, function);
}

static void write_location(struct pprof *p, uint32_t function, uint64_t mapping, unsigned line) {
    const struct names *names = p->paths.view->source.names;
    size_t begin = proto_begin(&p->proto, PROFILE_LOCATION);
    proto_uint(&p->proto, LOCATION_ID, function + 1);
    proto_uint(&p->proto, LOCATION_MAPPING, mapping);
    if (function < names_count(names))
        proto_uint(&p->proto, LOCATION_ADDRESS, names_address(names, function));
    size_t inner = proto_begin(&p->proto, LOCATION_LINE);
    proto_uint(&p->proto, LINE_FUNCTION, function + 1);
    proto_uint(&p->proto, LINE_NUMBER, line);
    proto_end(&p->proto, inner);
    proto_end(&p->proto, begin);
}

/* Writes what a sample says of FUNCTION, unless that was done. */
static void write_function(struct pprof *p, uint32_t function) {
    struct names *names = p->paths.view->source.names;
    struct source_line source = {0};
    if (p->written[function])
        return;
    p->written[function] = 1;
    if (function < names_count(names))
        source = names_source(names, function);
    bool placed = function < export_unknown(&p->paths);
    const char *symbol = placed ? places_symbol(p->paths.places, function) : NULL;
    const char *readable = name_of(p, function);
    uint64_t mapping = mapping_of(p, function);
    uint64_t name = add_string(p, readable);
    uint64_t system = add_string(p, symbol ? symbol : readable);
    uint64_t file = add_string(p, source.file ? source.file : "");
    size_t begin = proto_begin(&p->proto, PROFILE_FUNCTION);
    proto_uint(&p->proto, FUNCTION_ID, function + 1);
    proto_uint(&p->proto, FUNCTION_NAME, name);
    proto_uint(&p->proto, FUNCTION_SYSTEM_NAME, system);
    proto_uint(&p->proto, FUNCTION_FILE, file);
    proto_uint(&p->proto, FUNCTION_LINE, source.line);
    proto_end(&p->proto, begin);
    write_location(p, function, mapping, source.line);
}

/* ---- samples ---- */

struct label {
    uint64_t key, text; /* strings */
};

/* LABEL may be NULL. */
static void write_sample(struct pprof *p, const struct tree *tree, uint32_t node,
                         const struct label *label) {
    const struct tree_node *nodes = tree->nodes;
    for (uint32_t i = node; i; i = nodes[i].parent)
        write_function(p, nodes[i].function);
    size_t begin = proto_begin(&p->proto, PROFILE_SAMPLE);
    size_t inner = proto_begin(&p->proto, SAMPLE_LOCATION);
    for (uint32_t i = node; i; i = nodes[i].parent)
        proto_number(&p->proto, nodes[i].function + 1);
    proto_end(&p->proto, inner);
    inner = proto_begin(&p->proto, SAMPLE_VALUE);
    proto_number(&p->proto, nodes[node].calls);
    proto_number(&p->proto, nodes[node].self_ns);
    proto_end(&p->proto, inner);
    if (label) {
        inner = proto_begin(&p->proto, SAMPLE_LABEL);
        proto_uint(&p->proto, LABEL_KEY, label->key);
        proto_uint(&p->proto, LABEL_TEXT, label->text);
        proto_end(&p->proto, inner);
    }
    proto_end(&p->proto, begin);
    flush(p);
}

/* If there are several programs, their samples are labelled. */
static void write_program(struct pprof *p, size_t program, const struct out *out) {
    struct export_program *at = &p->paths.programs.at[program];
    struct label label;
    bool several = p->paths.programs.count > 1;
    export_paths_cut(&p->paths, at, NULL);
    if (several)
        label = (struct label){add_string(p, "process"), add_string(p, at->command)};
    for (uint32_t i = 1; i < at->tree.count && !out->error; i++)
        if (at->tree.nodes[i].calls || at->tree.nodes[i].self_ns)
            write_sample(p, &at->tree, i, several ? &label : NULL);
}

void export_pprof(const struct view *view, struct out *out) {
    struct pprof p = {0};
    export_paths_read(&p.paths, view, out);
    p.written = mem_alloc(export_deeper(&p.paths) + 1);
    gzip_begin(&p.gzip, out);
    write_head(&p);
    write_mappings(&p);
    flush(&p);
    for (size_t i = 0; i < p.paths.programs.count; i++)
        write_program(&p, i, out);
    gzip_end(&p.gzip);
    proto_done(&p.proto);
    ARRAY_FREE(&p.modules);
    free(p.written);
    export_paths_done(&p.paths);
}
