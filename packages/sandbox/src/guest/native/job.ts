type JsonByName = Readonly<Record<string, string>>;

/** The request to the first program of a process tree. */
export type NativeJob =
  | {
      readonly language: 'javascript' | 'python';
      readonly code: string;
      readonly globals: JsonByName;
      readonly values: JsonByName;
    }
  /** `environment`: values as plain strings. */
  | {
      readonly language: 'shell';
      readonly code: string;
      readonly environment: Readonly<Record<string, string>>;
    }
  /** A program of the image, run unchanged. */
  | { readonly language: 'command'; readonly command: readonly string[] };
