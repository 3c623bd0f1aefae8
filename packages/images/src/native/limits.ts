/** Maximum unpacked size of an image. */
export const MAX_SIZE = { bytes: 1_000 * 2 ** 20, files: 100_000 };

/** Maximum download size of a .deb or tool, and of an index, in bytes. */
export const MAX_PACKAGE_BYTES = 400 * 2 ** 20;
export const MAX_INDEX_BYTES = 64 * 2 ** 20;

/** Maximum decompressed size of an index, in bytes. */
export const MAX_INDEX_TEXT_BYTES = 400 * 2 ** 20;
