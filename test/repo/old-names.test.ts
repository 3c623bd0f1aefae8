import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { readText, repositoryFolder, walk } from './sources.ts';
import { splitWords } from './words.ts';

const SOURCE_PATTERNS = ['packages/*/src/**/*.ts', 'test/**/*.ts'];

/** Former names, as words of an identifier, with the standard term for each. */
const FORMER_NAMES: ReadonlyMap<string, string> = new Map([
  ['at once', 'concurrency'],
  ['belongings', 'ownership'],
  ['block try', 'blocked'],
  ['coded', 'eventCodec'],
  ['course', 'RunHistory'],
  ['crew', 'WorkerGroup'],
  ['demands', 'childStarts'],
  ['doorbell', 'ChangeNotifier'],
  ['dose', 'scale'],
  ['end try', 'endAttempt'],
  ['fail try', 'failAttempt'],
  ['footing', 'DurabilityTracker'],
  ['gathered', 'ByteBuffer'],
  ['happening', 'SegmentResult'],
  ['opened later', 'lazy'],
  ['outlet', 'HttpClient'],
  ['owed', 'pending'],
  ['owes', 'pending'],
  ['own memory', 'HostSnapshot'],
  ['parked', 'DetachedSegments'],
  ['placement', 'FlowDecision'],
  ['post office', 'messageHandlers'],
  ['pulse', 'StallDetector'],
  ['put away', 'evict'],
  ['resident', 'rss'],
  ['rests', 'RunWaiter'],
  ['run try', 'startAttempt'],
  ['seldom', 'onDemand'],
  ['shelf', 'ImageLoader'],
  ['spoiled', 'tainted'],
  ['spot', 'IndexedNode'],
  ['staff', 'WorkerGroup'],
  ['storm', 'faults'],
  ['stragglers', 'UnstartedRunSweeper'],
  ['stumble', 'recordFailure'],
  ['take files', 'storeFiles'],
  ['take up', 'recover'],
  ['tenure', 'RunOwnership'],
  ['try at', 'attemptAt'],
  ['turn event', 'iteration'],
  ['turn in', 'iteration'],
  ['unheard', 'awaitingChildStatus'],
  ['unless owned', 'tryAsOwner'],
  ['visitor', 'RunReader'],
  ['want hooks', 'recordDesiredRegistrations'],
  ['wanted hook', 'DesiredRegistration'],
  ['wear', 'recycleReason'],
  ['weaver', 'CodeRewriter'],
  ['workshop', 'BuildEnvironment'],
]);

/** Identifiers that keep a former name, because it is stored or sent. */
const SERIALIZED_NAMES: ReadonlyMap<string, string> = new Map([
  ['owed', 'a key of the input of a Temporal activity'],
]);

/** Returns the words of the name of a file as an identifier: `run-reader.test.ts` is `runReaderTest`. */
function nameOf(file: string): string {
  const name = basename(file).replace(/\.tsx?$/, '');
  return name.replaceAll(/[-.](\w)/g, (_, letter: string) => letter.toUpperCase());
}

function identifiersIn(program: unknown): Set<string> {
  const names = new Set<string>();
  walk(program, (node) => {
    const isName = node['type'] === 'Identifier' || node['type'] === 'PrivateIdentifier';
    if (isName && typeof node['name'] === 'string') names.add(node['name']);
  });
  return names;
}

/** Returns the identifiers that contain a former name. */
function identifiersWithFormerNames(identifiers: Iterable<string>): string[] {
  const names = [...FORMER_NAMES.keys()].map((name) => ` ${name} `);
  return [...identifiers].filter((identifier) => {
    const words = ` ${splitWords(identifier).join(' ')} `;
    return !SERIALIZED_NAMES.has(identifier) && names.some((name) => words.includes(name));
  });
}

const files = SOURCE_PATTERNS.flatMap((pattern) => globSync(pattern, { cwd: repositoryFolder })).filter(
  // The benchmark installs the packages that it compares in test/bench.
  (file) => !file.endsWith('.d.ts') && !file.includes('node_modules/'),
);

describe('former names', () => {
  it('are in no identifier except serialized identifiers', () => {
    expect(files.length).toBeGreaterThan(900);
    const allNames = new Set<string>();
    const foundNames = files.flatMap((file) => {
      const identifiers = identifiersIn(parseSync(file, readText(file)).program);
      for (const identifier of identifiers) allNames.add(identifier);
      return identifiersWithFormerNames(identifiers).map((identifier) => `${file}: ${identifier}`);
    });
    expect(foundNames).toEqual([]);
    expect([...SERIALIZED_NAMES.keys()].filter((identifier) => !allNames.has(identifier))).toEqual([]);
  });

  it('are in no file name', () => {
    expect(files.filter((file) => identifiersWithFormerNames([nameOf(file)]).length > 0)).toEqual([]);
    expect(identifiersWithFormerNames([nameOf('packages/engine/src/run-tenure.test.ts')])).toEqual([
      'runTenureTest',
    ]);
  });

  it('are detected in every part of an identifier', () => {
    const { program } = parseSync(
      'x.ts',
      'const runTenure = owed; let a: { isOwed_2: Weaver }; putAwayRun();',
    );
    expect(identifiersWithFormerNames(identifiersIn(program)).sort()).toEqual([
      'Weaver',
      'isOwed_2',
      'putAwayRun',
      'runTenure',
    ]);
  });
});
