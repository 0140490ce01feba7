/** Screens without a pointer that can be over something: they show no tips, and tools take up space of their own. */
export const touchOnly = matchMedia("(hover: none)");
