import { isBlockError } from '@heddle/core/blocks';
import type { BlockConfig, JsonObject, NotificationOutcome, Region } from '@heddle/core/blocks';
import type { RunHeader, Plan } from '@heddle/core';
import type { VersionedPlan } from '../definitions.ts';
import type { Place, RunState } from '@heddle/core/run';
import { callWorkflow } from '../executors/child.ts';
import { portsOf, targetOf } from '../executors/context.ts';
import { asText } from '../executors/values.ts';
import { startOutput } from '../executors/start.ts';
import type {
  PauseLinks,
  ChildOutcome,
  ChildRequest,
  EngineContext,
  EngineExecutor,
  ExecutorServices,
  RateLimiter,
  RunInfo,
  RunLog,
} from '../executors/services.ts';
import { unknownTypeError } from '../executors/registry.ts';
import { fileReader, openFile } from '../files/storage.ts';
import { fileStorage, fileTooLargeError } from '../files/run-files.ts';
import type { FileStorage } from '../files/run-files.ts';
import { mockResult } from '../mocks/mock-result.ts';
import { NO_MOCKS, parseMocks, type Mocks } from '../mocks/mocks.ts';
import { mapMaybePromise } from '../map-maybe-promise.ts';
import type { BlockTask } from './attempt.ts';
import type { AttemptPlace } from './attempt-entry.ts';
import { callChain, childError, findChildRun } from './child-runs.ts';
import type { CredentialContext } from '../secrets/credentials.ts';
import { findCredential } from '../secrets/credentials.ts';
import type { WarmUp } from './code-service.ts';
import { conversationIds, conversationOf } from './conversation.ts';
import type { RunEnvironment } from './run-environment.ts';
import type { CommandExecutorDependencies } from './command-executor.ts';
import type { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { declaredInputs } from './plan-queries.ts';
import type { RunConnections } from './run-connections.ts';
import type { ReferenceResolver } from './reference-resolver.ts';
import { pruneHourly } from './prune-hourly.ts';
import { skillsOf } from './skills.ts';
import { tenantFilesOf } from './tenant-files.ts';
import { tenantKnowledgeOf } from './tenant-knowledge.ts';
import { createSpendingFactory } from './spending.ts';
import { wrapStoreErrors, InfrastructureError } from '../records/infrastructure-error.ts';
import type { RuntimeDependencies } from './runtime-dependencies.ts';

/** The run whose blocks use the services. */
interface ServedRun {
  header: RunHeader;
  environment: RunEnvironment;
  runState: RunState;
  limiter: ConcurrencyLimiter;
  /** Returns the token of the pause point that an attempt opens. */
  createToken: (this: void, attempt: AttemptPlace) => string;
  connections: RunConnections;
  /** Runs a child run to its end for the block at `place`. */
  runChild(request: ChildRequest, place: Place, task: BlockTask): Promise<ChildOutcome>;
}

/**
 * Returns the services for the blocks of one run: executors or mocks, the sandbox, the network, files and child runs.
 */
export function createBlockServices(
  dependencies: RuntimeDependencies,
  run: ServedRun,
): Pick<CommandExecutorDependencies, 'executorOf' | 'services' | 'createFileReader'> {
  const { header, environment } = run;
  const { plan } = run.runState;
  const mocks = header.mocks === null ? NO_MOCKS : parseMocks(header.mocks);
  const runInfo: RunInfo = {
    variables: plan.variables,
    get env() {
      return environment.values;
    },
    compat: plan.compat,
    // The call chain includes calls over HTTP. Runs that started before call chains were recorded have only the depth.
    depth: Math.max(header.parent?.depth ?? 0, header.via?.length ?? 0),
    callChain: callChain(header),
    codeLimits: dependencies.codeLimits,
  };
  const tenant = createTenantLookup(dependencies, plan);
  const spending = createSpendingFactory(dependencies, { header, tenant });
  const storeFile = fileStorage(dependencies, tenant);
  const warmUps = pythonWarmUps(plan, mocks);
  if (warmUps.length > 0) void dependencies.codeService.warm(warmUps, tenant);
  return {
    executorOf: (block, countExecutions) => {
      const mockValues = mocks.valuesFor(block);
      if (mockValues) {
        const earlierExecutionCount = countExecutions();
        return createComputeExecutor(block, (context) => {
          readFields(context);
          return { output: {}, ...mockResult(block, mockValues, earlierExecutionCount) };
        });
      }
      return block.trigger
        ? triggerExecutor(block, run, dependencies)
        : registeredExecutor(block, dependencies);
    },
    createFileReader: () => fileReader(dependencies, header, { tenant, tooLargeError: fileTooLargeError }),
    services: (place, resolver, task) =>
      servicesOf({ dependencies, run, place, resolver, task, runInfo, tenant, spending, storeFile }),
  };
}

/** Returns a lookup of the run's tenant. Its first successful result is cached. */
function createTenantLookup(
  dependencies: RuntimeDependencies,
  { workflow }: Plan,
): () => Promise<string | undefined> {
  let lookup: Promise<string | undefined> | undefined;
  return () =>
    (lookup ??= (async () => dependencies.tenant(workflow.id))().catch((error: unknown) => {
      lookup = undefined;
      throw error;
    }));
}

/**
 * Returns one warm-up for each image of the plan's Python blocks. Images that are named only in the run's data are not
 * known yet.
 */
function pythonWarmUps({ blocks }: Plan, mocks: Mocks): WarmUp[] {
  const warmUps = new Map<string, WarmUp>();
  for (const block of Object.values(blocks)) {
    if (block.code?.language !== 'python' || mocks.valuesFor(block)) continue;
    const imageField = block.params['sandboxId'];
    if (imageField !== undefined && imageField.kind !== 'literal') continue;
    const image = asText(imageField?.value ?? '').trim();
    warmUps.set(image, { language: 'python', ...(image !== '' && { image }) });
  }
  return [...warmUps.values()];
}

/**
 * Reads the fields that the real block would read, for the log. A field that cannot be resolved does not fail the mock.
 */
function readFields(context: EngineContext): void {
  const { block } = context;
  if (block.trigger) return;
  for (const name of Object.keys(block.params)) {
    try {
      context.field(name, 'native');
    } catch (error) {
      if (!isBlockError(error)) throw error;
    }
  }
}

function createComputeExecutor(block: BlockConfig, execute: EngineExecutor['execute']): EngineExecutor {
  return { types: [block.type], class: 'compute', execute };
}

function triggerExecutor(
  block: BlockConfig,
  { runState, header }: ServedRun,
  dependencies: RuntimeDependencies,
): EngineExecutor {
  const metadata = (): JsonObject => ({
    workflowId: header.workflowId,
    executionId: header.callerId ?? header.runId,
    startTime: new Date(header.createdMs).toISOString(),
  });
  return createComputeExecutor(block, () => {
    const input = dependencies.values.load(runState.ledger.input);
    return mapMaybePromise(input, (loaded) => ({ output: startOutput(block, loaded, metadata) }));
  });
}

function registeredExecutor(block: BlockConfig, dependencies: RuntimeDependencies): EngineExecutor {
  const executor = dependencies.registry.get(block.type);
  if (!executor) throw unknownTypeError(block);
  return executor;
}

const MIN_CREDENTIAL_CHARS = 8;

interface ServiceContext {
  dependencies: RuntimeDependencies;
  run: ServedRun;
  place: Place;
  resolver: ReferenceResolver;
  task: BlockTask;
  runInfo: RunInfo;
  tenant: () => Promise<string | undefined>;
  spending: ReturnType<typeof createSpendingFactory>;
  storeFile: FileStorage;
}

function servicesOf(serviceContext: ServiceContext): ExecutorServices {
  const { dependencies, run, place, resolver, task, runInfo, tenant, spending, storeFile } = serviceContext;
  const { plan, index } = run.runState;
  const store = dependencies.stores.conversations;
  const address = (): number[] => index.addressOf(place.block, place.scope);
  const region = () => regionAt(plan.skeleton, address());
  const node = (): number => address().at(-1) as number;
  const find = (reference: string) => liveChild({ dependencies, run, place, task, tenant }, reference);
  const tenantDependencies = {
    tenant,
    onError: (error: unknown) => dependencies.onError(error, run.header.runId),
  };
  const services: ExecutorServices = {
    sandbox: async () =>
      dependencies.codeService.limitedSandbox((work) => run.limiter(work, task.signal), await tenant()),
    httpClient: () => dependencies.blockHttpClient(),
    service: async (name) => {
      const service = await dependencies.service(name);
      const { credential = '' } = service;
      // A response can repeat the credential of a request. Shorter credentials are placeholders for local servers
      // (`none`).
      if (credential.length >= MIN_CREDENTIAL_CHARS) run.environment.addSecret(name, credential);
      return service;
    },
    credential: (query) => findCredential(credentialContext(dependencies, run, tenant), query),
    skills: skillsOf({ skills: dependencies.skills, ...tenantDependencies }),
    tenantFiles: tenantFilesOf(dependencies.tenantFiles, tenantDependencies),
    tenantKnowledge: tenantKnowledgeOf(dependencies.tenantKnowledge, tenantDependencies),
    readFile: (record) =>
      fileReader(dependencies, run.header, { tenant, tooLargeError: fileTooLargeError })(record),
    storeFile,
    openFile: ({ id, key }) => openFile(dependencies, run.header, { id, key, tenant }),
    conversation: (id) =>
      conversationOf({ store, tenant, environment: run.environment, runId: run.header.runId, place }, id),
    conversationIds: (limit) => conversationIds({ store, tenant }, limit),
    spending: spending(place, plan.blocks[place.block]?.name ?? place.block),
    rateLimiter: sharedRateLimiter(dependencies),
    connection: (key, open) => run.connections.get(key, task.signal, open),
    withoutSlot: (wait) => (task.slot ? task.slot.runWithout(wait) : wait()),
    runs: () => createRunLog(dependencies, { workflow: plan.workflow, tenant, find }),
    lookup: resolver,
    ...(dependencies.pauseLinks && { pauseLinks: () => pauseLinksOf(serviceContext) }),
    ...(dependencies.notify && { notify: (context) => callNotifiers(serviceContext, context) }),
    run: runInfo,
    target: (port) => targetOf(region(), node(), port),
    ports: () => portsOf(region(), node()),
    findChild: async (reference, call) => {
      const child = await childDefinition({ dependencies, run, place, task, tenant, call }, reference);
      if (!child) return undefined;
      const { id: workflowId, name, description } = child.plan.workflow;
      return { workflowId, version: child.version, name, description, inputs: declaredInputs(child.plan) };
    },
    runChild: (request) => callChild(serviceContext, request),
    callWorkflow: async (reference, { input, ...call }) =>
      (await callWorkflow(services, { reference, createInput: () => input, ...call })).output,
  };
  return services;
}

/** Returns the URLs at which a person can resume the pause point that the attempt opens. */
function pauseLinksOf({ dependencies, run, place, task }: ServiceContext): PauseLinks {
  task.pauseToken ??= newPauseToken(run, place, task);
  const { workflowId, runId } = run.header;
  return dependencies.pauseLinks?.({ workflowId, runId, token: task.pauseToken }) ?? {};
}

function newPauseToken(run: ServedRun, { block, scope }: Place, { attempt, resumes }: BlockTask): string {
  return run.createToken({ block, scope, try: attempt, ...(resumes !== undefined && { resumes }) });
}

/**
 * Calls the notification tools of a pause. A step stores the pause token first, so that after a crash the pause opens
 * at the URL that the tools have already sent.
 */
async function callNotifiers(
  { dependencies, run, place, task }: ServiceContext,
  context: EngineContext,
): Promise<NotificationOutcome[]> {
  const token = (): string => newPauseToken(run, place, task);
  task.pauseToken ??= await context.step('address', token, { idempotent: true });
  return (await dependencies.notify?.(context)) ?? [];
}

/**
 * Runs a child run. The block releases its slot while it waits only for child runs, because their blocks need slots.
 */
async function callChild({ run, place, task }: ServiceContext, request: ChildRequest): Promise<ChildOutcome> {
  // Redacted here, because the child does not redact secrets that its own blocks cannot read.
  const input = run.environment.redactJson(request.input);
  const noop = (): void => undefined;
  const otherWorkDone = request.otherWorkDone?.then(noop, noop);
  const childRequest = { ...request, input, ...(otherWorkDone && { otherWorkDone }) };
  const outcome = run.runChild(childRequest, place, task).catch((error: unknown) => {
    // Stops the run even if the executor catches the error.
    if (error instanceof InfrastructureError) task.fault ??= { error };
    throw error;
  });
  const { slot } = task;
  if (!slot) return outcome;
  const childEnded = outcome.then(
    () => true,
    () => true,
  );
  const otherWorkEnded = (otherWorkDone ?? Promise.resolve()).then(() => false);
  if (await Promise.race([childEnded, otherWorkEnded])) return outcome;
  return slot.runWithout(() => outcome);
}

/** Returns the shared rate limiter. A failure of its store stops the run, which later continues from its journal. */
function sharedRateLimiter(dependencies: RuntimeDependencies): RateLimiter {
  const store = dependencies.stores.rates;
  return {
    take: (key, demand) => {
      // Expired keys have no effect.
      pruneHourly(dependencies, store, demand.nowMs);
      return wrapStoreErrors(async () => store.take(key, demand));
    },
    correctTokens: (key, tokensMs) => wrapStoreErrors(async () => store.correctTokens(key, tokensMs)),
    pauseKey: (key, untilMs) => wrapStoreErrors(async () => store.pauseKey(key, untilMs)),
  };
}

function credentialContext(
  dependencies: RuntimeDependencies,
  { header, environment }: ServedRun,
  tenant: () => Promise<string | undefined>,
): CredentialContext {
  return {
    credentials: dependencies.credentials,
    tenant,
    addSecret: (name, value) => environment.addSecret(name, value),
    onError: (error) => dependencies.onError(error, header.runId),
  };
}

type CallerContext = Pick<ServiceContext, 'dependencies' | 'run' | 'place' | 'task' | 'tenant'> & {
  call?: string | undefined;
};

/**
 * Returns the plan and version for the child run of this attempt: those of the child run if it has started, else the
 * live version. Throws an InfrastructureError if they cannot be read.
 */
async function childDefinition(caller: CallerContext, reference: string): Promise<VersionedPlan | undefined> {
  const { dependencies, run, place, task, call } = caller;
  try {
    const { attempt } = task;
    const child = await findChildRun(dependencies.stores.runs, run.header, { place, attempt, call });
    if (!child) return await liveChild(caller, reference);
    return { plan: await dependencies.definitions.plan(child.planHash), version: child.version };
  } catch (error) {
    throw childError(error);
  }
}

/** Returns the live version of the workflow that `reference` names; undefined if the run's tenant has none. */
async function liveChild(
  { dependencies, run, tenant }: CallerContext,
  reference: string,
): Promise<VersionedPlan | undefined> {
  const resolved = await dependencies.resolveChild(run.runState.plan.workflow.id, reference);
  const child = resolved && (await dependencies.definitions.find(resolved.workflow, resolved.version));
  if (!child) return undefined;
  // `find` returns workflows of every tenant.
  const owner = await dependencies.tenant(child.plan.workflow.id);
  return owner === (await tenant()) ? child : undefined;
}

function regionAt(region: Region, address: readonly number[]): Region {
  let innermost = region;
  for (let depth = 0; depth + 1 < address.length; depth += 2)
    innermost = innermost.nodes[address[depth] as number]?.subflow?.body ?? innermost;
  return innermost;
}

/** The reader of the log: the workflow of the block, its tenant, and a function that finds other workflows. */
interface RunLogReader {
  workflow: { id: string; name: string };
  tenant: () => Promise<string | undefined>;
  find(reference: string): Promise<VersionedPlan | undefined>;
}

/** Returns the log of the runs that a block may read: the runs of its tenant's workflows. */
function createRunLog({ stores, values, tenant }: RuntimeDependencies, reader: RunLogReader): RunLog {
  const { workflow } = reader;
  return {
    async list({ workflow: reference, ...query }) {
      const isOwn = reference === undefined || reference === workflow.id || reference === workflow.name;
      const workflowId = isOwn ? workflow.id : (await reader.find(reference))?.plan.workflow.id;
      return workflowId === undefined ? undefined : (await stores.runs.list({ ...query, workflowId })).runs;
    },
    async get(runId) {
      const record = await stores.runs.record(runId);
      if (!record || (await tenant(record.workflowId)) !== (await reader.tenant())) return undefined;
      return stores.runs.recordWithLogs(runId);
    },
    load: async (stored) => values.load(stored),
  };
}
