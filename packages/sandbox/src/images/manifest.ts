import type { ImageFeatures, LoadedImage } from './source.ts';

/** What the index says about an image. */
export interface Manifest {
  readonly format: 1;
  readonly id: string;
  readonly language: LoadedImage['language'];
  readonly runtime: LoadedImage['runtime'];
  readonly lockHash: string;
  readonly runtimeKey: string;
  readonly blobs: { readonly [name: string]: { readonly sha256: string; readonly size: number } };
  readonly features: ImageFeatures;
  readonly warnings: readonly string[];
  readonly tools: { readonly [name: string]: string };
}
