import type { Json, JsonObject } from '@heddle/core';
import { UsageError } from '../usage-error.ts';

/** Options that answer a pause in which an agent waits for the approval of tool calls. */
export interface DecisionOptions {
  /** `all`, or the ids of calls, separated by commas. */
  approve?: string;
  deny?: string;
  reason?: string;
  /** `CALL=JSON`: the arguments that replace the arguments of a call. */
  edit?: readonly string[];
}

const ALL = 'all';

/** Returns the answer from the options; undefined if there is none. Throws usage errors. */
export function decisionsOf(options: DecisionOptions): JsonObject | undefined {
  const { approve, deny, reason, edit = [] } = options;
  if (reason !== undefined && deny === undefined)
    throw new UsageError(
      '--reason has no effect without --deny.',
      'It tells the model why a call is denied.',
    );
  const denial = { decision: 'deny', ...(reason !== undefined && { reason }) };
  const optionValues = [approve, deny, ...edit].filter((option) => option !== undefined);
  if (optionValues.length === 0) return undefined;
  if (optionValues.length === 1 && approve === ALL) return { decision: 'approve' };
  if (optionValues.length === 1 && deny === ALL) return denial;
  const entries: [id: string, decision: Json][] = [
    ...idsOf(approve).map((id): [string, Json] => [id, { decision: 'approve' }]),
    ...idsOf(deny).map((id): [string, Json] => [id, denial]),
    ...edit.map((pair): [string, Json] => {
      const [id, args] = parseEdit(pair);
      return [id, { decision: 'edit', arguments: args }];
    }),
  ];
  return { decisions: decisionsByCallId(entries) };
}

/** Returns decisions by the ids of calls. Throws usage errors. */
function decisionsByCallId(entries: readonly [id: string, decision: Json][]): JsonObject {
  const decisions = new Map<string, Json>();
  for (const [id, decision] of entries) {
    if (id === ALL)
      throw new UsageError('"all" cannot be combined with another decision: name the calls instead.');
    if (decisions.has(id)) throw new UsageError(`Call ${id} has two decisions.`);
    decisions.set(id, decision);
  }
  return Object.fromEntries(decisions);
}

function idsOf(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
}

function parseEdit(pair: string): [id: string, args: Json] {
  const example = `Example: --edit '1.1={"to": "ada"}'`;
  const separator = pair.indexOf('=');
  if (separator <= 0) throw new UsageError('--edit takes CALL=JSON.', example);
  try {
    return [pair.slice(0, separator).trim(), JSON.parse(pair.slice(separator + 1)) as Json];
  } catch (error) {
    throw new UsageError(`The arguments of --edit are not JSON: ${(error as SyntaxError).message}`, example);
  }
}
