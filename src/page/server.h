/* The HTTP server of the page, on this machine only. */
#pragma once

#include "page/shown.h"
#include "page/token.h"

struct server;

/* Listens at PORT of 127.0.0.1; 0: at any free one. OTHER may be NULL. Errors: "port", "listen". */
int server_start(struct shown *shown, struct shown *other, unsigned port, struct server **ret,
                 struct err *err);
unsigned server_port(const struct server *s);
const char *server_token(const struct server *s);
