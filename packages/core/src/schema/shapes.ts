import * as z from 'zod';
import { diagnostic } from '../plan/diagnostics.ts';
import type { DiagnosticSink } from '../plan/diagnostics.ts';
import { PARSE_LIMITS } from './validate.ts';

// The schemas have only the keys that the engine reads: other keys belong to editors and are omitted. The input is
// validated, so `unknown` is JSON here.

const anything = z.unknown().optional();
const name = z.string().max(PARSE_LIMITS.nameChars);
const object = z.record(z.string(), anything);

export const blockShape = z.object({
  id: z.string().min(1).nullish(),
  type: name.min(1),
  name: name.nullish(),
  enabled: z.boolean().nullish(),
  triggerMode: z.boolean().nullish(),
  subBlocks: object.nullish(),
  outputs: anything,
  data: object.nullish(),
  retry: anything,
  timeoutMs: anything,
});

export const edgeShape = z.object({
  source: z.string().min(1),
  target: z.string().min(1),
  sourceHandle: z.string().nullish(),
});

export const variableShape = z.object({
  id: name.min(1).nullish(),
  name,
  type: z.string().nullish(),
  value: anything,
});

export const containerShape = z
  .object({ id: z.string().nullish(), nodes: z.array(z.string()).nullish() })
  .catchall(anything);

/**
 * Returns the value that the schema parses. If it does not match, reports the errors with paths from the state's root,
 * and returns undefined.
 */
export function parseShape<T>(
  schema: z.ZodType<T>,
  value: unknown,
  path: (string | number)[],
  sink: DiagnosticSink,
): T | undefined {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const issuePath = [...path, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))];
    const dottedPath = issuePath.map(String).join('.');
    const problem =
      value === undefined
        ? 'is missing'
        : issue.message
            .replace(/^Invalid input: /, '')
            .replace(/^\w/, (firstLetter) => firstLetter.toLowerCase());
    sink.push(
      diagnostic('INPUT_SHAPE', {
        ...(path[0] === 'blocks' && typeof path[1] === 'string' && { blockId: path[1] }),
        path: issuePath,
        message: `${dottedPath}: ${problem}.`,
        hint: 'Correct this part of the file, or export the workflow again.',
      }),
    );
  }
  return undefined;
}
