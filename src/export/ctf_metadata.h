/* The metadata of spoor's CTF traces: their description in TSDL (diamon.org/ctf, version 1.8). */
#pragma once

#include "analyze/names.h"
#include "export/ctf_stream.h"

/* Types of events. Functions are LTTng-UST's (lttng-ust-cyg-profile(3)), with further fields. */
enum ctf_event_id {
    CTF_ENTRY,       /* address, call site (8 bytes each), function (4), 1 if it was open before */
    CTF_EXIT,        /* address, call site, function, enum ctf_end (1) */
    CTF_CALL_PAUSED, /* before CTF_EXIT: nanoseconds in which the call stood still */
    CTF_PAUSE,       /* nanoseconds until now, cause (text) */
    CTF_LOST,        /* number of events */
    CTF_CHANGE,      /* nanoseconds from now on (a pause), what (text) */
    CTF_MARK         /* number of the place (4), as of functions */
};
enum ctf_end { CTF_RETURNED, CTF_TAIL, CTF_UNWOUND, CTF_INFERRED, CTF_CUT, CTF_OPEN };

struct ctf_description {
    const struct trace_session *session;
    struct names *names;
    const uint8_t *used; /* by function: 1 if it has events */
    bool has_values;     /* behind the fields of calls: a text of their values */
};

/* The text; *RET_LENGTH its length. To be freed. */
char *ctf_metadata(const struct ctf_description *d, const uint8_t uuid[CTF_UUID],
                   size_t *ret_length);
