import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../../packages/studio/web/workflows/block-fields.ts';

const STATE = {
  blocks: {
    which: {
      name: 'Which',
      type: 'condition',
      position: { x: 1, y: 2 },
      subBlocks: {
        conditions: { value: '[{"id":"a","title":"if"},{"id":"b"}]' },
        empty: { value: '' },
        absent: { value: null },
      },
      timeoutMs: 500,
      triggerMode: false,
    },
    repeat: { name: 'Repeat', type: 'loop', data: { loopType: 'for', count: 3, width: 500 } },
    step: {
      name: 'Step',
      type: 'function',
      enabled: false,
      data: { parentId: 'repeat', extent: 'parent' },
      subBlocks: { code: { value: 'return 1' }, timeout: { value: { ms: 5 } } },
    },
  },
};

describe('the fields of a block', () => {
  it('are its sub-blocks and settings that have a value, without positions', () => {
    expect(fieldsOf(STATE, 'which')).toEqual([
      { name: 'conditions', text: '[{"id":"a","title":"if"},{"id":"b"}]' },
      { name: 'timeoutMs', text: '500' },
    ]);
    expect(fieldsOf(STATE, 'repeat')).toEqual([
      { name: 'loopType', text: 'for' },
      { name: 'count', text: '3' },
    ]);
    expect(fieldsOf(STATE, 'step')).toEqual([
      { name: 'code', text: 'return 1' },
      { name: 'timeout', text: '{\n  "ms": 5\n}' },
    ]);
    expect(fieldsOf(STATE, 'constructor')).toEqual([]);
  });
});
