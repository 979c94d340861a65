/* What single calls were given and have returned, as replay shows it. */
#pragma once

#include "page/shown.h"

struct value_texts { /* to be freed by value_texts_done() */
    char *arguments; /* "i=3, s=\"x\""; NULL: none were recorded */
    char *result;    /* "{id=3}" */
};
/* Reads them from the trace. */
void value_texts_of(struct shown *s, const struct summary_call *call, struct value_texts *ret);
/* The arguments of a probe that one mark stands for; NULL: none were recorded. To be freed. */
char *value_texts_of_mark(struct shown *s, const struct summary_mark *mark);
void value_texts_done(struct value_texts *t);

/* A call whose values are wanted, among many others. */
struct valued_call {
    const struct summary_call *call;
    struct value_texts texts;
};
/* The same for COUNT calls, in the order in which the trace is fastest to read, as long as CLIENT
 * waits. */
void value_texts_fill(struct shown *s, struct client *client, struct valued_call *calls,
                      size_t count);

/* The event at which a text was found. */
struct found_value {
    struct call_point point;
    uint32_t function;
};
/* A search for TEXT, in upper or lower case, in the values of all calls, as they are shown. It ends
 * after some time, and goes on with the next call of value_search(). */
struct value_search {
    const char *text;
    bool back; /* the last value is wanted, not the first one */
    const struct summary_range *range;
    struct client *client;
    size_t next;   /* blocks that were read, in the order of the search */
    size_t blocks; /* set: how many there are */
    bool is_over;  /* set: nothing before what was found is left to be read */
};
/* 1: *RET is set, the best one of the blocks that were read by this call; 0: nothing was found. */
int value_search(struct shown *s, struct value_search *search, struct found_value *ret);
