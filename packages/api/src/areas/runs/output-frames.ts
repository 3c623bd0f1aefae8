import type { Json } from '@heddle/core';
import type { BlockEmission } from '@heddle/core/blocks';
import type { RunEvent } from '@heddle/engine';
import { valueAt } from './selected.ts';
import type { Selected } from './selected.ts';

/** Which events of agents a client wants besides their text. */
export interface AgentEvents {
  thinking: boolean;
  tools: boolean;
}

interface OutputFramesOptions {
  selected: readonly Selected[];
  /** Undefined: the client does not know agent events. */
  agents: AgentEvents | undefined;
  /** Returns a value as the response shows it. */
  show: (value: Json) => Promise<Json>;
}

/**
 * Turns events of a run into frames of its selected outputs. A client that knows agent events gets text as it arrives;
 * every other client gets the output of a block when the block ends.
 */
export class OutputFrames {
  /** Selectors whose values have been sent. */
  readonly sent = new Set<string>();
  readonly #options: OutputFramesOptions;
  /** Text sent so far, by the id of its block, which has not ended. */
  readonly #texts = new Map<string, string>();

  constructor(options: OutputFramesOptions) {
    this.#options = options;
  }

  async *of(event: RunEvent): AsyncGenerator<object> {
    switch (event.type) {
      case 'block:emission':
        return yield* this.#emitted(event.blockId, event.emission);
      case 'block:completed':
        return yield* this.#completed(event.log.blockId, event.output);
      case 'block:retrying':
        return yield* this.#reset(event.blockId);
      case 'block:failed':
        return yield* this.#reset(event.log.blockId);
      default:
    }
  }

  *#emitted(blockId: string, emission: BlockEmission): Generator<object> {
    const { agents } = this.#options;
    if (!agents) return;
    switch (emission.type) {
      case 'text':
        return yield* this.#text(blockId, emission.text);
      case 'reset':
        return yield* this.#reset(blockId);
      case 'thinking':
        if (agents.thinking) yield { blockId, event: 'thinking', data: emission.text };
        return;
      case 'tool':
        if (agents.tools) yield toolFrame(blockId, emission);
        return;
      case 'error':
        yield { blockId, event: 'stream_error', error: emission.message };
    }
  }

  /** Yields the selected values of the block, except one that equals the text that has been sent. */
  async *#completed(blockId: string, output: Json): AsyncGenerator<object> {
    const { selected, show } = this.#options;
    const values = selected.flatMap(({ selector, blockId: of, path }) => {
      const value = of === blockId ? valueAt(output, path) : undefined;
      return value === undefined ? [] : [{ selector, value }];
    });
    const text = this.#texts.get(blockId);
    const streamed = text === undefined ? undefined : values.find(({ value }) => value === text);
    if (streamed) this.#texts.delete(blockId);
    else yield* this.#reset(blockId);
    for (const each of values) {
      if (each !== streamed) yield { blockId, chunk: asText(await show(each.value)) };
      this.sent.add(each.selector);
    }
  }

  /** Tells the client to discard the text of the block. */
  *#reset(blockId: string): Generator<object> {
    if (this.#texts.delete(blockId)) yield { blockId, event: 'chunk_reset' };
  }

  *#text(blockId: string, text: string): Generator<object> {
    if (!this.#options.selected.some((each) => each.blockId === blockId)) return;
    this.#texts.set(blockId, (this.#texts.get(blockId) ?? '') + text);
    yield { blockId, chunk: text };
  }
}

/** Without the arguments and the result of the tool. */
function toolFrame(blockId: string, tool: Extract<BlockEmission, { type: 'tool' }>): object {
  const { phase, id, name } = tool;
  return { blockId, event: 'tool', phase, id, name, ...(phase === 'end' && { status: tool.status }) };
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
