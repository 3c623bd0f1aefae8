import { RunState } from '@heddle/core/run';
import type { Entry, EntryBody, StoredValue } from '@heddle/core/run';
import { resolveTemplate } from '@heddle/core/blocks';
import type { Template } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { compilePlan } from '../../../../test/support/compile-plan.ts';
import { createStartedEntry } from '../../../../test/support/run-data.ts';
import { block } from '../../../../test/support/workflow.ts';
import { MemoryValueStore } from '../store/memory.ts';
import { ReferenceResolver } from './reference-resolver.ts';
import { Values } from '../records/values.ts';

const work = (name: string, fields = {}) => block(name, 'work', fields);

/** Returns a run in which `A` and `B` both lead to `C`, and a field of `C` reads `A`. Its start block has completed. */
function startedRun(): { runState: RunState; complete: (block: string, output: StoredValue) => void } {
  const plan = compilePlan(
    [work('A'), work('B'), work('C', { text: '<a.text>' })],
    ['Start -> A -> C', 'Start -> B -> C'],
  );
  const runState = new RunState('r', plan);
  const applyEntry = (body: EntryBody): void =>
    void runState.apply({ seq: runState.seq + 1, atMs: 0, ...body } as Entry);
  runState.apply({ ...createStartedEntry(), start: 'Start' } as Entry);
  const complete = (name: string, output: StoredValue): void =>
    applyEntry({ type: 'completed', try: 1, startedMs: 0, output, block: name, scope: [] });
  complete('Start', { v: {} });
  return { runState, complete };
}

const place = { block: 'C', scope: [] };
const textTemplate = (runState: RunState): Template => runState.plan.blocks['C']?.params['text'] as Template;

const createSources = (values = new Values(new MemoryValueStore())) => ({
  values,
  createFileReader: () => () => Promise.resolve(undefined),
});

describe('ReferenceResolver', () => {
  it('does not fetch values if all are inline', () => {
    const { runState, complete } = startedRun();
    complete('A', { v: { text: 'small' } });
    const resolver = new ReferenceResolver(runState, place, { values: {} });
    expect(resolver.prepare(createSources())).toBeUndefined();
    expect(resolveTemplate(textTemplate(runState), resolver, 'text')).toBe('small');
  });

  it('fetches the large values that its block reads', async () => {
    const { runState, complete } = startedRun();
    const values = new Values(new MemoryValueStore());
    complete('A', await values.store({ text: 'x'.repeat(10_000) }));
    const resolver = new ReferenceResolver(runState, place, { values: {} });
    await resolver.prepare(createSources(values));
    expect(resolveTemplate(textTemplate(runState), resolver, 'text')).toHaveLength(10_000);
  });

  it('keeps the outputs that existed at `prepare` while its block waits', async () => {
    const { runState, complete } = startedRun();
    const values = new Values(new MemoryValueStore());
    const resolver = new ReferenceResolver(runState, place, { values: {} });
    await resolver.prepare(createSources(values));
    complete('A', await values.store({ text: 'x'.repeat(10_000) }));
    expect(resolveTemplate(textTemplate(runState), resolver, 'text')).toBe('');
  });

  it('uses the source block that ended last as the live source', async () => {
    const { runState, complete } = startedRun();
    complete('B', { v: { n: 1 } });
    complete('A', { v: { n: 2 } });
    const resolver = new ReferenceResolver(runState, place, { values: {} });
    await resolver.prepare(createSources());
    expect(resolver.lastSourceId()).toBe('A');
  });

  it('does not resolve an inherited name as an environment value', () => {
    const resolver = new ReferenceResolver(startedRun().runState, place, { values: { KEY: 'k' } });
    expect([resolver.env('KEY'), resolver.env('constructor')]).toEqual(['k', undefined]);
  });
});
