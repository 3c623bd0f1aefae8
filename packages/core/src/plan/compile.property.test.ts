import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryFile, shuffle, arbitraryValidFile } from '../../../../test/support/arbitrary-workflow.ts';
import { pickByScale } from '../../../../test/support/scale.ts';
import type { Json } from '../json.ts';
import type { Region } from '../machine/skeleton.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { serializeWorkflow } from '../schema/serialize.ts';
import { canonicalJson, contentHash } from './content-hash.ts';
import { DIAGNOSTIC_CODES, hasErrors } from './diagnostics.ts';
import { checkWorkflow, compile } from './compile.ts';
import type { CompileResult } from './compile.ts';
import type { Diagnostic } from './diagnostics.ts';
import { indexPlan } from './index-plan.ts';
import { readPlan } from './read-plan.ts';

const propertyOptions = { numRuns: pickByScale(50, 5000) };

function compileFile(file: Json): CompileResult | undefined {
  const { workflow } = parseWorkflow(file);
  return workflow && compile(workflow);
}

function expectValidDiagnostics(diagnostics: readonly Diagnostic[]): void {
  for (const { code, severity, message, hint, path } of diagnostics) {
    expect(Object.keys(DIAGNOSTIC_CODES)).toContain(code);
    expect(['error', 'warning']).toContain(severity);
    expect(message).toMatch(/\S/);
    expect(hint).toMatch(/\S/);
    expect(Array.isArray(path)).toBe(true);
  }
}

function expectValidRegion(region: Region): void {
  region.nodes.forEach((node, index) => {
    for (const { from } of node.ins) {
      expect(from).toBeLessThan(index);
      expect(region.nodes[from]?.outs).toContain(index);
    }
    for (const to of node.outs) {
      expect(region.nodes[to]?.ins.map(({ from }) => from)).toContain(index);
    }
    const ports = region.nodes
      .flatMap(({ ins }) => ins.filter(({ from }) => from === index))
      .map(({ port }) => port);
    expect(node.handlesError).toBe(ports.includes('error'));
    expect(node.subflow?.body.nodes.length).not.toBe(0);
    if (node.subflow) expectValidRegion(node.subflow.body);
  });
  const sourceIndexes = region.nodes.flatMap(({ ins }, index) => (ins.length === 0 ? [index] : []));
  expect(region.entries.toSorted((a, b) => a - b)).toEqual(sourceIndexes);
}

describe('a workflow of any shape', () => {
  it('is equal after serializing and parsing it', () => {
    fc.assert(
      fc.property(arbitraryFile, (file) => {
        const { workflow } = parseWorkflow(file);
        expect(workflow).toBeDefined();
        const serialized = JSON.parse(JSON.stringify(serializeWorkflow(workflow!))) as Json;
        expect(parseWorkflow(serialized)).toEqual({ workflow, diagnostics: [] });
      }),
      propertyOptions,
    );
  });

  it('compiles to the same result for any key order', () => {
    fc.assert(
      fc.property(
        arbitraryFile,
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (file, stream) => {
          const random = (): number => stream.next().value;
          const result = compileFile(file);
          expect(compileFile(shuffle(file, random))).toEqual(result);
        },
      ),
      propertyOptions,
    );
  });

  it('is refused if and only if the check finds an error', () => {
    fc.assert(
      fc.property(arbitraryFile, (file) => {
        const { workflow } = parseWorkflow(file);
        const result = compile(workflow!);
        expectValidDiagnostics(result.diagnostics);
        expect(result.ok).toBe(!hasErrors(checkWorkflow(workflow!)));
        expect(result.diagnostics).toEqual(checkWorkflow(workflow!));
      }),
      propertyOptions,
    );
  });
});

describe('a valid workflow of any shape', () => {
  it('compiles to a valid skeleton that is plain JSON', () => {
    fc.assert(
      fc.property(arbitraryValidFile, (file) => {
        const result = compileFile(file);
        expect(result?.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
        const plan = result?.ok ? result.plan : undefined;
        expectValidRegion(plan!.skeleton);
        expect(readPlan(JSON.parse(JSON.stringify(plan)) as Json)).toEqual(plan);
        const { hash, ...body } = plan!;
        expect(hash).toBe(contentHash(body as unknown as Json));
        const index = indexPlan(plan!);
        for (const id of Object.keys(plan!.blocks)) {
          const scope = index.byId(id)!.containerIds.map((_, depth) => depth);
          expect(index.placeOf(index.addressOf(id, scope))).toEqual({ block: id, scope });
        }
      }),
      propertyOptions,
    );
  });

  it('has the same hash for any key order', () => {
    fc.assert(
      fc.property(
        arbitraryValidFile,
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (file, stream) => {
          const originalResult = compileFile(file);
          const shuffledResult = compileFile(shuffle(file, () => stream.next().value));
          expect(originalResult?.ok && originalResult.plan.hash).toMatch(/^sha256:[0-9a-f]{64}$/);
          expect(canonicalJson(shuffledResult as unknown as Json)).toBe(
            canonicalJson(originalResult as unknown as Json),
          );
        },
      ),
      propertyOptions,
    );
  });
});
