// The only generated file of types. test/client compares it with the operations of the server.
export type { paths } from '../../../../test/client/fixtures/api.d.ts';
