/** Maximum size of a wheel, in bytes. */
export const MAX_WHEEL_BYTES = 256 * 2 ** 20;

/** Maximum unpacked size of an image, in bytes. */
export const MAX_SITE_BYTES = 500 * 2 ** 20;

/** Maximum number of files in an image. */
export const MAX_FILES = 50_000;

/** Maximum compression ratio of an entry; text rarely exceeds 20. */
export const MAX_COMPRESSION_RATIO = 200;

/** Entries up to this size may have any ratio, because small files of zeros are common. */
export const SMALL_ENTRY_BYTES = 2 ** 20;
