import { block, condition, fn, loop, parallel, workflow } from '../support/workflow.ts';

/** Text that a page must show as text and not as HTML. */
export const HOSTILE_TEXT =
  '<img src=x onerror="document.title=\'hacked\'"><script>document.title="hacked"</script>\u202Egnp.exe';

/** Loops in a parallel: in each loop, the last iteration fails, and the error is handled. */
export const NESTED_WORKFLOW = workflow(
  [
    fn('Load orders', 'console.log("loaded", 3); return [1, 2, 3]'),
    parallel(
      'Regions',
      { parallelType: 'count', count: 2 },
      loop(
        'Orders',
        { loopType: 'for', count: 3 },
        fn(
          'Price',
          'if (<loop.index> === 2) throw new Error("no price for this order"); return { price: <loop.index> * 10 }',
        ),
        fn('Use default', 'return { price: 1 }'),
      ),
    ),
    fn('Summary', 'return { total: 42, note: "all orders have a price", list: [{ "a/b": 1 }] }'),
  ],
  [
    'Start -> Load orders -> Regions -> Summary',
    'Regions -> Orders',
    'Orders -> Price',
    'Price:error -> Use default',
  ],
);

/** A workflow with hostile text in its logs, an output and an error, and with a huge output. */
export const HOSTILE_OUTPUT_WORKFLOW = workflow(
  [
    fn(
      'Say',
      `console.log(${JSON.stringify(HOSTILE_TEXT)}); return { [${JSON.stringify(HOSTILE_TEXT)}]: ${JSON.stringify(HOSTILE_TEXT)} }`,
    ),
    fn('Huge', 'return { text: "x".repeat(300000), list: Array.from({ length: 5000 }, (_, i) => i) }'),
    fn('Fail', `throw new Error(${JSON.stringify(HOSTILE_TEXT)})`),
  ],
  ['Start -> Say -> Huge -> Fail'],
);

export const REFUND_APPROVAL_WORKFLOW = workflow(
  [
    block('Approve refund', 'human_in_the_loop', {
      inputFormat: [
        { name: 'approved', type: 'boolean', description: 'May the refund be paid?' },
        { name: 'comment', type: 'string' },
      ],
    }),
    fn('Pay', 'return "paid"'),
  ],
  ['Start -> Approve refund -> Pay'],
);

export const LONG_WAIT_WORKFLOW = workflow(
  [block('Wait', 'wait', { timeValue: '600', timeUnit: 'seconds' })],
  ['Start -> Wait'],
);

/** A workflow that runs longer than a test, in code and not in a wait block. */
export const LONG_CODE_WORKFLOW = workflow(
  [
    fn(
      'Count',
      'const end = Date.now() + 60000; while (Date.now() < end) await new Promise((r) => setTimeout(r, 500))',
    ),
  ],
  ['Start -> Count'],
);

export const ONE_STEP_WORKFLOW = workflow([fn('Step', 'return 1')], ['Start -> Step']);

/** Returns a workflow that runs every hour. */
export const createHourlyWorkflow = (code: string) =>
  workflow(
    [block('Every hour', 'schedule', { scheduleType: 'hourly', hourlyMinute: '0' }), fn('Report', code)],
    ['Every hour -> Report'],
  );

/** 2,000 blocks: a condition leads to the last block, so the other blocks, in chains of 40, do not run. */
export const LARGE_WORKFLOW = workflow(
  [
    condition('Which', { many: 'false', last: '' }),
    ...Array.from({ length: 1997 }, (_, index) => block(`B${index}`, 'variables', {})),
    fn('Last', 'return "end"'),
  ],
  [
    'Start -> Which',
    'Which:last -> Last',
    ...Array.from({ length: 1997 }, (_, index) =>
      index % 40 === 0 ? `Which:many -> B${index}` : `B${index - 1} -> B${index}`,
    ),
  ],
);

/** A tool call that waits for a decision. */
export const TOOL_CALL = {
  id: '1.2',
  name: 'send_mail',
  arguments: { to: 'ada@example.org', urgent: false, lines: ['one'] },
  parameters: {
    type: 'object',
    properties: {
      to: { type: 'string', description: 'The address' },
      urgent: { type: 'boolean' },
      copies: { type: 'integer' },
    },
  },
};
