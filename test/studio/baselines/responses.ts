import type { paths } from '../../client/fixtures/api.d.ts';

/** The body of a successful GET of this path. */
type ResponseBody<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

type Overview = ResponseBody<'/api/v2/logs/{runId}/overview'>['data'];
type Span = ResponseBody<'/api/v2/logs/{runId}/spans'>['data'][number];
type State = ResponseBody<'/api/v2/logs/{runId}/states'>['data']['blocks'][number];
type Run = ResponseBody<'/api/v2/logs'>['data'][number];
type Trigger = ResponseBody<'/api/v2/triggers'>['data'][number];
type Webhook = ResponseBody<'/api/v2/webhooks'>['data'][number];

/** The current time of the pages. */
export const NOW = '2026-03-02T09:30:00.000Z';

/** Returns the time `ms` milliseconds before `NOW`, in ISO 8601. */
const timeAgo = (ms: number): string => new Date(Date.parse(NOW) - ms).toISOString();

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const WORKSPACE_ID = 'workspace-1';
const WORKFLOW_ID = 'workflow-1';
/** The id of a run with blocks in all states. */
export const RUN_ID = 'run-1';

const toPage = <Item>(data: Item[]) => ({ data, nextCursor: null });

const workspaces: ResponseBody<'/api/v2/workspaces'> = toPage([
  {
    ...{ id: WORKSPACE_ID, name: 'Shop', color: '#2457c5', logoUrl: null, memberCount: 1 },
    ...{ createdAt: NOW, updatedAt: NOW },
  },
]);

const runs: ResponseBody<'/api/v2/logs'> = toPage(
  (
    [
      ['running', 'Nightly order prices', null, null],
      ['paused', 'Refunds', null, null],
      ['pending', 'Customer import', null, null],
      ['completed', 'Nightly order prices', 83_000, 0.0213],
      ['failed', 'Customer import', 240, null],
      ['cancelled', 'طلبات & <b>orders</b>', 3_900_000, 1.5],
    ] as const
  ).map(([status, name, totalDurationMs, cost], index): Run => {
    const startedAt = timeAgo((index + 1) * 7 * MINUTE_MS);
    const costTotal = cost === null ? null : { total: cost, totalMicros: cost * 1_000_000 };
    const workflow = { id: WORKFLOW_ID, name, description: null, deleted: false };
    return {
      ...{ runId: `run-${index + 1}`, workflowId: WORKFLOW_ID, deploymentVersionId: null, status, workflow },
      ...{ level: status === 'failed' ? 'error' : 'info', trigger: 'api', startedAt, totalDurationMs },
      ...{
        endedAt: totalDurationMs === null ? null : startedAt,
        cost: costTotal,
        files: null,
        kind: 'workflow',
      },
    };
  }),
);

/** The blocks of the run: id, name, type, and the id of the container, if any. */
const BLOCKS: readonly (readonly [string, string, string, string?])[] = [
  ['start', 'Start', 'start_trigger'],
  ['load', 'Load orders', 'function'],
  ['regions', 'Regions', 'parallel'],
  ['price', 'Price', 'function', 'regions'],
  ['approve', 'Approve refund', 'human_in_the_loop'],
  ['report', 'Report', 'agent'],
  ['send', 'Send', 'api'],
  ['store', 'Store', 'function'],
];

const EDGES = [
  ['start', 'load'],
  ['load', 'regions'],
  ['regions', 'price'],
  ['regions', 'approve'],
  ['regions', 'report'],
  ['load', 'send'],
  ['approve', 'store'],
] as const;

const run: Overview = {
  ...{ runId: RUN_ID, workspaceId: WORKSPACE_ID, version: 3, trigger: 'api', status: 'paused' },
  workflow: { id: WORKFLOW_ID, name: 'Nightly order prices', description: null, deleted: false },
  ...{ createdAt: timeAgo(2 * HOUR_MS), startedAt: timeAgo(2 * HOUR_MS), endedAt: null, durationMs: null },
  ...{ cost: 0.0213, error: null, files: null, parent: null, mayResume: true, children: [], childCount: 0 },
  pauses: [
    {
      ...{
        blockId: 'approve',
        blockName: 'Approve refund',
        scope: [],
        kind: 'human',
        contextId: 'context-1',
      },
      ...{ pausedAt: timeAgo(HOUR_MS), resumesAt: null, output: {} },
      inputFormat: [
        { name: 'approved', type: 'boolean', description: 'May the refund be paid?' },
        { name: 'amount', type: 'number', value: 25 },
        { name: 'comment', type: 'string' },
        { name: 'lines', type: 'array', value: ['one', 'two'] },
      ],
    },
  ],
  graph: {
    blocks: BLOCKS.map(([id, name, type, parentId = null]) => ({
      ...{ id, name, type, parentId, enabled: id !== 'store', position: null, width: null, height: null },
      ports: [],
    })),
    edges: EDGES.map(([source, target]) => ({ source, target, port: 'source' })),
  },
};

