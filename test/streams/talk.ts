import type { BlockEmission, BlockExecutor } from '@heddle/core/blocks';
import type { RunEvent } from '@heddle/engine';
import { block, workflow } from '../support/workflow.ts';

/** The texts that a block of the type `talk` emits. */
export const WORDS = ['Once ', 'upon ', 'a ', 'time'];
export const TEXT = WORDS.join('');

export const TALK_WORKFLOW = workflow([block('T', 'talk'), block('Z', 'talk')], ['Start -> T -> Z'], {
  id: 'talk',
});

/**
 * Returns the executor of blocks that emit WORDS one after another and output the whole text. `beforeWord` is called
 * before each word and at the end.
 */
export function createTalkExecutor(
  beforeWord: (index: number, blockName: string) => Promise<void> | void = () => undefined,
): BlockExecutor {
  return {
    types: ['talk'],
    class: 'effect',
    execute: async (context) => {
      for (const [index, text] of WORDS.entries()) {
        await beforeWord(index, context.block.name);
        context.emit({ type: 'text', text });
      }
      await beforeWord(WORDS.length, context.block.name);
      return { output: { content: TEXT } };
    },
  };
}

type EmissionEvent = Extract<RunEvent, { type: 'block:emission' }>;

export async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const collectedEvents: RunEvent[] = [];
  for await (const event of events) collectedEvents.push(event);
  return collectedEvents;
}

export function emissionsIn(events: readonly RunEvent[]): EmissionEvent[] {
  return events.flatMap((event) => (event.type === 'block:emission' ? [event] : []));
}

/** Returns the text that a reader has at the end, by block name. A reset discards the earlier text of its block. */
export function textByBlockName(emissions: readonly { blockName: string; emission: BlockEmission }[]): {
  [name: string]: string;
} {
  const texts: { [name: string]: string } = {};
  for (const { blockName, emission } of emissions)
    if (emission.type === 'reset') texts[blockName] = '';
    else if (emission.type === 'text') texts[blockName] = (texts[blockName] ?? '') + emission.text;
  return texts;
}

/** Returns the events as short strings: `T started`, `T "Once "`, `T reset`, `T completed`, `run started`. */
export function summarize(events: readonly RunEvent[]): string[] {
  return events.map((event) => {
    if (event.type === 'block:emission') {
      const { blockName, emission } = event;
      return `${blockName} ${emission.type === 'text' ? JSON.stringify(emission.text) : emission.type}`;
    }
    const [subject = '', verb = ''] = event.type.split(':');
    return 'log' in event ? `${event.log.blockName} ${verb}` : `${subject} ${verb}`;
  });
}
