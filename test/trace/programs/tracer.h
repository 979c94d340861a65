/*
 * Stops and continues the program's tracer, with all its threads, so that the ring fills up
 * (registers.c). Each program includes this file once.
 */
#pragma once

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pid_t tracer(void) {
    char line[256];
    pid_t pid = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "TracerPid: %d", &pid) != 1)
        ;
    if (status)
        fclose(status);
    return pid;
}

/* A killed thread counts as stopped. */
static bool all_stopped(pid_t pid) {
    char name[300], state = '?';
    snprintf(name, sizeof name, "/proc/%d/task", pid);
    DIR *tasks = opendir(name);
    bool stopped = true;
    for (struct dirent *entry; tasks && stopped && (entry = readdir(tasks));) {
        snprintf(name, sizeof name, "/proc/%d/task/%s/stat", pid, entry->d_name);
        FILE *stat = entry->d_name[0] != '.' ? fopen(name, "re") : NULL;
        if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1)
            stopped = strchr("TZX", state) != NULL;
        if (stat)
            fclose(stat);
    }
    if (tasks)
        closedir(tasks);
    return stopped;
}

/* Stops the tracer; returns its process id, or 0 if no process traces this one. */
static pid_t stop_tracer(void) {
    pid_t pid = tracer();
    do {
        if (!pid || kill(pid, SIGSTOP) != 0)
            return 0;
        sched_yield();
    } while (!all_stopped(pid));
    return pid;
}
