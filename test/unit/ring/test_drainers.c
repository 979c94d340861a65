/* How many drainers there are. */
#include <linux/capability.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../trace/support.h"
#include "arch/clock.h"
#include "recorded.h"
#include "ring/drain.h"

enum { LANES = 40, RING = 4096 };

/* What the calling thread, and threads that it starts, may do. */
static void set_right_to_priority(bool may) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    assert_int_equal(syscall(SYS_capget, &head, caps), 0);
    caps[0].effective &= ~(1U << CAP_SYS_NICE);
    if (may)
        caps[0].effective |= caps[0].permitted & 1U << CAP_SYS_NICE;
    assert_int_equal(syscall(SYS_capset, &head, caps), 0);
}

/* How many there are for LANES lanes, if at most MOST are asked for. */
static unsigned drainers_of(unsigned lanes, enum overflow overflow, unsigned most) {
    const uint32_t slots = slab_lane_count(RING, 0);
    const int fd = memfd_create("lanes", MFD_CLOEXEC), hook_event = eventfd(0, EFD_NONBLOCK);
    struct lane_handle *handles[LANES];
    char *path = scratch_new();
    unsigned count = 0;
    assert_int_equal(ftruncate(fd, (off_t)slab_bytes(RING, slots)), 0);
    struct slab *slab = slab_new(fd, 0x7f0000000000, RING, slots);
    struct drain_options options = {.writer = must_open_writer(path),
                                    .overflow = overflow,
                                    .hook_event = hook_event,
                                    .most = most};
    struct drain *drain;
    assert_int_equal(drain_start(&options, &drain, NULL), 0);
    for (unsigned i = 0; i < lanes; i++) {
        handles[i] = slab_take(slab, i, overflow == OVERFLOW_OVERWRITE);
        assert_non_null(handles[i]);
        recorded_thread(options.writer, i);
        drain_add(drain, handles[i]);
        count = handles[i]->drainer >= count ? handles[i]->drainer + 1 : count;
    }
    for (unsigned i = 0; i < lanes; i++)
        drain_close(drain, handles[i], clock_ticks());
    drain_finish(drain);
    trace_writer_abandon(options.writer);
    slab_unref(slab);
    slabs_reap();
    close(fd);
    close(hook_event);
    scratch_free(path);
    return count;
}

static int forbid(void **state) {
    static struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_RTPRIO, &limit), 0);
    const struct rlimit none = {0, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_RTPRIO, &none), 0);
    set_right_to_priority(false);
    *state = &limit;
    return 0;
}

static int permit(void **state) {
    set_right_to_priority(true);
    return setrlimit(RLIMIT_RTPRIO, *state);
}

static unsigned half_of_processors(void) { return (unsigned)sysconf(_SC_NPROCESSORS_ONLN) / 2; }

static void without_priority_one_for_two_lanes(void **state) {
    (void)state;
    assert_int_equal(drainers_of(LANES, OVERFLOW_WAIT, 0), LANES / 2);
    assert_int_equal(drainers_of(2, OVERFLOW_WAIT, 0), half_of_processors() < 2 ? 1 : 2);
}

static void without_priority_as_many_as_asked_for(void **state) {
    (void)state;
    assert_int_equal(drainers_of(LANES, OVERFLOW_WAIT, 3), 3);
}

static void one_for_rings_that_are_overwritten(void **state) {
    (void)state;
    assert_int_equal(drainers_of(LANES, OVERFLOW_OVERWRITE, 0), 1);
}

static void with_priority_one_for_two_processors(void **state) {
    (void)state;
    const unsigned half = half_of_processors();
    if (geteuid() != 0)
        skip();
    assert_in_range(drainers_of(LANES, OVERFLOW_WAIT, 0), 1, half ? half : 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_priority_one_for_two_lanes, forbid, permit),
        cmocka_unit_test_setup_teardown(without_priority_as_many_as_asked_for, forbid, permit),
        cmocka_unit_test_setup_teardown(one_for_rings_that_are_overwritten, forbid, permit),
        cmocka_unit_test(with_priority_one_for_two_processors),
    };
    return cmocka_run_group_tests_name("ring drainers", tests, NULL, NULL);
}
