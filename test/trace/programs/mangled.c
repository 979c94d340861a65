/* Functions whose symbols are as compilers of C++, Rust and D make them, so that tests of names
 * need none of these compilers. copied_names.py compares. */
static volatile int zero;

#define FUNCTION(number, symbol)                                                                   \
    int f##number(int x) __asm__(symbol);                                                          \
    __attribute__((noinline)) int f##number(int x) { return x * number + zero; }
#define FUNCTIONS                                                                                  \
    FUNCTION(3, "_ZN5space6memberEi")                                                              \
    FUNCTION(4, "_ZN5space6memberEPKc")                                                            \
    FUNCTION(5, "_ZN5space6memberEv.isra.0")                                                       \
    FUNCTION(6, "_ZN5space6taggedB5cxx11Ei")                                                       \
    FUNCTION(7, "_ZN5space4ListixEm")                                                              \
    FUNCTION(8, "_ZN5space4ListneERKS0_")                                                          \
    FUNCTION(9, "_ZN5space4pickEPi")                                                               \
    FUNCTION(10, "_ZN5space4pickEiPc")                                                             \
    FUNCTION(11, "_ZN12_GLOBAL__N_16hiddenEv")                                                     \
    FUNCTION(12, "_ZN5space6shapedIiEET_S1_")                                                      \
    FUNCTION(13, "_ZN5space6shapedINSt7__cxx1112basic_stringIcSt11char_"                           \
                 "traitsIcESaIcEEEEEvRKSt6vectorIT_SaIS8_EE")                                      \
    FUNCTION(14, "_ZlsIcEvT_")                                                                     \
    FUNCTION(15, "_ZZN5space6memberEvENKUlvE_clEv")                                                \
    FUNCTION(16, "_RINvCs4T4zK9Otvt5_5names7genericAhj2_Kj5_EB2_")                                 \
    FUNCTION(17, "_RINvCs4T4zK9Otvt5_5names7genericReKj7_EB2_")                                    \
    FUNCTION(18, "_RNvXCs4T4zK9Otvt5_5namesAhj20_NtB2_5Shape4area")                                \
    FUNCTION(19, "_RNCNvCs4T4zK9Otvt5_5names4main0B3_")                                            \
    FUNCTION(20, "_ZN5names7generic17h15ab31fc32f51f0bE")                                          \
    FUNCTION(21, "_ZN5names7generic17hf159ed13884af289E")                                          \
    FUNCTION(22, "_ZN70_$LT$$LP$u8$C$$u5b$i32$u3b$$u20$4$u5d$$RP$$u20$as$u20$names..Shape$GT$"     \
                 "4area17h02dbf26c58536787E")                                                      \
    FUNCTION(23, "_D5names7guardedFiZi")                                                           \
    FUNCTION(24, "_D5names5riskyFiZi.isra.0")                                                      \
    FUNCTION(25, "_D5names3Odd6__ctorMFZCQvQr")                                                    \
    FUNCTION(26, "_D3std9algorithm9iteration__T9MapResultS5names4mainFZ9__lambda7TSQCl5range__"    \
                 "T4iotaTiTiZQkFiiZ6ResultZQCu5frontMFNbNdZC4core6thread8osthread6Thread")         \
    FUNCTION(27, "plain")                                                                          \
    FUNCTION(28, "plain.part.0")

/* clang-format off */
FUNCTIONS
/* clang-format on */

#undef FUNCTION
#define FUNCTION(number, symbol) sum += f##number(zero);

int main(void) {
    int sum = 0;
    FUNCTIONS
    return sum;
}
