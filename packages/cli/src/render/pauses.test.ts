import { expect, it } from 'vitest';
import { pauseLines } from './pauses.ts';
import type { Style } from './style.ts';

const identity = (text: string): string => text;
const PLAIN_STYLE: Style = {
  ...{ bold: identity, dim: identity },
  ...{ red: identity, green: identity, yellow: identity, cyan: identity },
};

it('a pause is shown with its notifications that failed or may not have been sent, with the reasons', () => {
  const notifications = [
    { type: 'slack', status: 'sent' },
    { type: 'resend', title: 'Mail\u001B[2J', status: 'failed', error: 'No credential.' },
    { type: 'slack', status: 'unknown', error: 'No answer.' },
  ];
  const pause = {
    kind: 'human',
    blockName: 'Ask',
    token: 't',
    output: { response: { data: { notifications } } },
  };
  const context = { runId: 'run-1', style: PLAIN_STYLE };
  const lines = pauseLines([pause as never], context as never);
  expect(lines.filter((line) => line.includes('sent'))).toEqual([
    '    ! Mail was not sent: No credential.',
    '    ! slack may not have been sent: No answer.',
  ]);
});

it('a pause is shown with its fields and an example of an answer, in which names are trimmed', () => {
  const inputFormat = [
    { name: ' amount ', type: 'number', required: true, description: 'In cents' },
    { name: 'note', value: null },
    { name: ' ' },
  ];
  const context = { runId: 'run-1', style: PLAIN_STYLE };
  for (const format of [inputFormat, JSON.stringify(inputFormat)]) {
    const pause = { kind: 'human', blockName: 'Ask', token: 't', output: {}, inputFormat: format };
    const lines = pauseLines([pause as never], context as never);
    expect(lines.filter((line) => line.startsWith('    ?')).map((line) => line.trim())).toEqual([
      '? amount  number, required: In cents',
      '? note    string',
    ]);
    expect(lines.at(-1)).toContain(`--input '{"amount":0,"note":""}'`);
  }
});
