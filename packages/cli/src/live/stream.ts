import type { RunEvent } from '@heddle/engine';
import type { Io } from '../io.ts';
import { sanitize, sanitizeLine, styleFor } from '../render/style.ts';

/**
 * Writes the events of a run to stdout: with `json` each event once, as a line of JSON; else the text of its agents as
 * it arrives. Writes the names of agents, and notes about text that was not the answer, to stderr. Resolves when the
 * events end. Rejects if `failure` does.
 */
export async function streamEvents(
  io: Io,
  events: AsyncIterable<RunEvent>,
  { json, failure }: { json: boolean; failure?: Promise<never> },
): Promise<void> {
  const writeEvent = json ? jsonLineWriter(io) : textWriter(io);
  const writeAll = async (): Promise<void> => {
    for await (const event of events) writeEvent(event);
    writeEvent(undefined);
  };
  await Promise.race([writeAll(), ...(failure ? [failure] : [])]);
}

/** Receives the events of a run, and undefined at their end. */
type EventWriter = (event: RunEvent | undefined) => void;

function jsonLineWriter(io: Io): EventWriter {
  const seenKeys = new Set<string>();
  return (event) => {
    if (!event) return;
    // Logs fill in what a listener missed, so events of blocks may arrive twice.
    const key = 'log' in event ? `${event.type} ${event.log.executionOrder}` : undefined;
    if (key !== undefined && seenKeys.has(key)) return;
    if (key !== undefined) seenKeys.add(key);
    io.stdout.write(`${JSON.stringify(event)}\n`);
  };
}

function textWriter(io: Io): EventWriter {
  const style = styleFor(io.stderr);
  let currentBlockKey: string | undefined;
  let isLineOpen = false;
  const endLine = (): void => {
    if (isLineOpen) io.stdout.write('\n');
    isLineOpen = false;
  };
  return (event) => {
    if (!event) return endLine();
    if (event.type !== 'block:emission') return;
    const { emission, blockName, blockId, scope } = event;
    if (emission.type === 'reset' && isLineOpen) {
      endLine();
      io.stderr.write(`${style.dim('  (not the answer)')}\n`);
    }
    if (emission.type !== 'text') return;
    const blockKey = [blockId, ...scope].join('/');
    if (blockKey !== currentBlockKey) {
      endLine();
      io.stderr.write(`${style.dim(`  ${sanitizeLine(blockName)}:`)}\n`);
      currentBlockKey = blockKey;
    }
    const text = sanitize(emission.text);
    if (text === '') return;
    io.stdout.write(text);
    isLineOpen = !text.endsWith('\n');
  };
}
