/** What the bundle of an image can ask for while it is loaded, and what it keeps of that. */
export interface ImageHost {
  hash(algorithm: string, key: string | null, data: string): unknown;
  random(bytes: number): unknown;
}

declare const __heddleImage: ImageHost;

/** A parameter of the function that a bundle is wrapped in. */
export const host = __heddleImage;
