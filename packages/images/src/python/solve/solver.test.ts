import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { scale } from '../../../../../test/support/scale.ts';
import { bestIndex, contains } from './sets.ts';
import { factsOf } from './incompatibility.ts';
import { type Rule, solve } from './solver.ts';

const PACKAGES = ['a', 'b', 'c', 'd', 'e'] as const;

interface Need {
  readonly of: number;
  readonly place: number;
  readonly target: number;
  readonly allowed: number;
}

interface World {
  readonly sizes: readonly number[];
  readonly needs: readonly Need[];
  readonly wanted: readonly { readonly target: number; readonly allowed: number }[];
}

const world: fc.Arbitrary<World> = fc.record({
  sizes: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 5, maxLength: 5 }),
  needs: fc.array(
    fc.record({
      of: fc.nat(4),
      place: fc.nat(2),
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

const run = (given: World) =>
  solve<string>(
    {
      sizeOf: (id) => given.sizes[PACKAGES.indexOf(id as 'a')] ?? 0,
      rulesOf: (id, place) =>
        Promise.resolve(
          given.needs
            .filter((need) => idOf(need.of) === id && need.place === place)
            .map((need) => ruleOf(given, need, `${id}${place}`)),
        ),
    },
    given.wanted.map((want) => ruleOf(given, want, 'list')),
    10_000,
  );

/** Returns whether the choice satisfies every rule. */
function isSound(given: World, chosen: ReadonlyMap<string, number>): boolean {
  const meets = ({ target, allowed }: Rule<string>): boolean => {
    const place = chosen.get(target);
    return place !== undefined && contains(allowed, place);
  };
  const needs = given.needs.filter((need) => chosen.get(idOf(need.of)) === need.place);
  return [...needs, ...given.wanted].every((rule) => meets(ruleOf(given, rule, '')));
}

/** Returns whether any choice is valid, by trying all. */
function isSolvable(given: World): boolean {
  const options = given.sizes.map((size) => [...Array(size).keys(), undefined]);
  const tries = options.reduce<(number | undefined)[][]>(
    (sets, more) => sets.flatMap((set) => more.map((one) => [...set, one])),
    [[]],
  );
  return tries.some((places) => {
    const chosen = places.flatMap((place, index) =>
      place === undefined ? [] : [[idOf(index), place] as const],
    );
    return isSound(given, new Map(chosen));
  });
}

it('the solver finds a valid choice exactly if there is one, and otherwise a proof from facts', async () => {
  await fc.assert(
    fc.asyncProperty(world, async (given) => {
      const solution = await run(given);
      expect(solution.ok).toBe(isSolvable(given));
      const stands = solution.ok
        ? isSound(given, solution.chosen)
        : solution.proof !== undefined && factsOf(solution.proof).length > 0;
      expect(stands).toBe(true);
    }),
    { numRuns: scale(500, 20_000) },
  );
});

it('the solver returns minimal proofs', async () => {
  await fc.assert(
    fc.asyncProperty(world, async (given) => {
      const solution = await run(given);
      if (solution.ok || !solution.proof) return;
      const facts = new Set(factsOf(solution.proof));
      const wanted = given.wanted.filter(() => facts.has('list'));
      const needs = given.needs.filter(({ of, place }) => facts.has(`${idOf(of)}${place}`));
      expect(isSolvable({ ...given, wanted, needs })).toBe(false);
    }),
    { numRuns: scale(200, 5000) },
  );
});

it('the solver chooses the best remaining candidate', () => {
  expect([bestIndex(0b100n), bestIndex(0b110n), bestIndex(0n)]).toEqual([2, 1, -1]);
});
