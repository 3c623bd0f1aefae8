/** Where in a field something stands. `text`: an ordinary field. */
export type SyntaxPosition = 'text' | 'code' | 'string' | 'comment';

/** What compiling found worth saying about one tag. Whether it is an error or a warning is the compiler's to decide. */
export interface ReferenceFinding {
  /**
   * `unknown-block`: the head names no block · `unknown-variable` · `quoted-reference`: inside quotes of an
   * expression, where it does not mean what it seems to · `html-name`: an HTML element and a block share the name ·
   * `never-ran-candidate`: the block is disabled, so the reference is always empty.
   */
  kind: 'unknown-block' | 'unknown-variable' | 'quoted-reference' | 'html-name' | 'never-ran-candidate';
  /** As written, with its brackets. */
  text: string;
  /** The name as written: of the block, or of the variable when the kind is `unknown-variable`. */
  head: string;
  where: SyntaxPosition;
  /** UTF-16 units from the start of the string it stands in. */
  offset: number;
  /** The nearest name, as it is to be written; absent: nothing is near. */
  suggestion?: string;
  /** Edit distance of the normalised names, at most 2. */
  distance?: number;
  /** True: there is a path, so it cannot be meant as an HTML tag. */
  dotted: boolean;
}
