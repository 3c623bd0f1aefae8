/** Name → JSON text. */
type Texts = Readonly<Record<string, string>>;

/** What the first program of a tree is told to do. */
export type NativeJob =
  | {
      readonly language: 'javascript' | 'python';
      readonly code: string;
      readonly globals: Texts;
      readonly values: Texts;
    }
  /** `environment`: values as texts. */
  | {
      readonly language: 'shell';
      readonly code: string;
      readonly environment: Readonly<Record<string, string>>;
    }
  /** A program of the image, as it is. */
  | { readonly language: 'command'; readonly command: readonly string[] };
