import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { scale } from '../../../../../test/support/scale.ts';
import { bestIndex, contains } from './sets.ts';
import { factsOf } from './incompatibility.ts';
import { type Rule, solve } from './solver.ts';

const PACKAGES = ['a', 'b', 'c', 'd', 'e'] as const;

interface Need {
  readonly of: number;
  readonly candidate: number;
  readonly target: number;
  readonly allowed: number;
}

interface World {
  readonly sizes: readonly number[];
  readonly needs: readonly Need[];
  readonly wanted: readonly { readonly target: number; readonly allowed: number }[];
}

const worlds: fc.Arbitrary<World> = fc.record({
  sizes: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 5, maxLength: 5 }),
  needs: fc.array(
    fc.record({
      of: fc.nat(4),
      candidate: fc.nat(2),
      target: fc.nat(4),
      allowed: fc.nat(7),
    }),
    { maxLength: 14 },
  ),
  wanted: fc.array(fc.record({ target: fc.nat(4), allowed: fc.integer({ min: 1, max: 7 }) }), {
    minLength: 1,
    maxLength: 3,
  }),
});

const idOf = (index: number): string => PACKAGES[index] ?? '';

function ruleOf(
  { sizes }: World,
  { target, allowed }: { target: number; allowed: number },
  note: string,
): Rule<string> {
  const mask = (1 << (sizes[target] ?? 0)) - 1;
  return { target: idOf(target), allowed: BigInt(allowed & mask), note };
}

const run = (world: World) =>
  solve<string>(
    {
      sizeOf: (id) => world.sizes[PACKAGES.indexOf(id as 'a')] ?? 0,
      rulesOf: (id, candidate) =>
        Promise.resolve(
          world.needs
            .filter((need) => idOf(need.of) === id && need.candidate === candidate)
            .map((need) => ruleOf(world, need, `${id}${candidate}`)),
        ),
    },
    world.wanted.map((rule) => ruleOf(world, rule, 'list')),
    10_000,
  );

/** Returns whether the choice satisfies every rule. */
function satisfiesRules(world: World, chosen: ReadonlyMap<string, number>): boolean {
  const meets = ({ target, allowed }: Rule<string>): boolean => {
    const candidate = chosen.get(target);
    return candidate !== undefined && contains(allowed, candidate);
  };
  const needs = world.needs.filter((need) => chosen.get(idOf(need.of)) === need.candidate);
  return [...needs, ...world.wanted].every((rule) => meets(ruleOf(world, rule, '')));
}

/** Returns whether any choice is valid, by trying all. */
function isSolvable(world: World): boolean {
  const options = world.sizes.map((size) => [...Array(size).keys(), undefined]);
  const choices = options.reduce<(number | undefined)[][]>(
    (sets, more) => sets.flatMap((set) => more.map((one) => [...set, one])),
    [[]],
  );
  return choices.some((candidates) => {
    const chosen = candidates.flatMap((candidate, index) =>
      candidate === undefined ? [] : [[idOf(index), candidate] as const],
    );
    return satisfiesRules(world, new Map(chosen));
  });
}

it('the solver finds a valid choice exactly if there is one, and otherwise a proof from facts', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const solution = await run(world);
      expect(solution.ok).toBe(isSolvable(world));
      const isCorrect = solution.ok
        ? satisfiesRules(world, solution.chosen)
        : solution.proof !== undefined && factsOf(solution.proof).length > 0;
      expect(isCorrect).toBe(true);
    }),
    { numRuns: scale(500, 20_000) },
  );
});

it('the facts of a proof suffice to exclude every choice', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const solution = await run(world);
      if (solution.ok || !solution.proof) return;
      const facts = new Set(factsOf(solution.proof));
      const wanted = world.wanted.filter(() => facts.has('list'));
      const needs = world.needs.filter(({ of, candidate }) => facts.has(`${idOf(of)}${candidate}`));
      expect(isSolvable({ ...world, wanted, needs })).toBe(false);
    }),
    { numRuns: scale(200, 5000) },
  );
});

it('the solver chooses the best remaining candidate', () => {
  expect([bestIndex(0b100n), bestIndex(0b110n), bestIndex(0n)]).toEqual([2, 1, -1]);
});
