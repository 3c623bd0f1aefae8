import type { BlockLog, Json } from '@heddle/core';
import type { BlockEmission } from '@heddle/core/blocks';
import type { RunEvent } from '@heddle/engine';
import { BlockText } from './block-text.ts';
import type { TextEvent } from './block-text.ts';
import { valueAt } from './selected-outputs.ts';
import type { ResolvedSelector } from './selected-outputs.ts';

/** The events of agents that a client wants besides their text. */
export interface AgentEvents {
  thinking: boolean;
  tools: boolean;
}

interface OutputEventsOptions {
  selectors: readonly ResolvedSelector[];
  /** Undefined: the client does not support agent events. */
  agentEvents: AgentEvents | undefined;
  /** Returns a value with the contents of its files, if the caller wants them. */
  inlineFiles: (value: Json) => Promise<Json>;
}

/**
 * Turns events of a run into stream events about its selected outputs. A client that supports agent events gets text as
 * it arrives; every other client gets the output of a block when the block ends.
 */
export class OutputEvents {
  /** Selectors whose values have been sent. */
  readonly sentSelectors = new Set<string>();
  readonly #options: OutputEventsOptions;
  /** By the id of the block. */
  readonly #texts = new Map<string, BlockText>();

  constructor(options: OutputEventsOptions) {
    this.#options = options;
  }

  async *eventsFor(event: RunEvent): AsyncGenerator<object> {
    switch (event.type) {
      case 'block:emission':
        return yield* this.#emissionEvents(event);
      case 'block:completed':
        return yield* this.#completionEvents(event.log, event.output);
      case 'block:retrying':
        return yield* this.#reset(event.blockId, event.scope);
      case 'block:failed':
      case 'block:cancelled':
        return yield* this.#reset(event.log.blockId, scopeOf(event.log));
      default:
    }
  }

  /** Yields the remaining stream events, after the last event of the run. */
  *flush(): Generator<object> {
    for (const [blockId, text] of this.#texts) yield* eventsOf(blockId, text.flush());
  }

  *#emissionEvents({
    blockId,
    scope,
    emission,
  }: Extract<RunEvent, { type: 'block:emission' }>): Generator<object> {
    const { agentEvents } = this.#options;
    if (!agentEvents) return;
    switch (emission.type) {
      case 'text':
        if (this.#isSelected(blockId))
          yield* eventsOf(blockId, this.#textOf(blockId).add(keyOf(scope), emission.text));
        return;
      case 'reset':
        return yield* this.#reset(blockId, scope);
      case 'thinking':
        if (agentEvents.thinking) yield { blockId, event: 'thinking', data: emission.text };
        return;
      case 'tool':
        if (agentEvents.tools) yield toolEvent(blockId, emission);
        return;
      case 'progress':
        if (agentEvents.tools) yield { blockId, event: 'progress', ...progressOf(emission) };
        return;
      case 'error':
        yield { blockId, event: 'stream_error', error: emission.message };
    }
  }

  /** Yields the selected values of the block, except one whose text has been streamed. */
  async *#completionEvents(log: BlockLog, output: Json): AsyncGenerator<object> {
    const { blockId } = log;
    const { selectors, inlineFiles } = this.#options;
    if (!this.#isSelected(blockId)) return;
    const values = selectors.flatMap(({ selector, blockId: selectedId, path }) => {
      const value = selectedId === blockId ? valueAt(output, path) : undefined;
      return value === undefined ? [] : [{ selector, value }];
    });
    const scope = keyOf(scopeOf(log));
    const text = this.#textOf(blockId);
    const streamedValue = values.find(({ value }) => text.hasSent(scope, value));
    const texts: string[] = [];
    for (const outputValue of values) {
      if (outputValue !== streamedValue) texts.push(asText(await inlineFiles(outputValue.value)));
      this.sentSelectors.add(outputValue.selector);
    }
    yield* eventsOf(blockId, text.end(scope, texts, { isTextSent: streamedValue !== undefined }));
  }

  /** Tells the client to discard the text of the block. */
  *#reset(blockId: string, scope: readonly number[]): Generator<object> {
    const text = this.#texts.get(blockId);
    if (text) yield* eventsOf(blockId, text.reset(keyOf(scope)));
  }

  #isSelected(blockId: string): boolean {
    return this.#options.selectors.some((selector) => selector.blockId === blockId);
  }

  #textOf(blockId: string): BlockText {
    const text = this.#texts.get(blockId) ?? new BlockText();
    this.#texts.set(blockId, text);
    return text;
  }
}

function* eventsOf(blockId: string, textEvents: Iterable<TextEvent>): Generator<object> {
  for (const event of textEvents) yield { blockId, ...event };
}

/** Returns the iterations and branches around the block, outermost first. */
function scopeOf({ parents, container }: BlockLog): number[] {
  return [...parents, ...(container ? [container] : [])].map(({ index }) => index);
}

function keyOf(scope: readonly number[]): string {
  return scope.join();
}

/** Returns the progress without its message, which may contain part of the tool's result. */
export function progressOf({ id, progress, total }: Extract<BlockEmission, { type: 'progress' }>): object {
  return { id, progress, ...(total !== undefined && { total }) };
}

/** Returns the event of a tool call, without the arguments and the result of the call. */
function toolEvent(blockId: string, tool: Extract<BlockEmission, { type: 'tool' }>): object {
  const { phase, id, name } = tool;
  return { blockId, event: 'tool', phase, id, name, ...(phase === 'end' && { status: tool.status }) };
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
