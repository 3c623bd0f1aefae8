import { block, workflow } from './workflow.ts';

/** A file as a caller sends it. `FILE_BASE64` is its content in Base64. */
export const FILE = { type: 'file', name: 'abc.txt', data: 'data:text/plain;base64,YWJj' };
export const FILE_BASE64 = 'YWJj';

/** A workflow that responds with the files of its input, and with the content of the first file. */
export const ECHO_WORKFLOW = workflow(
  [
    block('Reply', 'response', {
      dataMode: 'structured',
      builderData: [
        { id: '1', name: 'doc', type: 'array', value: '<start.doc>' },
        { id: '2', name: 'any', type: 'object', value: '<start.any>' },
        { id: '3', name: 'text', type: 'string', value: '<start.doc[0].base64>' },
      ],
    }),
  ],
  ['Start -> Reply'],
  {
    inputFormat: [
      { name: 'doc', type: 'file[]' },
      { name: 'any', type: 'object' },
    ],
  },
);
