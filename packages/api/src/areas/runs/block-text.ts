/** A client that discards the text of a block gets at most this much of it again, in characters. */
const MAX_REPEATED_CHARS = 262_144;

/** What to send of a block: a part of its text, or that all of its text so far is to be discarded. */
export type TextFrame = { chunk: string } | { event: 'chunk_reset' };

/**
 * The text of one block as a client has it. Frames name only the block, while its iterations and branches (`scope`) may run
 * at the same time, and a `chunk_reset` discards the text of all of them. So the text of one is sent as it arrives, and what
 * the others have waits until it ends. Once the client had to discard text of several, each gets its text when it ends.
 */
export class BlockText {
  /** Text of executions that have not ended. */
  readonly #texts = new Map<string, string>();
  /** The one whose text is sent as it arrives. */
  #live: string | undefined;
  #isLive = true;
  /** Text of ended executions that the client has. Kept while text is sent as it arrives. */
  #ended: string[] = [];
  #endedChars = 0;
  /** What waits for the end of the live one. */
  #waiting: string[] = [];

  *add(scope: string, text: string): Generator<TextFrame> {
    if (!this.#isLive) return;
    const before = this.#texts.get(scope) ?? '';
    this.#texts.set(scope, before + text);
    if (this.#live !== undefined && this.#live !== scope) return;
    yield { chunk: this.#live === scope ? text : before + text };
    this.#live = scope;
  }

  /** The text of the scope so far was not the answer. */
  *reset(scope: string): Generator<TextFrame> {
    this.#texts.delete(scope);
    if (this.#live !== scope) return;
    this.#live = undefined;
    yield { event: 'chunk_reset' };
    for (const chunk of this.#ended) yield { chunk };
    if (this.#ended.length > 0) this.#stopLive();
    yield* this.rest();
  }

  /** True if the client has the value, because it is the text of the scope, which has been sent. */
  has(scope: string, value: unknown): boolean {
    return this.#live === scope && this.#texts.get(scope) === value;
  }

  /** The scope has ended with these values as text. `hasText`: its text is one more. */
  *end(scope: string, values: readonly string[], { hasText }: { hasText: boolean }): Generator<TextFrame> {
    if (hasText) {
      this.#keep(this.#texts.get(scope) ?? '');
      this.#texts.delete(scope);
      this.#live = undefined;
    } else yield* this.reset(scope);
    this.#waiting.push(...values);
    if (this.#live === undefined) yield* this.rest();
  }

  /** What still waits, when nothing follows. */
  *rest(): Generator<TextFrame> {
    for (const chunk of this.#waiting.splice(0)) {
      this.#keep(chunk);
      yield { chunk };
    }
  }

  #keep(chunk: string): void {
    if (!this.#isLive) return;
    this.#ended.push(chunk);
    this.#endedChars += chunk.length;
    if (this.#endedChars > MAX_REPEATED_CHARS) this.#stopLive();
  }

  #stopLive(): void {
    this.#isLive = false;
    this.#ended = [];
  }
}