/** Returns the numbers of executions of a block, by status: one execution, unless `counts` says otherwise. */
const createExecutionCounts = (counts: Partial<Omit<State, 'blockId' | 'spanId' | 'status'>>) => ({
  ...{ total: 1, running: 0, paused: 0, completed: 0, failed: 0, cancelled: 0, handled: 0 },
  ...{ durationMs: null, iterations: null },
  ...counts,
});

const BRANCH_COUNTS = { total: 4, running: 0, paused: 0, completed: 3, failed: 1, cancelled: 0 };

const states: ResponseBody<'/api/v2/logs/{runId}/states'> = {
  data: {
    status: 'running',
    blocks: (
      [
        ['start', 'completed', createExecutionCounts({ completed: 1, durationMs: 1 })],
        ['load', 'completed', createExecutionCounts({ completed: 1, durationMs: 1240 })],
        [
          'regions',
          'completed',
          createExecutionCounts({ completed: 1, durationMs: 2600, iterations: BRANCH_COUNTS }),
        ],
        ['price', 'failed', createExecutionCounts({ total: 4, completed: 3, failed: 1, handled: 1 })],
        ['approve', 'paused', createExecutionCounts({ paused: 1 })],
        ['report', 'running', createExecutionCounts({ running: 1 })],
        ['send', 'failed', createExecutionCounts({ failed: 1, durationMs: 310 })],
      ] as const
    ).map(([blockId, status, counts]): State => ({ blockId, spanId: blockId, status, ...counts })),
  },
};

interface Times {
  /** Milliseconds after the start of the run. */
  startMs: number;
  /** Null if the span is open. */
  durationMs: number | null;
}

function span(id: string, times: Times, overrides: Partial<Span> = {}): Span {
  const blockId = id.replace(/\/\d+/g, '').split('/').at(-1) ?? id;
  const [, name = id, type = ''] = BLOCKS.find(([candidateId]) => candidateId === blockId) ?? [];
  const startTime = timeAgo(2 * HOUR_MS - times.startMs);
  return {
    ...{ id, parentId: '', depth: 0, name, type, status: 'completed', startTime, blockId, index: null },
    endTime: times.durationMs === null ? null : timeAgo(2 * HOUR_MS - times.startMs - times.durationMs),
    ...{ durationMs: times.durationMs, relativeStartMs: times.startMs, executionOrder: null, attempts: 1 },
    ...{ errorHandled: false, error: null, inputBytes: null, outputBytes: null, childCount: 0 },
    ...overrides,
  };
}

const branchSpan = (index: number, overrides: Partial<Span> = {}): Span =>
  span(
    `regions/${index}/price`,
    { startMs: 1300 + index * 500, durationMs: 900 },
    { depth: 1, parentId: 'regions', name: `Price ${index}`, ...overrides },
  );

/** Blocks that ran for seconds, an hour in which no block ran, and a block that is still running. */
const spans: ResponseBody<'/api/v2/logs/{runId}/spans'> = toPage([
  span('start', { startMs: 0, durationMs: 1 }),
  span('load', { startMs: 10, durationMs: 1240 }),
  span('regions', { startMs: 1260, durationMs: 2600 }, { childCount: 3 }),
  branchSpan(0),
  branchSpan(1),
  branchSpan(2, { status: 'failed', errorHandled: true }),
  span('send', { startMs: HOUR_MS, durationMs: 310 }, { status: 'failed' }),
  span('approve', { startMs: HOUR_MS + 400, durationMs: 1800 }, { status: 'cancelled' }),
  span('report', { startMs: 2 * HOUR_MS - 2500, durationMs: null }, { status: 'running' }),
]);

const value: ResponseBody<'/api/v2/logs/{runId}/value'> = {
  data: {
    ...{ kind: 'object', bytes: 81_920, size: 7, nextEntry: null, text: '{}', nextOffset: null },
    entries: [
      { key: 'total', kind: 'number', preview: '483.5' },
      { key: 'currency', kind: 'string', preview: '"EUR"' },
      { key: 'isFinal', kind: 'boolean', preview: 'true' },
      { key: 'discount', kind: 'null', preview: 'null' },
      { key: 'orders', kind: 'array', preview: '[{"id":1,"price":40},{"id":2,"price":15},{"id":3,…' },
      { key: 'customer', kind: 'object', preview: '{"name":"<script>alert(1)</script>","city":"Köln"}' },
      { key: 'ملاحظة', kind: 'string', preview: '"مرحبا"' },
    ],
  },
};

const folder = (path: string, locked = false) => {
  const segments = path.split('/');
  const name = decodeURIComponent(segments.at(-1) ?? '');
  const parentPath = segments.slice(0, -1).join('/') || '/';
  return { name, path, parentPath, locked, createdAt: NOW, updatedAt: NOW };
};

/** The folder that the page of workflows shows. */
export const SHOWN_FOLDER = '/Orders/Prices/Nightly';

