/** The syntactic position of a tag. `text`: in an ordinary field. */
export type SyntaxPosition = 'text' | 'code' | 'string' | 'comment';

/** A problem with one tag. The compiler decides on its severity. */
export interface ReferenceFinding {
  /**
   * `unknown-block`, `unknown-variable`: no block or variable has the name. `quoted-reference`: inside quotes of an
   * expression, where it has an unexpected meaning. `html-name`: an HTML element and a block have this name.
   * `disabled-block`: the block is disabled, so the reference is always empty.
   */
  kind: 'unknown-block' | 'unknown-variable' | 'quoted-reference' | 'html-name' | 'disabled-block';
  /** As authored, with the brackets. */
  text: string;
  /** The authored name: of the block, or of the variable if the kind is `unknown-variable`. */
  name: string;
  syntaxPosition: SyntaxPosition;
  /** UTF-16 units from the start of the string. */
  offset: number;
  /** The most similar name; absent if none is similar. */
  suggestion?: string;
  /** Edit distance of the normalised names, at most 2. */
  distance?: number;
  /** True if there is a path, so that the tag cannot be HTML. */
  hasPath: boolean;
}
