import type { BlockClass } from '../machine/skeleton.ts';

/** What the compiler has to know of a type of block; registered executors bring theirs. */
export interface BlockTypeInfo {
  type: string;
  class: BlockClass;
  /** Declared output names and their types (`string`, `number`, `boolean`, `json`, `array`, …); absent: every path may be referenced. */
  outputs?: { readonly [name: string]: string };
  /** Fields that must not be empty. */
  required?: readonly string[];
  /** Ports beside `source` and `error` that its executor takes. */
  ports?: readonly string[];
}

export type TypeTable = ReadonlyMap<string, BlockTypeInfo>;

const AGENT = {
  content: 'any',
  model: 'string',
  tokens: 'json',
  toolCalls: 'json',
  providerTiming: 'json',
  cost: 'json',
  interactionId: 'string',
};
const CHOICE = {
  model: 'string',
  tokens: 'json',
  cost: 'json',
  selectedRoute: 'string',
  selectedPath: 'json',
};
const CHILD = {
  success: 'boolean',
  childWorkflowName: 'string',
  childWorkflowId: 'string',
  result: 'json',
};
const PAUSE = {
  url: 'string',
  resumeEndpoint: 'string',
  response: 'json',
  submission: 'json',
  resumeInput: 'json',
  submittedAt: 'string',
};

const KNOWN: readonly BlockTypeInfo[] = [
  { type: 'function', class: 'compute', outputs: { result: 'json', stdout: 'string' } },
  {
    type: 'condition',
    class: 'compute',
    outputs: { conditionResult: 'boolean', selectedPath: 'json', selectedOption: 'string' },
  },
  { type: 'variables', class: 'compute' },
  // Older graphs write <reply.response.data> for <reply.data>.
  {
    type: 'response',
    class: 'compute',
    outputs: { data: 'json', status: 'number', headers: 'json', response: 'json' },
  },
  { type: 'api', class: 'effect', outputs: { data: 'json', status: 'number', headers: 'json' } },
  { type: 'webhook_request', class: 'effect', outputs: { data: 'json', status: 'number', headers: 'json' } },
  { type: 'agent', class: 'effect', outputs: AGENT },
  { type: 'router', class: 'effect', outputs: { prompt: 'string', ...CHOICE } },
  { type: 'router_v2', class: 'effect', outputs: { context: 'string', reasoning: 'string', ...CHOICE } },
  {
    type: 'evaluator',
    class: 'effect',
    outputs: { content: 'any', model: 'string', tokens: 'json', cost: 'json' },
  },
  { type: 'wait', class: 'wait', outputs: { waitDuration: 'number', status: 'string', resumeAt: 'string' } },
  { type: 'human_in_the_loop', class: 'pause', outputs: PAUSE },
  { type: 'workflow', class: 'child', outputs: CHILD },
  { type: 'workflow_input', class: 'child', outputs: CHILD },
  { type: 'loop', class: 'compute', outputs: { results: 'array' } },
  { type: 'parallel', class: 'compute', outputs: { results: 'array' } },
  { type: 'memory', class: 'effect', outputs: { memories: 'json', id: 'string' } },
  { type: 'mcp', class: 'effect', outputs: { content: 'any' } },
  { type: 'guardrails', class: 'effect' },
  { type: 'knowledge', class: 'effect' },
  { type: 'table', class: 'effect' },
  { type: 'file', class: 'effect' },
];

/** Triggers, best start first: the default start of a run is the first of them that a workflow has. */
export const TRIGGER_PRIORITY = [
  'start_trigger',
  'api_trigger',
  'input_trigger',
  'manual_trigger',
  'chat_trigger',
  'starter',
] as const;

/** Triggers that something outside sets off; they come after the others, as do blocks in trigger mode. */
const EXTERNAL_TRIGGERS = new Set([
  'trigger',
  'generic_webhook',
  'webhook',
  'schedule',
  'rss',
  'imap',
  'circleback',
]);

/** True for types that start runs. */
export function isTriggerType(type: string): boolean {
  return (
    triggerRank(type) < TRIGGER_PRIORITY.length ||
    EXTERNAL_TRIGGERS.has(type) ||
    type.endsWith('_workspace_event')
  );
}

/** Position in the order of default starts, from 0; external triggers share the last one. */
export function triggerRank(type: string): number {
  const rank = (TRIGGER_PRIORITY as readonly string[]).indexOf(type);
  return rank < 0 ? TRIGGER_PRIORITY.length : rank;
}

/** The known types by name, those of registered executors over them. What a registration leaves out, the known type keeps. */
export function typeTable(registered: readonly BlockTypeInfo[] = []): TypeTable {
  const table = new Map(KNOWN.map((info) => [info.type, info]));
  for (const info of registered) table.set(info.type, { ...table.get(info.type), ...info });
  return table;
}

/** The names of all types that a block can have: known, registered, and those of triggers. */
export function typeNames(table: TypeTable): string[] {
  return [...table.keys(), ...TRIGGER_PRIORITY, ...EXTERNAL_TRIGGERS];
}

/** Types that something runs: those of registered executors, or where none are given every known one. */
export function runnableTypes(registered?: readonly BlockTypeInfo[]): ReadonlySet<string> {
  return new Set((registered ?? KNOWN).map(({ type }) => type));
}
