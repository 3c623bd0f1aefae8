import type { TriggerInfo, TriggerProblem } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import type { FlowPolicy } from '@heddle/engine/triggers';
import * as z from 'zod';

const MAX_KEY_CHARACTERS = 256;
const MAX_RUNS = 100;
const MAX_STARTS = 1000;
const MAX_EVENTS = 1000;
const DAY_SECONDS = 86_400;
/** Without `maxSeconds`, a debounce lasts at most this many times its quiet period. */
const DEBOUNCE_FACTOR = 10;

/** Returns a schema for a whole number. Errors of schemas complete the message `it must be …`. */
function wholeNumber(from: number, to: number) {
  const error = `a whole number from ${from} to ${to}`;
  return z.int({ error }).min(from, { error }).max(to, { error });
}

const seconds = wholeNumber(1, DAY_SECONDS);

const policy = z
  .strictObject({
    key: z
      .string({ error: 'a path such as customer.id' })
      .trim()
      .max(MAX_KEY_CHARACTERS, { error: `a path of at most ${MAX_KEY_CHARACTERS} characters` })
      .regex(/^[^.]+(\.[^.]+)*$/, { error: 'a path such as customer.id' })
      .optional(),
    scope: z.enum(['trigger', 'workflow'], { error: 'trigger or workflow' }).default('trigger'),
    concurrency: wholeNumber(1, MAX_RUNS).optional(),
    throttle: z
      .strictObject({
        limit: wholeNumber(1, MAX_STARTS),
        seconds,
        excess: z.enum(['wait', 'drop'], { error: 'wait or drop' }).default('wait'),
      })
      .optional(),
    debounce: z.strictObject({ seconds, maxSeconds: seconds.optional() }).optional(),
    batch: z.strictObject({ size: wholeNumber(2, MAX_EVENTS), seconds }).optional(),
    singleton: z.enum(['skip', 'cancel'], { error: 'skip or cancel' }).optional(),
  })
  .superRefine((values, context) => {
    const problem = problemOf(values);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

type Policy = z.output<typeof policy>;

/** Pairs of limits that cannot be combined. */
const EXCLUSIVE_PAIRS = [
  ['debounce', 'batch'],
  ['singleton', 'concurrency'],
  ['singleton', 'debounce'],
  ['singleton', 'batch'],
] as const;

function problemOf(values: Policy): string | undefined {
  const limitNames = (['concurrency', 'throttle', 'debounce', 'batch', 'singleton'] as const).filter(
    (name) => values[name] !== undefined,
  );
  if (limitNames.length === 0) return 'has none of concurrency, throttle, debounce, batch and singleton';
  const pair = EXCLUSIVE_PAIRS.find((names) => names.every((name) => limitNames.includes(name)));
  if (pair) return `has both ${pair.join(' and ')}: use one of them`;
  const { seconds: quietSeconds = 0, maxSeconds = Infinity } = values.debounce ?? {};
  return maxSeconds < quietSeconds ? 'has a debounce whose maxSeconds is less than its seconds' : undefined;
}

/** The field of flow control, for the documentation and for workflow editors. */
export const flowControlFields = {
  flowControl: z
    .json()
    .optional()
    .describe(
      'Delays, merges or drops runs. The value is JSON with concurrency, throttle, debounce, batch or singleton, and an optional `key`. See Flow control.',
    ),
};

/** Returns the trigger with the additional field `flowControl`. Its configuration has the policy in `flow`. */
export function withFlowControl<Trigger extends TriggerInfo>(trigger: Trigger): Trigger {
  return {
    ...trigger,
    parseConfig({ flowControl = null, ...fields }) {
      const result = trigger.parseConfig(fields);
      const flow = readPolicy(flowControl);
      const problems = [
        ...('problems' in result ? result.problems : []),
        ...('problem' in flow ? [flow.problem] : []),
      ];
      if ('problems' in result || 'problem' in flow) return { problems };
      return flow.policy ? { ...result, config: { ...result.config, flow: flow.policy } } : result;
    },
  };
}

function readPolicy(field: Json): { policy: JsonObject | undefined } | { problem: TriggerProblem } {
  if (field === null || (typeof field === 'string' && field.trim() === '')) return { policy: undefined };
  const value = typeof field === 'string' ? parseJson(field) : field;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: { field: 'flowControl', message: 'is not a JSON object' } };
  const parsed = policy.safeParse(value);
  if (parsed.success) return { policy: policyOf(parsed.data) as unknown as JsonObject };
  const [issue] = parsed.error.issues;
  return { problem: { field: 'flowControl', message: messageOf(issue) } };
}

function messageOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'custom') return issue.message;
  const path = issue?.path.join('.') ?? '';
  const quotedPath = path === '' ? '' : ` "${path}"`;
  if (issue?.code === 'unrecognized_keys')
    return `has the unknown field ${issue.keys.map((key) => `"${path === '' ? key : `${path}.${key}`}"`).join(', ')}`;
  return `has an invalid field${quotedPath}: it must be ${issue?.code === 'invalid_type' && issue.expected === 'object' ? 'an object' : issue?.message}`;
}

function policyOf({ key, scope, concurrency, throttle, debounce, batch, singleton }: Policy): FlowPolicy {
  return {
    scope,
    ...(key !== undefined && { key }),
    ...(concurrency !== undefined && { concurrency }),
    ...(throttle && {
      throttle: { limit: throttle.limit, ms: throttle.seconds * 1000, excess: throttle.excess },
    }),
    ...(debounce && {
      debounce: {
        ms: debounce.seconds * 1000,
        maxMs: (debounce.maxSeconds ?? debounce.seconds * DEBOUNCE_FACTOR) * 1000,
      },
    }),
    ...(batch && { batch: { size: batch.size, ms: batch.seconds * 1000 } }),
    ...(singleton !== undefined && { singleton }),
  };
}