const folders: ResponseBody<'/api/v2/workflows/folders'> = toPage([
  folder('/Imports'),
  folder('/Imports/Old', true),
  folder('/Orders'),
  folder('/Orders/Prices', true),
  folder(SHOWN_FOLDER),
  folder('/Orders/Refunds%20of%20customers%20with%20a%20long%20name'),
  folder('/%D8%B7%D9%84%D8%A8%D8%A7%D8%AA'),
]);

const HOOK_ERROR = 'The provider has refused to create the webhook: it answered 403.';

function trigger(id: string, type: string, overrides: Partial<Trigger> = {}): Trigger {
  return {
    ...{ id, workflowId: WORKFLOW_ID, workflowName: 'Orders', blockId: id, name: id, type, version: 3 },
    ...{ state: 'active', configuration: {}, nextDueAt: null, waitsFor: null, lastDueAt: null },
    lastRunId: null,
    health: {
      ...{ lastCheckAt: NOW, lastEventAt: null, expiresAt: null, lastError: null, failures: 0 },
      failingSince: null,
    },
    ...overrides,
  };
}

const failingHealth = (lastError: string, failures: number): Trigger['health'] => ({
  ...{ lastCheckAt: NOW, lastEventAt: null, expiresAt: null, lastError, failures, failingSince: null },
});

const triggers: ResponseBody<'/api/v2/triggers'> = toPage([
  trigger('Every hour', 'schedule', {
    nextDueAt: timeAgo(-30 * MINUTE_MS),
    lastDueAt: timeAgo(30 * MINUTE_MS),
  }),
  trigger('Issue', 'linear_webhook', { lastRunId: 'run-4' }),
  trigger('Push', 'github_webhook', { health: failingHealth(HOOK_ERROR, 0) }),
  trigger('Payment', 'stripe_webhook', {
    state: 'suspended',
    health: failingHealth('The run has failed.', 5),
  }),
]);

const webhook = (id: string, hook: Webhook['hook']): Webhook => ({
  ...{ id, workflowId: WORKFLOW_ID, workflowName: 'Orders', blockId: id, name: id, type: 'webhook' },
  ...{ provider: 'generic', version: 3, state: 'active', url: 'http://localhost/x', isSigned: true },
  ...{ lastDeliveryAt: null, lastRunId: null, hook, refusals: [] },
});

const webhooks: ResponseBody<'/api/v2/webhooks'> = toPage([
  webhook('Issue', { state: 'active', error: null, checkedAt: NOW, expiresAt: timeAgo(-72 * HOUR_MS) }),
  webhook('Push', { state: 'failed', error: HOOK_ERROR, checkedAt: NOW, expiresAt: null }),
  webhook('Payment', { state: 'preparing', error: null, checkedAt: null, expiresAt: null }),
]);

const workflow: ResponseBody<'/api/v2/workflows/{workflowId}'>['data'] = {
  ...{ id: WORKFLOW_ID, name: 'Orders', description: null, folderPath: '/', workspaceId: WORKSPACE_ID },
  ...{ isDeployed: false, deployedAt: null, runCount: 0, lastRunAt: null, createdAt: NOW, updatedAt: NOW },
  ...{ variables: {}, inputs: [] },
};

const deployment: ResponseBody<'/api/v2/workflows/{workflowId}/deployment'> = {
  data: {
    ...{ id: WORKFLOW_ID, isDeployed: false, deployedAt: null, warnings: [], activeDeployment: null },
    ...{ latestDeploymentAttempt: null, needsRedeployment: false, isPublicApi: false, webhooks: [] },
  },
};

const DRAFT = { blocks: {}, edges: [] };

/** The bodies of the responses to the requests of the pages, by path. */
export const RESPONSES: { readonly [path: string]: unknown } = {
  '/api/studio/session': { data: { signedIn: true } },
  '/api/v2/workspaces': workspaces,
  [`/api/v2/workspaces/${WORKSPACE_ID}/audit-logs`]: toPage([]),
  '/api/v2/logs': runs,
  [`/api/v2/logs/${RUN_ID}/overview`]: { data: run },
  [`/api/v2/logs/${RUN_ID}/states`]: states,
  [`/api/v2/logs/${RUN_ID}/spans`]: spans,
  [`/api/v2/logs/${RUN_ID}/value`]: value,
  '/api/v2/workflows/folders': folders,
  '/api/v2/workflows': toPage([]),
  '/api/v2/triggers': triggers,
  '/api/v2/webhooks': webhooks,
  [`/api/v2/workflows/${WORKFLOW_ID}`]: { data: workflow },
  [`/api/v2/workflows/${WORKFLOW_ID}/versions`]: toPage([]),
  [`/api/v2/workflows/${WORKFLOW_ID}/deployment`]: deployment,
  [`/api/v2/workflows/${WORKFLOW_ID}/state`]: { data: DRAFT },
};
