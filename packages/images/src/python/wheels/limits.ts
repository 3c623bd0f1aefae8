/** A single wheel, in bytes. */
export const MAX_WHEEL_BYTES = 256 * 2 ** 20;

/** All files of an image, unpacked. */
export const MAX_SITE_BYTES = 500 * 2 ** 20;

/** Files of an image. */
export const MAX_FILES = 50_000;

/** An entry may be this many times as large as it is in the archive; text is rarely over 20. */
export const MAX_RATIO = 200;

/** Up to here the ratio does not matter: small files of zeros are common. */
export const SMALL_ENTRY_BYTES = 2 ** 20;
