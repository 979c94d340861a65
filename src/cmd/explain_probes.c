/* The USDT probes of a file, in spoor explain. */
#include <stdio.h>

#include "cmd/explain.h"
#include "cmd/figures.h"
#include "elf/probes.h"

static void print_probe(const struct subject *s, const struct probe *p) {
    AUTO_FREE char *text = mem_printf("%s(%s)", p->name, p->arguments);
    printf("%12jx %8s  %-5s %-22s ", (uintmax_t)p->addr, "probe",
           tier_name(plan_probe_tier(s->plan, p->addr)), p->semaphore ? "counter" : "");
    text_print(stdout, text);
    printf("\n");
}

void explain_probes(const struct subject *s) {
    struct probes probes;
    struct err err;
    if (probes_read(s->module, &probes, &err) < 0) {
        text_print(stdout, err.text);
        printf("\n\n");
        return;
    }
    for (size_t i = 0; i < probes.count; i++)
        print_probe(s, &probes.at[i]);
    if (probes.count)
        printf("\n");
    probes_done(&probes);
}
