import type { Json } from '@heddle/core';
import type { BlockEmission } from '@heddle/core/blocks';
import { valueAt } from './selected.ts';
import type { Selected } from './selected.ts';

/** Which events of agents a client wants beside their text. */
export interface AgentEvents {
  thinking: boolean;
  tools: boolean;
}

interface AnswerParts {
  selected: readonly Selected[];
  agents: AgentEvents | undefined;
  /** A value as it is shown. */
  show: (value: Json) => Promise<Json>;
  frame: (value: unknown) => void;
}

/**
 * The frames of selected outputs. A client that knows the events of agents gets text as it comes; every other one what
 * a block has come to, when it ends.
 */
export class OutputFrames {
  /** Selectors whose values were sent. */
  readonly sent = new Set<string>();
  readonly #selected: readonly Selected[];
  readonly #agents: AgentEvents | undefined;
  readonly #show: AnswerParts['show'];
  readonly #frame: AnswerParts['frame'];
  /** Text of blocks that have not ended, as it was sent. */
  readonly #texts = new Map<string, string>();

  constructor(parts: AnswerParts) {
    this.#selected = parts.selected;
    this.#agents = parts.agents;
    this.#show = parts.show;
    this.#frame = parts.frame;
  }

  /** The block tells what it is doing. */
  told(blockId: string, emission: BlockEmission): void {
    if (!this.#agents) return;
    switch (emission.type) {
      case 'text':
        return this.#text(blockId, emission.text);
      case 'reset':
        return this.dropped(blockId);
      case 'thinking':
        if (this.#agents.thinking) this.#frame({ blockId, event: 'thinking', data: emission.text });
        return;
      case 'tool':
        if (this.#agents.tools) this.#frame(toolFrame(blockId, emission));
        return;
      case 'error':
        this.#frame({ blockId, event: 'stream_error', error: emission.message });
    }
  }

  /** The block has ended: what was selected of it is sent, unless it was as it came. */
  async completed(blockId: string, output: Json): Promise<void> {
    const values = this.#selected.flatMap(({ selector, blockId: of, path }) => {
      const value = of === blockId ? valueAt(output, path) : undefined;
      return value === undefined ? [] : [{ selector, value }];
    });
    const live = this.#texts.get(blockId);
    const known = live === undefined ? undefined : values.find(({ value }) => value === live);
    if (known) this.#texts.delete(blockId);
    else this.dropped(blockId);
    for (const each of values) {
      if (each !== known) this.#frame({ blockId, chunk: asText(await this.#show(each.value)) });
      this.sent.add(each.selector);
    }
  }

  /** The text that was sent of the block counts no more. */
  dropped(blockId: string): void {
    if (this.#texts.delete(blockId)) this.#frame({ blockId, event: 'chunk_reset' });
  }

  #text(blockId: string, text: string): void {
    if (!this.#selected.some((each) => each.blockId === blockId)) return;
    this.#texts.set(blockId, (this.#texts.get(blockId) ?? '') + text);
    this.#frame({ blockId, chunk: text });
  }
}

/** Never what a tool was asked, nor what it has answered. */
function toolFrame(blockId: string, tool: Extract<BlockEmission, { type: 'tool' }>): object {
  const { phase, id, name } = tool;
  return { blockId, event: 'tool', phase, id, name, ...(phase === 'end' && { status: tool.status }) };
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
