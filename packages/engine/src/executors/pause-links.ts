import type { Lookup } from '@heddle/core/blocks';
import type { ExecutorServices } from './services.ts';

/** What a pause sees of itself while its fields are read: its links already, and nothing of an earlier turn. */
export function withOwnLinks(blockId: string, services: ExecutorServices): Lookup {
  const { lookup } = services;
  return {
    block: (ref) =>
      ref.block === blockId ? { ran: true, output: { ...services.pauseLinks?.() } } : lookup.block(ref),
    container: (ref) => lookup.container(ref),
    results: (ref) => lookup.results(ref),
    variable: (id) => lookup.variable(id),
    env: (name) => lookup.env(name),
    describe: (id) => lookup.describe(id),
  };
}
