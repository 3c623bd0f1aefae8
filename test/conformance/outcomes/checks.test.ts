import { checkWorkflow, parseWorkflow } from '@heddle/core';
import { expect, it } from 'vitest';
import { readOutcomeCases } from './cases.ts';

const CHECKED_CODES = new Set(['FIELD_UNKNOWN', 'FIELD_VALUE', 'SYNTAX_INVALID']);

/**
 * The recorded workflows with warnings, by code and block. In each of them the block does not do what the author
 * intended.
 */
const EXPECTED_WARNINGS: { [id: string]: [code: string, block: string] } = {
  r114: ['SYNTAX_INVALID', 'c'],
  r124: ['SYNTAX_INVALID', 'c'],
  r210: ['FIELD_VALUE', 'r'],
  r211: ['FIELD_VALUE', 'r'],
  r304: ['SYNTAX_INVALID', 'f'],
  r328: ['SYNTAX_INVALID', 'f'],
  r503: ['SYNTAX_INVALID', 'L'],
  r509: ['SYNTAX_INVALID', 'L'],
  r623: ['FIELD_VALUE', 'w'],
  r624: ['FIELD_VALUE', 'w'],
  r626: ['FIELD_VALUE', 'w'],
};

it('the check warns about fields, values and code of recorded workflows only if a block cannot execute them', () => {
  const warnings: typeof EXPECTED_WARNINGS = {};
  for (const { id, workflow } of readOutcomeCases()) {
    const parseResult = parseWorkflow(workflow);
    const diagnostics = [
      ...parseResult.diagnostics,
      ...(parseResult.workflow ? checkWorkflow(parseResult.workflow) : []),
    ];
    for (const { code, severity, blockId = '' } of diagnostics) {
      if (!CHECKED_CODES.has(code)) continue;
      expect(severity).toBe('warning');
      warnings[id] = [code, blockId];
    }
  }
  expect(warnings).toEqual(EXPECTED_WARNINGS);
});
