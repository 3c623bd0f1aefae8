/** Why an image could not be built. The table in docs/images.md explains each code and what to do. */
export const IMAGE_ERROR_CODES = [
  'invalid_specifier',
  'package_not_found',
  'version_not_found',
  'resolution_conflict',
  'incompatible_platform',
  'no_compatible_wheel',
  'unsupported_package',
  'bundle_failed',
  'load_failed',
  'registry_unavailable',
  'rate_limited',
  'integrity_error',
  'image_too_large',
  'build_timeout',
  'install_failed',
  'provider_error',
] as const;

export type ImageErrorCode = (typeof IMAGE_ERROR_CODES)[number];

const BRAND = Symbol.for('heddle.ImageError');

/**
 * Thrown by builders and the image store. The message is for the author of the specification and contains no paths or
 * tokens.
 */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly code: ImageErrorCode;
  readonly [BRAND] = true;

  constructor(code: ImageErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Returns whether a caught value is an ImageError, including one from another copy of this package. */
export function isImageError(value: unknown): value is ImageError {
  return typeof value === 'object' && value !== null && BRAND in value;
}
