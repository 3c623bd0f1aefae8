import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { pickByScale } from '../../../../../test/support/scale.ts';
import { bestIndex, contains } from './sets.ts';
import { factsOf } from './incompatibility.ts';
import { type Rule, solve } from './solver.ts';

const PACKAGES = ['a', 'b', 'c', 'd', 'e'] as const;

/**
 * A candidate of the package `dependent` needs one of the candidates `allowed` (a bit mask) of the package `target`.
 */
interface Dependency {
  readonly dependent: number;
  readonly candidate: number;
  readonly target: number;
  readonly allowed: number;
}

interface Problem {
  readonly sizes: readonly number[];
  readonly dependencies: readonly Dependency[];
  readonly requirements: readonly { readonly target: number; readonly allowed: number }[];
}

const problemArbitrary: fc.Arbitrary<Problem> = fc.record({
  sizes: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 5, maxLength: 5 }),
  dependencies: fc.array(
    fc.record({
      dependent: fc.nat(4),
      candidate: fc.nat(2),
      target: fc.nat(4),
      allowed: fc.nat(7),
    }),
    { maxLength: 14 },
  ),
  requirements: fc.array(fc.record({ target: fc.nat(4), allowed: fc.integer({ min: 1, max: 7 }) }), {
    minLength: 1,
    maxLength: 3,
  }),
});

const idOf = (index: number): string => PACKAGES[index] ?? '';

function ruleOf(
  { sizes }: Problem,
  { target, allowed }: { target: number; allowed: number },
  reason: string,
): Rule<string> {
  const mask = (1 << (sizes[target] ?? 0)) - 1;
  return { target: idOf(target), allowedSet: BigInt(allowed & mask), reason };
}

const solveProblem = (problem: Problem) =>
  solve<string>(
    {
      sizeOf: (id) => problem.sizes[PACKAGES.indexOf(id as 'a')] ?? 0,
      rulesOf: (id, candidate) =>
        Promise.resolve(
          problem.dependencies
            .filter((dependency) => idOf(dependency.dependent) === id && dependency.candidate === candidate)
            .map((dependency) => ruleOf(problem, dependency, `${id}${candidate}`)),
        ),
    },
    problem.requirements.map((rule) => ruleOf(problem, rule, 'list')),
    10_000,
  );

/** Returns whether the choice satisfies every rule. */
function satisfiesRules(problem: Problem, choice: ReadonlyMap<string, number>): boolean {
  const isSatisfied = ({ target, allowedSet }: Rule<string>): boolean => {
    const candidate = choice.get(target);
    return candidate !== undefined && contains(allowedSet, candidate);
  };
  const dependencies = problem.dependencies.filter(
    (dependency) => choice.get(idOf(dependency.dependent)) === dependency.candidate,
  );
  return [...dependencies, ...problem.requirements].every((rule) => isSatisfied(ruleOf(problem, rule, '')));
}

/** Returns whether any choice is valid, by trying all. */
function isSolvable(problem: Problem): boolean {
  const options = problem.sizes.map((size) => [...Array(size).keys(), undefined]);
  const choices = options.reduce<(number | undefined)[][]>(
    (chosen, candidates) => chosen.flatMap((choice) => candidates.map((candidate) => [...choice, candidate])),
    [[]],
  );
  return choices.some((candidates) => {
    const chosen = candidates.flatMap((candidate, index) =>
      candidate === undefined ? [] : [[idOf(index), candidate] as const],
    );
    return satisfiesRules(problem, new Map(chosen));
  });
}

it('the solver finds a valid choice if and only if there is one, and otherwise a proof from facts', async () => {
  await fc.assert(
    fc.asyncProperty(problemArbitrary, async (problem) => {
      const solution = await solveProblem(problem);
      expect(solution.ok).toBe(isSolvable(problem));
      const isCorrect = solution.ok
        ? satisfiesRules(problem, solution.chosenIndexes)
        : solution.proof !== undefined && factsOf(solution.proof).length > 0;
      expect(isCorrect).toBe(true);
    }),
    { numRuns: pickByScale(500, 20_000) },
  );
});

it('the facts of a proof suffice to exclude every choice', async () => {
  await fc.assert(
    fc.asyncProperty(problemArbitrary, async (problem) => {
      const solution = await solveProblem(problem);
      if (solution.ok || !solution.proof) return;
      const facts = new Set(factsOf(solution.proof));
      const requirements = problem.requirements.filter(() => facts.has('list'));
      const dependencies = problem.dependencies.filter(({ dependent, candidate }) =>
        facts.has(`${idOf(dependent)}${candidate}`),
      );
      expect(isSolvable({ ...problem, requirements, dependencies })).toBe(false);
    }),
    { numRuns: pickByScale(200, 5000) },
  );
});

it('the best candidate of a set is the one with the lowest index', () => {
  expect([bestIndex(0b100n), bestIndex(0b110n), bestIndex(0n)]).toEqual([2, 1, -1]);
});
