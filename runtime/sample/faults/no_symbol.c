/* A library, but no module. */
int nothing_here(void) { return 0; }
