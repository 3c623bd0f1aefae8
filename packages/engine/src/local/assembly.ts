import type { BlockConfig, Region } from '@heddle/core/blocks';
import type { Place } from '@heddle/core/run';
import PQueue from 'p-queue';
import { targetOf } from '../executors/context.ts';
import { startOutput } from '../executors/start.ts';
import type { EngineExecutor, ExecutorServices, RunFacts } from '../executors/services.ts';
import { unknownType } from '../executors/unknown.ts';
import { mockResult } from '../mocks/mock-result.ts';
import { NO_MOCKS, parseMocks } from '../mocks/mocks.ts';
import { callChild } from './children.ts';
import type { Children } from './children.ts';
import type { Job } from './job.ts';
import { declaredInputs } from './plan-facts.ts';
import type { Reader } from './reader.ts';
import { ActiveRun } from './run.ts';
import type { RestEvent, RunParts } from './run-parts.ts';
import type { RuntimeParts } from './runtime-parts.ts';

type Gate = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** A run with everything that its blocks reach: executors or mocks, sandbox, network, children. */
export function assembleRun(
  children: Children,
  parts: RuntimeParts,
  of: Pick<RunParts, 'header' | 'plan'> & {
    engineQueue: PQueue;
    moved(run: ActiveRun, event: RestEvent): void;
  },
): ActiveRun {
  const { header, plan, engineQueue } = of;
  const { stores, values, clock, env, keeper } = parts;
  const mocks = header.mocks === null ? NO_MOCKS : parseMocks(header.mocks);
  const facts: RunFacts = {
    variables: plan.variables,
    env,
    depth: header.parent?.depth ?? 0,
    codeLimits: parts.codeLimits,
  };
  let queue: PQueue | undefined;
  // An abort gives the place in the queue free, whether the work has begun or not.
  const gate: Gate = (work, signal) => {
    queue ??= new PQueue({ concurrency: parts.concurrency.run });
    return queue.add(() => engineQueue.add(work, { signal }), { signal });
  };
  const run: ActiveRun = new ActiveRun({
    header,
    plan,
    store: stores.runs,
    clock,
    values,
    env,
    gate,
    keeper,
    moved: (event) => of.moved(run, event),
    executorOf: (block, nth) => {
      const scripted = mocks.valuesFor(block);
      if (scripted) return inline(block, () => ({ output: {}, ...mockResult(block, scripted, nth) }));
      return block.trigger ? starter(block, run, parts) : registered(block, parts);
    },
    services: (place, reader, job) => servicesOf({ children, parts, run, place, reader, job, facts, gate }),
    report: (error, runId) => parts.report(error, runId),
  });
  return run;
}

function inline(block: BlockConfig, execute: EngineExecutor['execute']): EngineExecutor {
  return { types: [block.type], class: 'compute', execute };
}

function starter(block: BlockConfig, run: ActiveRun, parts: RuntimeParts): EngineExecutor {
  const { replica, header } = run;
  const metadata = {
    workflowId: header.workflowId,
    executionId: run.runId,
    startTime: new Date(header.createdMs).toISOString(),
  };
  return inline(block, () => {
    const { input } = replica.ledger;
    if ('v' in input) return { output: startOutput(block, input.v, metadata) };
    return parts.values.load(input).then((loaded) => ({ output: startOutput(block, loaded, metadata) }));
  });
}

function registered(block: BlockConfig, parts: RuntimeParts): EngineExecutor {
  const executor = parts.registry.get(block.type);
  if (!executor) throw unknownType(block);
  return executor;
}

interface ServiceParts {
  children: Children;
  parts: RuntimeParts;
  run: ActiveRun;
  place: Place;
  reader: Reader;
  job: Job;
  facts: RunFacts;
  gate: Gate;
}

function servicesOf({
  children,
  parts,
  run,
  place,
  reader,
  job,
  facts,
  gate,
}: ServiceParts): ExecutorServices {
  const { replica } = run;
  const address = (): number[] => replica.index.addressOf(place.block, place.scope);
  return {
    sandbox: () => parts.code.gated((work) => gate(work, job.signal)),
    egress: () => parts.egress(),
    lookup: reader,
    run: facts,
    target: (port) => targetOf(regionAt(replica.plan.skeleton, address()), address().at(-1) as number, port),
    findChild: async (reference) => {
      const found = await parts.definitions.find(reference);
      if (!found) return undefined;
      const { id, name } = found.plan.workflow;
      return { workflowId: id, name, inputs: declaredInputs(found.plan) };
    },
    child: (request) => callChild(children, { parent: run, place, request, signal: job.signal }, job.attempt),
  };
}

function regionAt(region: Region, address: readonly number[]): Region {
  let at = region;
  for (let depth = 0; depth + 1 < address.length; depth += 2)
    at = at.nodes[address[depth] as number]?.subflow?.body ?? at;
  return at;
}
