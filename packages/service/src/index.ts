/** The areas of the v2 interface that have tables of their own. */
export {};
