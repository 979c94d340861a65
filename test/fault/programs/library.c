/* The library that the programs of this folder load. */
int library_add(int a, int b);
int library_add(int a, int b) { return a * 3 + b; }
