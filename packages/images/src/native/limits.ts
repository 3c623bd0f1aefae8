/** What an image may hold, unpacked. */
export const MAX_SIZE = { bytes: 1_000 * 2 ** 20, files: 100_000 };

/** Of one .deb, one index and one tool, as they are fetched, in bytes. */
export const MAX_PACKAGE_BYTES = 400 * 2 ** 20;
export const MAX_INDEX_BYTES = 64 * 2 ** 20;

/** Of an index, unpacked, in bytes. */
export const MAX_INDEX_TEXT_BYTES = 400 * 2 ** 20;
