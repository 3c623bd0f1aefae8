import type { NewRun, Plan } from '@heddle/core';
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
import { declaredInputs } from './plan-facts.ts';
import type { Reader } from './reader.ts';
import { ActiveRun } from './run.ts';
import type { RuntimeParts } from './runtime-parts.ts';

type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/** A run with everything that its blocks reach: executors or mocks, sandbox, network, children. */
export function assembleRun(
  children: Children,
  parts: RuntimeParts,
  of: { header: NewRun; plan: Plan; engineQueue: PQueue },
): ActiveRun {
  const { header, plan, engineQueue } = of;
  const { stores, values, clock, env, redactor } = parts;
  const mocks = header.mocks === null ? NO_MOCKS : parseMocks(header.mocks);
  const facts: RunFacts = {
    variables: plan.variables,
    env,
    depth: header.parent?.depth ?? 0,
    codeLimits: parts.codeLimits,
  };
  const queue = new PQueue({ concurrency: parts.concurrency.run });
  const gate: Gate = (work) => queue.add(() => engineQueue.add(work));
  const run: ActiveRun = new ActiveRun({
    header,
    plan,
    store: stores.runs,
    clock,
    values,
    env,
    gate,
    redact: (value) => redactor.json(value),
    redactText: (text) => redactor.text(text),
    executorOf: (block, nth) => {
      const scripted = mocks.valuesFor(block);
      if (scripted) return inline(block, () => ({ output: {}, ...mockResult(block, scripted, nth) }));
      return block.trigger ? starter(block, run, parts) : registered(block, parts);
    },
    services: (place, reader, signal) =>
      servicesOf({ children, parts, run, place, reader, signal, facts, gate }),
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
  return inline(block, async () => {
    const input = await parts.values.load(replica.ledger.input);
    return { output: startOutput(block, input, metadata) };
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
  signal: () => AbortSignal;
  facts: RunFacts;
  gate: Gate;
}

function servicesOf({
  children,
  parts,
  run,
  place,
  reader,
  signal,
  facts,
  gate,
}: ServiceParts): ExecutorServices {
  const { replica } = run;
  const address = (): number[] => replica.index.addressOf(place.block, place.scope);
  return {
    sandbox: () => parts.code.gated(gate),
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
    child: (request) =>
      callChild(children, { parent: run, place, request, signal: signal() }, replica.tryAt(address())),
  };
}

function regionAt(region: Region, address: readonly number[]): Region {
  let at = region;
  for (let depth = 0; depth + 1 < address.length; depth += 2)
    at = at.nodes[address[depth] as number]?.subflow?.body ?? at;
  return at;
}
