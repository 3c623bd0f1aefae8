/** Maximum number of characters that a client gets again after it had to discard the text of a block. */
const MAX_REPEATED_CHARS = 262_144;

/** An event about a block: a part of its text, or the instruction to discard all of its text so far. */
export type TextEvent = { chunk: string } | { event: 'chunk_reset' };

/**
 * Decides when the text of one block is sent to a client. Events name only the block, although its iterations and
 * branches (scopes) may run concurrently, and a `chunk_reset` discards the text of all scopes. So the text of one scope
 * is sent as it arrives, and the text of other scopes waits until that scope ends. Once a reset has discarded text of
 * several scopes, the text of each scope is sent only when the scope ends.
 */
export class BlockText {
  /** Text of scopes that have not ended. */
  readonly #texts = new Map<string, string>();
  /** The scope whose text is sent as it arrives. */
  #streamedScope: string | undefined;
  /** False: the text of a scope is sent only when the scope ends. */
  #isStreaming = true;
  /** Text of ended scopes that the client has. It is sent again after a reset. Empty once `#isStreaming` is false. */
  #endedTexts: string[] = [];
  #endedChars = 0;
  /** Text that waits for the end of the streamed scope. */
  #waitingTexts: string[] = [];

  *add(scope: string, text: string): Generator<TextEvent> {
    if (!this.#isStreaming) return;
    const textSoFar = this.#texts.get(scope) ?? '';
    this.#texts.set(scope, textSoFar + text);
    if (this.#streamedScope !== undefined && this.#streamedScope !== scope) return;
    yield { chunk: this.#streamedScope === scope ? text : textSoFar + text };
    this.#streamedScope = scope;
  }

  /** Discards the text of the scope so far. If the client has that text, it gets a `chunk_reset`. */
  *reset(scope: string): Generator<TextEvent> {
    this.#texts.delete(scope);
    if (this.#streamedScope !== scope) return;
    this.#streamedScope = undefined;
    yield { event: 'chunk_reset' };
    for (const chunk of this.#endedTexts) yield { chunk };
    if (this.#endedTexts.length > 0) this.#stopStreaming();
    yield* this.flush();
  }

  /** Returns true if the value is the text of the scope and has been sent. */
  hasSent(scope: string, value: unknown): boolean {
    return this.#streamedScope === scope && this.#texts.get(scope) === value;
  }

  /**
   * Ends the scope and sends `values` as text. `isTextSent`: the text of the scope has been sent and stays. Otherwise
   * that text is discarded.
   */
  *end(
    scope: string,
    values: readonly string[],
    { isTextSent }: { isTextSent: boolean },
  ): Generator<TextEvent> {
    if (isTextSent) {
      this.#recordSentText(this.#texts.get(scope) ?? '');
      this.#texts.delete(scope);
      this.#streamedScope = undefined;
    } else yield* this.reset(scope);
    this.#waitingTexts.push(...values);
    if (this.#streamedScope === undefined) yield* this.flush();
  }

  /** Yields the waiting text. Also called after the last event. */
  *flush(): Generator<TextEvent> {
    for (const chunk of this.#waitingTexts.splice(0)) {
      this.#recordSentText(chunk);
      yield { chunk };
    }
  }

  #recordSentText(chunk: string): void {
    if (!this.#isStreaming) return;
    this.#endedTexts.push(chunk);
    this.#endedChars += chunk.length;
    if (this.#endedChars > MAX_REPEATED_CHARS) this.#stopStreaming();
  }

  #stopStreaming(): void {
    this.#isStreaming = false;
    this.#endedTexts = [];
  }
}
