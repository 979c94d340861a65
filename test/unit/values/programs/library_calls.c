#include <argz.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <envz.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <ftw.h>
#include <getopt.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <inttypes.h>
#include <libgen.h>
#include <locale.h>
#include <math.h>
#include <monetary.h>
#include <netdb.h>
#include <obstack.h>
#include <printf.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>
#include <wordexp.h>
static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int walk(const char *p, const struct stat *s, int f) {
    (void)p, (void)s, (void)f;
    return 0;
}
static void act(const void *n, VISIT v, int d) { (void)n, (void)v, (void)d; }
int main(void) {
    char buf[4096], *e;
    wchar_t wb[256];
    setlocale(LC_ALL, "C.UTF-8");
    for (int i = 0; i < 3; i++) {
        snprintf(buf, sizeof buf, "%d %s %5.2f %lx %c %e %g %a %10s|%-10s|", i, "text", 1.5 * i,
                 77ul, 'c', 2.5, 1e100, 3.25, "r", "l");
        printf("%s %ls %Lf\n", buf, L"wide", 1.5L);
        fprintf(stderr, "x%d\n", i);
        swprintf(wb, 256, L"%d %s", i, "n");
        int a;
        char s[32];
        double d;
        float f;
        sscanf("12 abc 3.5 4.5", "%d %31s %lf %f", &a, s, &d, &f);
        strtol("123x", &e, 0), strtoul("0x7f", &e, 16), strtod("1.25e3", &e), strtof("2.5", &e),
            strtold("3.5", &e), strtoll("-9", &e, 10);
        wcstol(L"55", NULL, 10), wcstod(L"1.5", NULL), atoi("77"), atof("1.5"),
            strtoimax("5", 0, 10);
        int v[] = {5, 3, 9, 1, i};
        qsort(v, 5, sizeof *v, cmp), bsearch(&v[2], v, 5, sizeof *v, cmp);
        char *p = strdup("a,b;c d");
        char *save;
        for (char *t = strtok_r(p, ",; ", &save); t; t = strtok_r(NULL, ",; ", &save))
            strlen(t);
        free(p);
        strncpy(buf, "copy", 100), strncat(buf, "more", 10), strcasecmp("ABC", "abd"),
            strncasecmp("AB", "ab", 1), strcoll("a", "b"), strxfrm(buf, "abc", 10);
        strstr("haystack", "st"), strpbrk("abc", "xc"), strspn("aab", "a"), strcspn("abc", "c"),
            memmem("abcdef", 6, "cd", 2), strsep(&(char *){strdup("a b")}, " "),
            strfry(strdup("x")), strerror(ENOENT), strsignal(SIGINT);
        wcscpy(wb, L"abc"), wcscat(wb, L"d"), wcslen(wb), wcschr(wb, L'b'), wcscmp(wb, L"x"),
            wcstombs(buf, L"\x20ac", 20), mbstowcs(wb, "\xe2\x82\xac", 20), towupper(L'a'),
            iswalpha(L'x'), wctype("alpha"), wcsdup(L"x"), wcwidth(L'x'), wcsncpy(wb, L"a", 5),
            btowc('a'), wctob(L'a');
        mbstate_t st = {0};
        wchar_t w;
        mbrtowc(&w, "x", 1, &st), wcrtomb(buf, L'x', &st), mbrlen("x", 1, &st);
        time_t t = 1700000000 + i;
        struct tm tm;
        gmtime_r(&t, &tm), localtime_r(&t, &tm), mktime(&tm),
            strftime(buf, 100, "%Y-%m-%d %H:%M:%S %A", &tm), asctime_r(&tm, buf), ctime_r(&t, buf),
            strptime("2020-01-02", "%Y-%m-%d", &tm), timegm(&tm), difftime(t, 5),
            wcsftime(wb, 50, L"%Y", &tm);
        regex_t r;
        regmatch_t m[3];
        regcomp(&r, "(a+)(b|c)*d$", REG_EXTENDED), regexec(&r, "xxaabcd", 3, m, 0),
            regerror(1, &r, buf, 10), regfree(&r);
        glob_t g;
        glob("/usr/share/doc/ba*", 0, NULL, &g), globfree(&g), fnmatch("a*[bc]", "axxb", 0);
        hcreate(10), hsearch((ENTRY){"k", "v"}, ENTER), hsearch((ENTRY){"k", 0}, FIND), hdestroy();
        void *root = NULL;
        tsearch(&v[0], &root, cmp), tsearch(&v[1], &root, cmp), tfind(&v[1], &root, cmp),
            twalk(root, act), tdelete(&v[0], &root, cmp);
        DIR *dir = opendir("/usr/share/misc");
        while (dir && readdir(dir))
            ;
        if (dir)
            rewinddir(dir), closedir(dir);
        FILE *fp = fopen("/etc/passwd", "r");
        fgets(buf, 100, fp), fgetc(fp), ungetc('x', fp), fread(buf, 1, 20, fp),
            fseek(fp, 5, SEEK_SET), ftell(fp), rewind(fp), getc(fp), feof(fp), fileno(fp);
        size_t n = 0;
        char *line = NULL;
        getline(&line, &n, fp), getdelim(&line, &n, ':', fp), fscanf(fp, "%99s", buf),
            setvbuf(fp, NULL, _IOFBF, 512), fclose(fp), free(line);
        fp = fmemopen(buf, 100, "w"), fputs("x", fp), fputc('c', fp), fwrite("abc", 1, 3, fp),
        fflush(fp), fclose(fp);
        char *mp;
        size_t ms;
        fp = open_memstream(&mp, &ms), fprintf(fp, "%d", 7), putc('x', fp), fclose(fp), free(mp);
        fp = tmpfile();
        fputws(L"wide", fp), fclose(fp);
        iconv_t ic = iconv_open("UTF-16", "UTF-8");
        char *in = "abc", *out = buf;
        size_t il = 3, ol = 100;
        iconv(ic, &in, &il, &out, &ol), iconv_close(ic);
        struct in_addr ia;
        inet_aton("1.2.3.4", &ia), inet_ntoa(ia), inet_pton(AF_INET6, "::1", buf),
            inet_ntop(AF_INET, &ia, wb, 100), ntohl(5), getservbyname("http", "tcp"),
            getprotobyname("tcp");
        getpwnam("root"), getpwuid(0), getgrnam("root"), getgrgid(0);
        struct stat sb;
        stat("/etc/passwd", &sb), lstat("/etc", &sb), access("/etc", R_OK),
            realpath("/usr/../etc", buf), readlink("/proc/self/exe", buf, 10), getcwd(buf, 100),
            isatty(0), open("/etc/passwd", O_RDONLY), umask(022);
        ftw("/usr/share/misc", walk, 5);
        char *dirs[] = {"/usr/share/misc", NULL};
        FTS *fts = fts_open(dirs, FTS_PHYSICAL, NULL);
        while (fts_read(fts))
            ;
        fts_close(fts);
        basename(strdup("/a/b")), dirname(strdup("/a/b"));
        char *argz = NULL;
        size_t al = 0;
        argz_add(&argz, &al, "x=1"), argz_add(&argz, &al, "y"), argz_count(argz, al),
            argz_next(argz, al, NULL), envz_get(argz, al, "x"), envz_add(&argz, &al, "z", "3"),
            argz_stringify(argz, al, ',');
        wordexp_t we;
        wordexp("a b $HOME", &we, 0), wordfree(&we);
        char *av[] = {"p", "-a", "--long=5", "rest", NULL};
        struct option lo[] = {{"long", 1, 0, 'l'}, {0}};
        optind = 0;
        opterr = 0;
        while (getopt_long(4, av, "ab:", lo, NULL) != -1)
            ;
        div(7, 2), ldiv(7, 2), lldiv(-7, 2), abs(-3), labs(-3);
        srand(5), rand(), random(), srandom(3), drand48(), lrand48(), srand48(4);
        unsigned short xs[3] = {1, 2, 3};
        erand48(xs), jrand48(xs);
        rand_r(&(unsigned){3});
        setenv("K", "V", 1), getenv("K"), putenv("A=B"), unsetenv("K");
        calloc(3, 4), realloc(malloc(10), 20), reallocarray(NULL, 2, 8), aligned_alloc(64, 128),
            posix_memalign((void **)&e, 16, 32);
        sigset_t ss;
        sigemptyset(&ss), sigaddset(&ss, SIGUSR1), sigismember(&ss, 2),
            sigprocmask(SIG_BLOCK, &ss, NULL), signal(SIGUSR2, SIG_IGN), raise(SIGUSR2);
        strfmon(buf, 100, "%n", 12.5), localeconv(), newlocale(LC_ALL_MASK, "C", 0),
            ecvt(1.5, 3, &(int){0}, &(int){0}), fcvt(1.5, 3, &(int){0}, &(int){0}),
            gcvt(1.5, 3, buf), l64a(77), a64l("abc"),
            getsubopt(&(char *){strdup("ro,rw")}, (char *[]){"ro", "rw", NULL}, &(char *){0});
        frexp(1.5, &(int){0}), ldexp(1.5, 2), modf(1.5, &d), scalbn(1.5, 2), copysign(1, -1),
            isnan(1.0), finite(1.0), pow(2, i), sin(i), exp(i), log(1 + i), fmod(5, 3), cbrt(8),
            hypot(3, 4), lround(2.5), tgamma(3), powf(2, 3), sinf(1), remquo(5, 3, &(int){0});
        memccpy(buf, "abc", 'b', 3), mempcpy(buf, "x", 1), stpcpy(buf, "q"), memrchr("abc", 'b', 3),
            rawmemchr("abc", 'c'), strverscmp("a1", "a2"), swab("abcd", buf, 4), memfrob(buf, 3),
            ffsl(8), bcmp("a", "b", 1);
    }
    return 0;
}
