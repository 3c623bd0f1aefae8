/** Dependency images: built from specifications, stored by content, opened by sandboxes. */
export { createImages, SpecError, type BuildOptions, type Images, type ImagesOptions } from './images.ts';
export { javascriptBuilder, type JavaScriptBuilderOptions } from './javascript/builder.ts';
export { nativeBuilder, type NativeBuilderOptions } from './native/builder.ts';
export { readGoSettings } from './native/tools/go/settings.ts';
export { readAptSettings } from './native/debian/apt-settings.ts';
export { findNpm, readNpmSettings } from './javascript/npm-settings.ts';
export { pythonBuilder, type PythonBuilderOptions } from './python/builder.ts';
export { readPipSettings } from './python/pip-settings.ts';
export type { ImageRecord } from './record.ts';
export type { GarbageReport } from './collect-garbage.ts';
export type { ImageClock } from './builds.ts';
export { CLI_TOOLS } from './grammar.ts';
export { specHash } from './keys.ts';
export { readSpec } from './spec.ts';
export type { SpecResult, SpecIssue } from './spec.ts';
export type {
  AssembledImage,
  BuildContext,
  FetchOptions,
  ImageBuilder,
  ImageBuilders,
  ImageSpec,
  Lock,
  LockEntry,
  Registries,
} from './builder.ts';
export { IMAGE_ERROR_CODES, ImageError, isImageError, type ImageErrorCode } from './error.ts';
