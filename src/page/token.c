/* See token.h. */
#include "page/token.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/mem.h"

void token_make(char ret[TOKEN_ROOM]) {
    unsigned char bytes[TOKEN_BYTES];
    for (size_t done = 0; done < sizeof bytes;) {
        ssize_t n = getrandom(bytes + done, sizeof bytes - done, 0);
        done += n > 0 ? (size_t)n : 0;
    }
    for (int i = 0; i < TOKEN_BYTES; i++)
        sprintf(ret + 2 * i, "%02x", bytes[i]);
}

bool token_is(const char token[TOKEN_ROOM], const char *given) {
    volatile unsigned char different = 0;
    if (!given || strlen(given) != TOKEN_ROOM - 1)
        return false;
    for (int i = 0; i < TOKEN_ROOM - 1; i++)
        different |= (unsigned char)(token[i] ^ given[i]);
    return !different;
}

bool host_is_local(const char *host) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) != 0)
            continue;
        const char *port = host + length;
        if (!*port || (*port == ':' && port[1] && port[1 + strspn(port + 1, "0123456789")] == '\0'))
            return true;
    }
    return false;
}

bool origin_is_local(const char *origin) {
    static const char scheme[] = "http://";
    return !origin || (strncasecmp(origin, scheme, sizeof scheme - 1) == 0 &&
                       host_is_local(origin + sizeof scheme - 1));
}
