import fc from 'fast-check';
import { describe, it } from 'vitest';
import { applyTextEdits, textEdits, mutate, mutation } from '../../../../test/fuzz/mutation.ts';
import { checkAndCompile } from '../../../../test/fuzz/check-and-compile.ts';
import { arbitraryFile } from '../../../../test/support/arbitrary-workflow.ts';
import { pickByScale } from '../../../../test/support/scale.ts';
import { parseWorkflow, parseWorkflowText } from '../schema/parse.ts';

// The generated files are more irregular than exported files, which test/fuzz covers.
const propertyOptions = { numRuns: pickByScale(200, 20_000) };

describe('hostile input', () => {
  it('derived from a workflow by arbitrary changes is parsed, checked and compiled without an exception', () => {
    fc.assert(
      fc.property(arbitraryFile, fc.array(mutation, { maxLength: 6 }), (file, mutations) => {
        const input = structuredClone(file);
        for (const change of mutations) mutate(input, change);
        checkAndCompile(parseWorkflow(input));
      }),
      propertyOptions,
    );
  });

  it('derived from the text of a workflow by any deletion or insertion is read without an exception', () => {
    fc.assert(
      fc.property(arbitraryFile, textEdits, (file, edits) => {
        checkAndCompile(parseWorkflowText(applyTextEdits(JSON.stringify(file), edits)));
      }),
      propertyOptions,
    );
  });

  it('of any JSON is read without an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (input) => {
        checkAndCompile(parseWorkflow(input));
        checkAndCompile(parseWorkflow({ blocks: input, edges: input, variables: input, loops: input }));
        checkAndCompile(
          parseWorkflow({
            blocks: { b: { type: 'loop', name: 'B', subBlocks: input, data: input } },
            edges: [],
          }),
        );
      }),
      propertyOptions,
    );
  });
});
