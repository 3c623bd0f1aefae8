import type { BlockClass } from '../machine/skeleton.ts';
import type { HostFeature } from '../ports.ts';

/** The properties of a block type for the compiler. Registered executors provide them for their types. */
export interface BlockTypeInfo {
  type: string;
  class: BlockClass;
  /**
   * Declared output names and their types (`string`, `number`, `boolean`, `json`, `array`, …). If absent, references
   * may use any path.
   */
  outputs?: { readonly [name: string]: string };
  /** Fields that must not be empty. */
  required?: readonly string[];
  /**
   * The fields that each value of the field `operation` needs: in each list, at least one must not be empty. The first
   * operation is the default.
   */
  requiredFieldsByOperation?: { readonly [operation: string]: readonly (readonly string[])[] };
  /** The feature of the host that each operation uses, by value of the field `operation`. */
  featureByOperation?: { readonly [operation: string]: HostFeature };
  /** Ports of its executor besides `source` and `error`. */
  ports?: readonly string[];
}

export type TypeTable = ReadonlyMap<string, BlockTypeInfo>;

const AGENT_OUTPUTS = {
  content: 'any',
  model: 'string',
  tokens: 'json',
  toolCalls: 'json',
  providerTiming: 'json',
  cost: 'json',
  unavailable: 'array',
  // An output that other products fill; empty in Heddle.
  interactionId: 'string',
};
const ROUTER_OUTPUTS = {
  model: 'string',
  tokens: 'json',
  cost: 'json',
  unavailable: 'array',
  selectedRoute: 'string',
  selectedPath: 'json',
};
const ANSWER_OUTPUTS = {
  content: 'string',
  model: 'string',
  tokens: 'json',
  cost: 'json',
  unavailable: 'array',
};
const CHILD_OUTPUTS = {
  success: 'boolean',
  childWorkflowName: 'string',
  childWorkflowId: 'string',
  result: 'json',
};
const PAUSE_OUTPUTS = {
  url: 'string',
  resumeEndpoint: 'string',
  response: 'json',
  submission: 'json',
  resumeInput: 'json',
  submittedAt: 'string',
};

/** Types of the integrations in @heddle/blocks. References may use any path of their outputs. */
const INTEGRATION_TYPES = [
  'airtable',
  'discord',
  'exa',
  'file',
  'file_v2',
  'file_v3',
  'file_v4',
  'file_v5',
  'firecrawl',
  'github',
  'github_v2',
  'gmail',
  'gmail_v2',
  'google_calendar',
  'google_calendar_v2',
  'google_drive',
  'google_sheets',
  'google_sheets_v2',
  'hubspot',
  'jira',
  'knowledge',
  'linear',
  'linkedin',
  'mistral_parse',
  'mistral_parse_v2',
  'mistral_parse_v3',
  'notion',
  'notion_v2',
  'postgresql',
  'reddit',
  'resend',
  's3',
  'slack',
  'stripe',
  'supabase',
  'tavily',
  'telegram',
  'x',
];

