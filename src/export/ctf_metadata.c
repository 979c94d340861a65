/* See ctf_metadata.h. Trace Compass shows call stacks if the environment is LTTng-UST's, events
 * have its names, and their context has vtid and procname. */
#include "export/ctf_metadata.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/utf8.h"

/* Prints TEXT as a string literal. */
static void print_string(FILE *f, const char *text) {
    AUTO_FREE char *repaired = utf8_repair(text);
    putc('"', f);
    for (const char *p = repaired; *p; p++) {
        if (*p == '"' || *p == '\\')
            putc('\\', f);
        putc((unsigned char)*p < 0x20 ? '?' : *p, f);
    }
    putc('"', f);
}

static void print_types(FILE *f) {
    fputs("/* CTF 1.8 */\n\n", f);
    for (unsigned bits = 8; bits <= 64; bits *= 2)
        fprintf(f, "typealias integer { size = %u; align = 8; signed = false; } := uint%u_t;\n",
                bits, bits);
    fputs("typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
          "typealias integer { size = 64; align = 8; signed = false; base = 16; } := address_t;\n"
          "typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n",
          f);
}

static void print_trace(FILE *f, const uint8_t uuid[CTF_UUID]) {
    fputs("\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", f);
    for (int i = 0; i < CTF_UUID; i++)
        fprintf(f, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    fputs("\";\n\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n"
          "\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n",
          f);
}

static void print_environment(FILE *f, const struct trace_session *s) {
    fputs("\nenv {\n\tdomain = \"ust\";\n\ttracer_name = \"lttng-ust\";\n\ttracer_major = 2;\n"
          "\ttracer_minor = 13;\n\trecorder = \"spoor\";\n\trecorder_version = ",
          f);
    print_string(f, s->version);
    fprintf(
        f, ";\n};\n\nclock {\n\tname = \"monotonic\";\n\tfreq = 1000000000;\n\toffset = %ju;\n};\n",
        (uintmax_t)s->start_unix_ns);
    for (unsigned bits = 27; bits <= 64; bits += 64 - 27)
        fprintf(f,
                "typealias integer { size = %u; align = %u; signed = false; "
                "map = clock.monotonic.value; } := uint%u_clock_t;\n",
                bits, bits == 27 ? 1 : 8, bits);
}

static void print_stream(FILE *f) {
    fputs("\nstruct event_header {\n"
          "\tenum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
          "\tvariant <id> {\n"
          "\t\tstruct {\n\t\t\tuint27_clock_t timestamp;\n\t\t} compact;\n"
          "\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_t timestamp;\n\t\t} extended;\n"
          "\t} v;\n} align(8);\n"
          "\nstream {\n\tid = 0;\n\tevent.header := struct event_header;\n"
          "\tpacket.context := struct {\n"
          "\t\tuint64_clock_t timestamp_begin;\n\t\tuint64_clock_t timestamp_end;\n"
          "\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
          "\t\tuint64_t events_discarded;\n\t};\n"
          "\tevent.context := struct {\n"
          "\t\tint32_t _vpid;\n\t\tint32_t _vtid;\n\t\tstring _procname;\n\t};\n};\n",
          f);
}

/* The names of functions, by number. */
static void print_functions(FILE *f, const struct ctf_description *d) {
    fputs("\nenum function : uint32_t {\n", f);
    for (uint32_t i = 0; i < names_count(d->names); i++) {
        if (!d->used[i])
            continue;
        putc('\t', f);
        print_string(f, names_function(d->names, i));
        fprintf(f, " = %u,\n", i);
    }
    fprintf(f, "\t\"[none]\" = %u\n};\n", UINT32_MAX);
}

#define NO_OR_YES "enum : uint8_t { no = 0, yes = 1 }"

static void print_events(FILE *f, const struct ctf_description *d) {
    static const struct {
        const char *name, *fields, *values;
    } events[] = {
        [CTF_ENTRY] = {"lttng_ust_cyg_profile:func_entry",
                       "address_t _addr; address_t _call_site; enum function _function; "
                       "enum : uint8_t { traced = 0, before = 1 } _began;",
                       " string _args;"},
        [CTF_EXIT] = {"lttng_ust_cyg_profile:func_exit",
                      "address_t _addr; address_t _call_site; enum function _function; "
                      "enum : uint8_t { returned = 0, tail = 1, unwound = 2, inferred = 3, "
                      "cut = 4, open = 5 } _how; " NO_OR_YES " _clipped;",
                      " string _ret;"},
        [CTF_CALL_PAUSED] = {"spoor:call_paused", "uint64_t _paused_ns;", NULL},
        [CTF_PAUSE] = {"spoor:pause", "uint64_t _paused_ns; string _cause; " NO_OR_YES " _in_call;",
                       NULL},
        [CTF_LOST] = {"spoor:lost", "uint64_t _count;", NULL},
        [CTF_CHANGE] = {"spoor:change", "uint64_t _duration_ns; string _what;", NULL},
        [CTF_MARK] = {"spoor:mark", "enum function _mark;", " string _args;"},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        fprintf(
            f,
            "\nevent {\n\tname = \"%s\";\n\tid = %zu;\n\tstream_id = 0;\n\tfields := struct { %s%s "
            "};\n};\n",
            events[i].name, i, events[i].fields,
            d->has_values && events[i].values ? events[i].values : "");
}

char *ctf_metadata(const struct ctf_description *d, const uint8_t uuid[CTF_UUID],
                   size_t *ret_length) {
    char *text = NULL;
    FILE *f = open_memstream(&text, ret_length);
    print_types(f);
    print_trace(f, uuid);
    print_environment(f, d->session);
    print_stream(f);
    print_functions(f, d);
    print_events(f, d);
    fclose(f);
    return text;
}
