import { isBlockError } from '@heddle/core/blocks';
import type { BlockConfig, JsonObject, Region } from '@heddle/core/blocks';
import type { NewRun, Plan } from '@heddle/core';
import type { Found } from '../definitions.ts';
import type { Place, Replica } from '@heddle/core/run';
import { targetOf } from '../executors/context.ts';
import { asText } from '../executors/values.ts';
import { startOutput } from '../executors/start.ts';
import type {
  ChildOutcome,
  ChildRequest,
  EngineContext,
  EngineExecutor,
  ExecutorServices,
  RunInfo,
} from '../executors/services.ts';
import { unknownType } from '../executors/unknown.ts';
import { fileReader } from '../files/storage.ts';
import { mockResult } from '../mocks/mock-result.ts';
import { NO_MOCKS, parseMocks, type Mocks } from '../mocks/mocks.ts';
import { after } from './answer.ts';
import { callChainOf } from './call-chain.ts';
import { childFault, findChildRun } from './child-runs.ts';
import type { CodeAhead } from './code-service.ts';
import type { RunEnvironment } from './run-environment.ts';
import type { Job } from './job.ts';
import type { PerformerParts } from './performer-parts.ts';
import { declaredInputs } from './plan-queries.ts';
import type { Reader } from './reference-resolver.ts';
import type { RuntimeParts } from './runtime-parts.ts';

/** A run as its blocks reach out of it. */
export interface ReachParts {
  header: NewRun;
  plan: Plan;
  environment: RunEnvironment;
  replica: () => Replica;
  gate: PerformerParts['gate'];
  /** Runs a child for the block at `place`, to its end. */
  child(request: ChildRequest, place: Place, job: Job): Promise<ChildOutcome>;
}

/** What the blocks of one run reach: executors or mocks, sandbox, network, children. */
export function reachOf(
  parts: RuntimeParts,
  run: ReachParts,
): Pick<PerformerParts, 'executorOf' | 'services' | 'files'> {
  const { header, plan, environment } = run;
  const mocks = header.mocks === null ? NO_MOCKS : parseMocks(header.mocks);
  const facts: RunInfo = {
    variables: plan.variables,
    get env() {
      return environment.values;
    },
    compat: plan.compat,
    // Calls over HTTP count too; runs that began before chains were recorded have the depth alone.
    depth: Math.max(header.parent?.depth ?? 0, header.via?.length ?? 0),
    callChain: callChainOf(header),
    codeLimits: parts.codeLimits,
  };
  const tenant = tenantOf(parts, plan);
  const ahead = pythonOf(plan, mocks);
  if (ahead.length > 0) void parts.code.warm(ahead, tenant);
  return {
    executorOf: (block, nth) => {
      const scripted = mocks.valuesFor(block);
      if (scripted) {
        const before = nth();
        return inline(block, (context) => {
          readFields(context);
          return { output: {}, ...mockResult(block, scripted, before) };
        });
      }
      return block.trigger ? starter(block, run, parts) : registered(block, parts);
    },
    files: () => fileReader(parts, header, { tenant }),
    services: (place, reader, job) => servicesOf({ parts, run, place, reader, job, facts, tenant }),
  };
}

/** Whose code the run's is; asked for at its first use, and again where there was no answer. */
function tenantOf(parts: RuntimeParts, { workflow }: Plan): () => Promise<string | undefined> {
  let asked: Promise<string | undefined> | undefined;
  return () =>
    (asked ??= (async () => parts.tenant(workflow.id))().catch((error: unknown) => {
      asked = undefined;
      throw error;
    }));
}

/** The code in Python that may run, one of each image: what is named by data is not known yet. */
function pythonOf({ blocks }: Plan, mocks: Mocks): CodeAhead[] {
  const ahead = new Map<string, CodeAhead>();
  for (const block of Object.values(blocks)) {
    if (block.code?.language !== 'python' || mocks.valuesFor(block)) continue;
    const named = block.params['sandboxId'];
    if (named !== undefined && named.kind !== 'literal') continue;
    const image = asText(named?.value ?? '').trim();
    ahead.set(image, { language: 'python', ...(image !== '' && { image }) });
  }
  return [...ahead.values()];
}

/** Reads what the block would have got, for the log; what cannot be read is no fault of a mock. */
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

function inline(block: BlockConfig, execute: EngineExecutor['execute']): EngineExecutor {
  return { types: [block.type], class: 'compute', execute };
}

function starter(block: BlockConfig, { replica, header }: ReachParts, parts: RuntimeParts): EngineExecutor {
  const metadata = (): JsonObject => ({
    workflowId: header.workflowId,
    executionId: header.callerId ?? header.runId,
    startTime: new Date(header.createdMs).toISOString(),
  });
  return inline(block, () => {
    const input = parts.values.load(replica().ledger.input);
    return after(input, (loaded) => ({ output: startOutput(block, loaded, metadata) }));
  });
}

function registered(block: BlockConfig, parts: RuntimeParts): EngineExecutor {
  const executor = parts.registry.get(block.type);
  if (!executor) throw unknownType(block);
  return executor;
}

interface ServiceParts {
  parts: RuntimeParts;
  run: ReachParts;
  place: Place;
  reader: Reader;
  job: Job;
  facts: RunInfo;
  tenant: () => Promise<string | undefined>;
}

function servicesOf({ parts, run, place, reader, job, facts, tenant }: ServiceParts): ExecutorServices {
  const address = (): number[] => run.replica().index.addressOf(place.block, place.scope);
  return {
    sandbox: async () => parts.code.gated((work) => run.gate(work, job.signal), await tenant()),
    egress: () => parts.egress(),
    lookup: reader,
    run: facts,
    target: (port) => targetOf(regionAt(run.plan.skeleton, address()), address().at(-1) as number, port),
    findChild: async (reference) => {
      const found = await childDefinition({ parts, run, place, job, tenant }, reference);
      if (!found) return undefined;
      const { id: workflowId, name } = found.plan.workflow;
      return { workflowId, version: found.version, name, inputs: declaredInputs(found.plan) };
    },
    // The child may not be able to read the secrets that are in it, and then would record them.
    child: (request) => run.child({ ...request, input: run.environment.json(request.input) }, place, job),
  };
}

type CallerParts = Pick<ServiceParts, 'parts' | 'run' | 'place' | 'job' | 'tenant'>;

/** What the child of this attempt runs: what it was started with, else what is live. Throws a Fault when neither can be read. */
async function childDefinition(caller: CallerParts, reference: string): Promise<Found | undefined> {
  const { parts, run, place, job } = caller;
  try {
    const started = await findChildRun(parts.stores.runs, run.header, { place, attempt: job.attempt });
    if (!started) return await liveChild(caller, reference);
    return { plan: await parts.definitions.plan(started.planHash), version: started.version };
  } catch (error) {
    throw childFault(error);
  }
}

/** The live version of the workflow that the run means by `reference`; undefined: there is none in its tenant. */
async function liveChild({ parts, run, tenant }: CallerParts, reference: string): Promise<Found | undefined> {
  const child = await parts.resolveChild(run.plan.workflow.id, reference);
  const found = child && (await parts.definitions.find(child.workflow, child.version));
  if (!found) return undefined;
  // The engine finds by name whatever was deployed, of every tenant.
  const owner = await parts.tenant(found.plan.workflow.id);
  return owner === (await tenant()) ? found : undefined;
}

function regionAt(region: Region, address: readonly number[]): Region {
  let at = region;
  for (let depth = 0; depth + 1 < address.length; depth += 2)
    at = at.nodes[address[depth] as number]?.subflow?.body ?? at;
  return at;
}