const KNOWN_TYPES: readonly BlockTypeInfo[] = [
  { type: 'function', class: 'compute', outputs: { result: 'json', stdout: 'string' } },
  {
    type: 'condition',
    class: 'compute',
    outputs: { conditionResult: 'boolean', selectedPath: 'json', selectedOption: 'string' },
  },
  { type: 'variables', class: 'compute' },
  // Older workflows use <reply.response.data> for <reply.data>.
  {
    type: 'response',
    class: 'compute',
    outputs: { data: 'json', status: 'number', headers: 'json', response: 'json' },
  },
  { type: 'api', class: 'effect', outputs: { data: 'json', status: 'number', headers: 'json' } },
  { type: 'webhook_request', class: 'effect', outputs: { data: 'json', status: 'number', headers: 'json' } },
  { type: 'agent', class: 'effect', outputs: AGENT_OUTPUTS },
  { type: 'router', class: 'effect', outputs: { prompt: 'string', ...ROUTER_OUTPUTS } },
  {
    type: 'router_v2',
    class: 'effect',
    outputs: { context: 'string', reasoning: 'string', ...ROUTER_OUTPUTS },
  },
  {
    type: 'evaluator',
    class: 'effect',
    outputs: { content: 'any', model: 'string', tokens: 'json', cost: 'json', unavailable: 'array' },
  },
  { type: 'translate', class: 'effect', outputs: ANSWER_OUTPUTS },
  { type: 'vision', class: 'effect', outputs: ANSWER_OUTPUTS },
  { type: 'thinking', class: 'effect', outputs: { acknowledgedThought: 'string' } },
  { type: 'wait', class: 'wait', outputs: { waitDuration: 'number', status: 'string', resumeAt: 'string' } },
  { type: 'human_in_the_loop', class: 'pause', outputs: PAUSE_OUTPUTS },
  { type: 'workflow', class: 'child', outputs: CHILD_OUTPUTS },
  { type: 'workflow_input', class: 'child', outputs: CHILD_OUTPUTS },
  { type: 'loop', class: 'compute', outputs: { results: 'array' } },
  { type: 'parallel', class: 'compute', outputs: { results: 'array' } },
  { type: 'logs', class: 'effect', outputs: { runs: 'array', run: 'json', blocks: 'array' } },
  { type: 'memory', class: 'effect', outputs: { memories: 'json', id: 'string' } },
  { type: 'mcp', class: 'effect', outputs: { content: 'any' } },
  { type: 'guardrails', class: 'effect' },
  {
    type: 'credential',
    class: 'effect',
    outputs: { credentialId: 'string', displayName: 'string', providerId: 'string', type: 'string' },
  },
  { type: 'tool', class: 'effect', outputs: { data: 'json', status: 'number', headers: 'json' } },
  { type: 'table', class: 'effect' },
  ...INTEGRATION_TYPES.map((type): BlockTypeInfo => ({ type, class: 'effect' })),
];

/** Triggers in order of preference. The default start of a run is the first one that a workflow has. */
export const TRIGGER_PRIORITY = [
  'start_trigger',
  'api_trigger',
  'input_trigger',
  'manual_trigger',
  'chat_trigger',
  'starter',
] as const;

/** Triggers of external systems. Like blocks in trigger mode, they come after the other triggers. */
const EXTERNAL_TRIGGERS = new Set([
  'trigger',
  'generic_webhook',
  'webhook',
  'schedule',
  'rss',
  'imap',
  'circleback',
]);

/** Returns true for types that start runs. */
export function isTriggerType(type: string): boolean {
  return (
    triggerRank(type) < TRIGGER_PRIORITY.length ||
    EXTERNAL_TRIGGERS.has(type) ||
    type.endsWith('_workspace_event')
  );
}

/**
 * Returns the position of a type in the order of default starts, from 0. All types outside TRIGGER_PRIORITY share the
 * last position.
 */
export function triggerRank(type: string): number {
  const rank = (TRIGGER_PRIORITY as readonly string[]).indexOf(type);
  return rank < 0 ? TRIGGER_PRIORITY.length : rank;
}

/**
 * Returns the known block types by name, overridden by the registered ones. A registered type inherits the properties
 * that it omits.
 */
export function typeTable(registeredTypes: readonly BlockTypeInfo[] = []): TypeTable {
  const table = new Map(KNOWN_TYPES.map((info) => [info.type, info]));
  for (const info of registeredTypes) table.set(info.type, { ...table.get(info.type), ...info });
  return table;
}

/** Returns the names of known and registered block types, and of triggers. */
export function typeNames(table: TypeTable): string[] {
  return [...table.keys(), ...TRIGGER_PRIORITY, ...EXTERNAL_TRIGGERS];
}

/** Known types for which no package of Heddle has an executor. */
const TYPES_WITHOUT_EXECUTOR: ReadonlySet<string> = new Set(['table']);

/**
 * Returns the types that can run: those in `registeredTypes`, or without `registeredTypes` the types with an executor
 * in Heddle's packages.
 */
export function runnableTypes(registeredTypes?: readonly BlockTypeInfo[]): ReadonlySet<string> {
  const types = (registeredTypes ?? KNOWN_TYPES).map(({ type }) => type);
  return new Set(registeredTypes ? types : types.filter((type) => !TYPES_WITHOUT_EXECUTOR.has(type)));
}
